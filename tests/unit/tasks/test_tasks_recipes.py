"""Cleaning as each paper did it, and splits by the number of a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts_on_disk import cleaned, fetched

from mdnmt.config.cleaning import RECIPES, CleaningConfig
from mdnmt.config.loader import validate_model
from mdnmt.config.task import TaskConfig
from mdnmt.errors import ConfigError, DataError
from mdnmt.tasks.build import build_task
from mdnmt.tasks.segmentation.segmenter import Segmenter
from mdnmt.tasks.splits.split import by_modulo
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import TaskSpec, task_spec
from mdnmt.tasks.text.clean import Side, make_pair, why_dropped
from mdnmt.tasks.text.normalisation import Normaliser

Pairs = Sequence[tuple[str, str]]
PAIRS = [(f"Source line {n} of the text", f"Ligne {n} du texte source") for n in range(1, 401)]


def spec_of(root: Path, sets: dict[str, Pairs], domain: dict[str, Any], **changes: Any) -> TaskSpec:
    """Return the spec of a task of one domain, made of a user's files."""
    corpora = fetched(root, {"law": sets})
    task = {
        "title": "Toy",
        "source_lang": "en",
        "target_lang": "fr",
        "domains": {"law": {"corpora": ["law"], **domain}},
        "segmentation": {"bpe_merge_operations": 20},
        "leakage": {"near_duplicates": None},
        **changes,
    }
    return task_spec("toy", TaskConfig.model_validate(task), corpora, root / "hashes.json")


def made(root: Path, sets: dict[str, Pairs], domain: dict[str, Any], **changes: Any) -> dict[str, list[str]]:
    """Return the English text of the built task by split."""
    build_task(spec_of(root, sets, domain, **changes), root / "fetched", root / "out", say=lambda line: None)
    data = TaskData.load(root / "out")
    return {split: data.text(split, "law", "en") for split in ("train", "valid", "test")}


def numbers(lines: list[str]) -> list[int]:
    return [int(line.split()[2]) for line in lines]


@pytest.mark.parametrize(
    ("recipe", "kept"),
    [
        ("ours", ["plain"]),
        ("none", ["plain", "plain", "same", "digits", "ratio", "long", "longer"]),
        ("zhang", ["plain", "plain", "same", "digits", "ratio", "long", "longer"]),
        ("song", ["plain", "same", "digits", "ratio", "long", "longer"]),
        ("jiang-ted", ["plain", "plain", "same", "digits", "long"]),
    ],
)
def test_what_each_recipe_keeps(recipe: str, kept: list[str]) -> None:
    pairs = {
        "plain": ("one two", "un deux"),
        "same": ("Paris", "Paris"),
        "digits": ("12 34", "13 35"),
        "ratio": ("a b c d e f", "u"),
        "long": ("w " * 175, "v " * 175),
        "longer": ("x " * 176, "y " * 176),
        "empty": ("", "z"),
    }
    raw = [pairs["plain"], *pairs.values()]
    found = cleaned(raw, CleaningConfig(recipe=recipe)).text
    expected = [make_pair(*pairs[name]).source for name in kept]
    assert [source for source, _ in found] == [line.lower() if recipe == "jiang-ted" else line for line in expected]


def test_a_key_beside_a_recipe_overrules_it_and_the_recipe_is_but_a_name() -> None:
    rules = CleaningConfig(recipe="jiang-ted", max_tokens=250, lowercase=False)
    assert (rules.max_tokens, rules.max_length_ratio, rules.unit, rules.lowercase) == (250, 1.5, "tokens", False)
    assert CleaningConfig.model_validate_json(rules.model_dump_json()) == rules
    assert CleaningConfig(recipe="ours") == CleaningConfig()
    with pytest.raises(ConfigError, match=r"did you mean 'song'"):
        validate_model({"recipe": "sonng"}, CleaningConfig, "x")
    with pytest.raises(ConfigError, match=r"recipe: "):
        validate_model({"recipe": ["song"]}, CleaningConfig, "x")
    assert set(RECIPES) == set(CleaningConfig.model_json_schema()["properties"]["recipe"]["enum"])


def test_lengths_in_tokens_are_those_of_the_tokenizer() -> None:
    pair = make_pair("Well, yes (no).", "oui")
    sides = (Side("en", "moses"), Side("fr", "moses"))
    assert why_dropped(pair, CleaningConfig(max_tokens=6, max_length_ratio=3.0), sides) is None
    assert why_dropped(pair, CleaningConfig(max_tokens=6, max_length_ratio=None, unit="tokens"), sides) == "too long"
    assert why_dropped(pair, CleaningConfig(max_tokens=7, max_length_ratio=None, unit="tokens"), sides) is None
    chinese = make_pair("我们来到世界", "we come")
    sides = (Side("zh", "jieba"), Side("en", "moses"))
    assert why_dropped(chinese, CleaningConfig(unit="tokens", min_tokens=2), sides) is None
    assert why_dropped(chinese, CleaningConfig(min_tokens=2), sides) == "too short"


def test_the_form_of_a_text() -> None:
    assert Normaliser(lowercase=True).apply(" L'ÉTÉ \u0130 ", "fr") == "l'été i\u0307"
    assert Normaliser(normalise_punctuation=True).apply("« oui » … “no” „ja“", "en") == '" oui " ... "no" "ja"'
    assert Normaliser().apply("« oui »", "fr") == "« oui »"


@settings(deadline=None)
@given(st.lists(st.text("ab İßﬁΑΣ\u0301@", max_size=9), max_size=7), st.booleans(), st.booleans())
def test_a_form_stays_as_it_is(words: list[str], lowercase: bool, punctuation: bool) -> None:
    form = Normaliser(lowercase, punctuation)
    once = form.apply(" ".join(words), "en")
    assert form.apply(once, "en") == once


def test_every_23rd_line_is_counted_after_cleaning(tmp_path: Path) -> None:
    dirty = [pair for kept in PAIRS for pair in (kept, ("12", "13"))]
    sets = {
        "train": dirty,
        "valid": [("Own validation line 1 x", "Une ligne 1")],
        "test": [("Test line 9 q", "Essai 9")],
    }
    found = made(tmp_path, sets, {"valid": None, "test": None, "split": {"every": 23}})
    assert numbers(found["valid"]) == list(range(23, 401, 23))
    assert numbers(found["train"]) == [n for n in range(1, 401) if n % 23]
    assert found["test"] == ["Test line 9 q"]


def test_line_numbers_modulo_100_are_counted_before_cleaning(tmp_path: Path) -> None:
    raw = list(PAIRS)
    raw[99] = raw[100] = raw[94] = ("12", "13")  # lines 100, 101 and 95: validation, test, training
    found = made(tmp_path, {"train": raw}, {"valid": None, "test": None, "split": {"modulo": 100}})
    assert numbers(found["valid"]) == [200, 300, 400]
    assert [numbers([line])[0] if line != "12" else 0 for line in found["test"]] == [1, 0, 201, 301]
    assert numbers(found["train"]) == [n for n in range(1, 401) if n % 100 >= 90 and n != 95]


def test_by_modulo_takes_a_tenth_for_training() -> None:
    lines = by_modulo(40, 20)
    assert {name: (np.flatnonzero(kept) + 1).tolist() for name, kept in lines.items()} == {
        "train": [18, 19, 38, 39],
        "valid": [20, 40],
        "test": [1, 21],
    }


def test_a_sample_of_what_a_rule_gives(tmp_path: Path) -> None:
    found = made(tmp_path, {"train": PAIRS}, {"train": 5, "valid": 2, "test": 3, "split": {"modulo": 100}})
    assert [len(found[name]) for name in ("train", "valid", "test")] == [5, 2, 3]
    with pytest.raises(DataError, match="9 valid sentences were requested, 4 are available"):
        made(tmp_path, {"train": PAIRS}, {"valid": 9, "test": 3, "split": {"modulo": 100}})


def test_bounds_on_pieces_hold_in_training_and_validation_text_alone(tmp_path: Path) -> None:
    # A number that stands nowhere else falls to pieces; five words are many pieces then.
    raw = [
        pair if number % 7 else (f"Source line {10**9 + number} of", f"Ligne {number}")
        for number, pair in enumerate(PAIRS, 1)
    ]
    cleaning = {"recipe": "none", "unit": "pieces", "max_tokens": 12}
    domain = {"valid": None, "test": None, "split": {"modulo": 50}, "cleaning": cleaning}
    found = made(tmp_path, {"train": raw}, domain)
    segmenter = Segmenter.load(tmp_path / "out", "en", "law")
    lengths = {name: [len(segmenter.encode(line)) for line in lines] for name, lines in found.items()}
    assert max(lengths["train"]) <= 12 and max(lengths["valid"]) <= 12 < max(lengths["test"])
    report = json.loads((tmp_path / "out" / "stats.json").read_text())["cleaning"]["law"]
    before = {name: [pair[0] for n, pair in enumerate(raw, 1) if keep(n)] for name, keep in KEPT.items()}
    lost = sum(len(segmenter.encode(line)) > 12 for name in ("train", "valid") for line in before[name])
    assert report["dropped_by_pieces"] == {"too long": lost} and lost > 2
    assert TaskData.load(tmp_path / "out").split("train").source.lengths.tolist() == [n + 1 for n in lengths["train"]]


def test_bounds_on_characters_and_pieces_beside_one_on_words(tmp_path: Path) -> None:
    endless = ("UklGR" * 500, "UklGR" * 400 + " x")
    cleaning = {"recipe": "none", "max_characters": 200}
    found = made(tmp_path, {"train": [*PAIRS, endless]}, {"valid": 20, "test": 20, "cleaning": cleaning})
    assert not any(endless[0] in lines for lines in found.values())
    report = json.loads((tmp_path / "out" / "stats.json").read_text())["cleaning"]["law"]
    assert report["dropped"] == {"too many characters": 1}
    # One word is within every limit on words, and is many pieces.
    words = [pair if n % 7 else (f"a {n} b", f"c {(n * 7919) ** 5} d") for n, pair in enumerate(PAIRS, 1)]
    limits = {"recipe": "none", "max_pieces": 12, "max_tokens": 100, "max_length_ratio": 4.0}
    folder = tmp_path / "pieces"
    folder.mkdir()
    found = made(folder, {"train": words}, {"valid": 20, "test": 20, "cleaning": limits})
    segmenter = Segmenter.load(folder / "out", "fr", "law")
    sides = [line for name in ("train", "valid") for line in TaskData.load(folder / "out").text(name, "law", "fr")]
    assert max(len(segmenter.encode(line)) for line in sides) <= 12
    report = json.loads((folder / "out" / "stats.json").read_text())["cleaning"]["law"]
    assert set(report["dropped_by_pieces"]) == {"too many pieces"}


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("Aujourd&apos;hui &amp;amp; <b>ici</b><br/>là &lt; 5 & apos ; &#233;", "Aujourd'hui & ici là < 5 ' é"),
        ("<td>un</td><td>deux</td> H<sub>2</sub>O", "un deux H2O"),
        (
            "AT&T a < b > c <option> <a@b.org> ?x=1&lt=2 &nonsense;",
            "AT&T a < b > c <option> <a@b.org> ?x=1&lt=2 &nonsense;",
        ),
        ("&lt;p class=&quot;x&quot;&gt;texte&lt;/p&gt;&nbsp;fin", "texte fin"),
    ],
)
def test_entities_are_decoded_and_tags_removed(raw: str, plain: str) -> None:
    assert Normaliser(unescape=True).apply(raw, "fr") == plain
    assert Normaliser().apply(raw, "fr") == raw


KEPT = {"train": lambda number: number % 50 >= 45, "valid": lambda number: number % 50 == 0}


def test_nothing_left_after_the_bounds_on_pieces_is_told(tmp_path: Path) -> None:
    cleaning = {"recipe": "none", "unit": "pieces", "max_tokens": 1}
    with pytest.raises(DataError, match="no train sentence is left of 360 after the bounds on pieces"):
        made(tmp_path, {"train": PAIRS}, {"valid": 20, "test": 20, "cleaning": cleaning})


def test_without_removal_repetitions_leak_and_are_counted(tmp_path: Path) -> None:
    raw = [pair for pair in PAIRS[:40] for _ in range(5)]
    keys = {"cleaning": {"recipe": "zhang"}, "leakage": {"remove": False, "near_duplicates": 0.95}}
    found = made(tmp_path, {"train": raw}, {"valid": 20, "test": 40}, **keys)
    # More than there are different ones: a sentence and its repetition may both be drawn.
    assert [len(found[name]) for name in ("train", "valid", "test")] == [140, 20, 40]
    row = json.loads((tmp_path / "out" / "leakage.json").read_text())["domains"]["law"]["test"]
    trained = set(found["train"])
    assert row["left"] == row["pair"] == sum(line in set(found["test"]) for line in found["train"]) > 0
    assert row["removed"] == 0
    assert row["near"]["source"] == sum(line in trained for line in found["test"])
    removed = made(tmp_path, {"train": raw}, {"valid": 2, "test": 3}, cleaning={"recipe": "zhang"})
    assert not set(removed["train"]) & {*removed["valid"], *removed["test"]} and len(removed["train"]) == 5 * 35


def test_each_choice_has_an_address_and_the_name_of_a_recipe_has_none(tmp_path: Path) -> None:
    sizes = {"valid": 5, "test": 5}

    def address(domain: dict[str, Any] | None = None, **changes: Any) -> str:
        return spec_of(tmp_path, {"train": PAIRS}, {**sizes, **(domain or {})}, **changes).fingerprint

    plain = address()
    assert address(cleaning={"recipe": "song"}) == address(cleaning=RECIPES["song"]) != plain
    assert address(cleaning={"recipe": "ours"}) == plain
    others = [
        address({"cleaning": {"lowercase": True}}),
        address({"split": {"every": 9}}),
        address({"split": {"modulo": 10}}),
        address(leakage={"remove": False}),
        address(cleaning={"deduplicate": False}),
        address(cleaning={"normalise_punctuation": True}),
        address(cleaning={"unit": "tokens"}),
        *(address(cleaning={name: True}) for name in ("unescape", "detokenise")),
        *(address(cleaning={name: 900}) for name in ("max_characters", "max_pieces")),
        address(segmentation={"bpe": "side", "bpe_merge_operations": 20}),
        address(segmentation={"tokenizers": {"fr": "none"}, "bpe_merge_operations": 20}),
        address(segmentation={"bpe": "domain", "merge_operations": {"law": 5}, "bpe_merge_operations": 20}),
        address(vocabulary={"max_size": 50}),
    ]
    assert len({plain, *others}) == len(others) + 1


def test_keys_that_came_later_leave_the_address_of_older_tasks_alone(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, {"train": PAIRS}, {"valid": 5, "test": 5}, leakage={}, segmentation={})
    found = spec.identity()
    files = found["domains"][0].pop("corpora")
    assert len(files) == 1 and found == {
        "source_lang": "en",
        "target_lang": "fr",
        "domains": [{"name": "law", "train": None, "valid": 5, "test": 5}],
        "cleaning": {
            "min_tokens": 1,
            "max_tokens": 100,
            "max_length_ratio": 4.0,
            "drop_identical": True,
            "require_letters": True,
            "max_copied_share": 1.0,
        },
        "split": {"seed": 1},
        "segmentation": {"tokenizer": "moses", "bpe": "joint", "bpe_merge_operations": 32000},
        "vocabulary": {"joint": True, "min_count": 1},
    }
