"""Which words are found to be ambiguous in training text, and what counts as the right one of their translations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdnmt.analysis import ambiguous_words
from mdnmt.analysis.ambiguous_words import AmbiguityConfig, are_different_words, find_ambiguous_words
from mdnmt.analysis.word_choice import NUM_EXAMPLES, cases, examples, examples_of, judge
from mdnmt.cli import main
from mdnmt.fsio import write_lines
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab
from mdnmt.tasks.task_data import Ragged, Split, TaskData

RULE = AmbiguityConfig(min_sentences=5, max_share=0.5)
DOMAINS = ("law", "news")


def task(pairs: dict[str, Sequence[tuple[str, str]]]) -> Any:
    """Return what looks like a task with these training pairs by domain."""
    labels = [k for k, domain in enumerate(DOMAINS) for _ in pairs[domain]]
    texts = [[pair[side].split() for domain in DOMAINS for pair in pairs[domain]] for side in (0, 1)]
    vocabs = [Vocab([*SPECIALS, *dict.fromkeys(word for line in text for word in line)]) for text in texts]
    sides = []
    for text, vocab in zip(texts, vocabs, strict=True):
        ids = [[*vocab.encode(line), vocab.eos] for line in text]
        ends = np.cumsum([0, *map(len, ids)])
        sides.append(Ragged(np.array([number for line in ids for number in line], dtype=np.int32), ends))
    split = Split(sides[0], sides[1], np.array(labels, dtype=np.int16))
    return SimpleNamespace(
        domains=DOMAINS, source_vocab=vocabs[0], target_vocab=vocabs[1], split=lambda name: {"train": split}[name]
    )


def text(ambiguous: dict[str, tuple[str, str]], number: int = 20) -> dict[str, list[tuple[str, str]]]:
    """Return sentences in which each word of `ambiguous` stands with each of several others, never with the same."""
    found = {}
    for side, domain in enumerate(DOMAINS):
        pairs = []
        for word, meanings in ambiguous.items():
            for other in range(number):
                pairs.append((f"the {word} w{other % 7}a", f"le {meanings[side]} m{other % 7}b"))
        pairs += [(f"the w{other % 7}a x", f"le m{other % 7}b z") for other in range(40)]
        found[domain] = pairs
    return found


def test_a_word_with_another_translation_in_each_domain_is_found() -> None:
    found = find_ambiguous_words(task(text({"article": ("paragraphe", "texte"), "Dog": ("chien", "chien")})), RULE)
    assert found == [
        {
            "word": "article",
            "translations": {"law": "paragraphe", "news": "texte"},
            "sentences": {"law": 20, "news": 20},
            "contrast": 1.0,
        }
    ]


@pytest.mark.parametrize(
    "meanings",
    [("total", "totaux"), ("Texte", "texte")],  # forms of one word, capitals
)
def test_forms_of_one_word_are_one_translation(meanings: tuple[str, str]) -> None:
    assert find_ambiguous_words(task(text({"article": meanings})), RULE) == []


def test_function_words_and_rare_words_are_left_out() -> None:
    pairs = text({"article": ("paragraphe", "texte")}, number=4)
    assert find_ambiguous_words(task(pairs), RULE) == []
    assert find_ambiguous_words(task(pairs), RULE.model_copy(update={"min_sentences": 4}))[0]["word"] == "article"
    common = text({"article": ("paragraphe", "texte")}, number=60)
    assert find_ambiguous_words(task(common), RULE) == []  # 60 of 100 sentences
    assert len(find_ambiguous_words(task(common), RULE.model_copy(update={"max_share": 0.6}))) == 1


def test_a_translation_that_both_domains_use_tells_nothing() -> None:
    pairs = text({"article": ("paragraphe", "texte")})
    mixed = {"law": pairs["law"], "news": [*pairs["news"], *pairs["law"][:18]]}
    contrast = find_ambiguous_words(task(mixed), RULE)[0]["contrast"]
    assert contrast == pytest.approx(20 / 38)  # paragraphe: 20 of 20 against 18 of 38; texte: 20 of 38 against none
    assert find_ambiguous_words(task(mixed), RULE.model_copy(update={"min_contrast": 0.6})) == []


def test_a_neighbour_is_no_translation() -> None:
    """Census stands beside family in one domain, beside house in the other, and is itself left untranslated."""
    pairs = {}
    for domain, (word, meaning) in zip(DOMAINS, (("family", "famille"), ("house", "maison")), strict=True):
        beside = [(f"census {word} w{n % 7}a", f"{meaning} m{n % 7}b") for n in range(20)]
        alone = [(f"the {word} w{n % 7}a", f"le {meaning} m{n % 7}b") for n in range(10)]
        pairs[domain] = [*beside, *alone, *((f"w{n % 7}a x", f"m{n % 7}b z") for n in range(40))]
    assert find_ambiguous_words(task(pairs), RULE) == []


def test_what_counts_as_two_words() -> None:
    assert are_different_words("usines", "plantes") and are_different_words("条", "文章")
    assert not are_different_words("maladie", "maladies") and not are_different_words("sang", "sanguin")


WORDS = [
    {"word": "oil", "translations": {"law": "pétrole", "news": "huile"}},
    {"word": "bank", "translations": {"law": "banque"}},
]


def words(*lines: str) -> list[frozenset[str]]:
    return [frozenset(line.split()) for line in lines]


def test_a_case_has_the_word_and_a_reference_that_translates_it_as_the_domain_does() -> None:
    sources = words("oil bank", "oil", "none", "oil")
    references = words("pétrole banque", "huile", "pétrole", "du pétrole")
    assert cases(WORDS, "law", sources, references) == [(0, 0), (0, 1), (3, 0)]
    assert cases(WORDS, "news", sources, references) == [(1, 0)]


def test_right_and_confused_are_told_apart() -> None:
    found = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1)]
    hypotheses = words("le pétrole", "huile", "rien", "pétrole huile")
    assert judge(WORDS, "law", found, hypotheses) == {"words": 5, "right": 2, "confused": 1}


def test_examples_are_chosen_by_rule() -> None:
    texts = {
        "law": [("oil", "r0"), (" ".join(["oil"] * 12), "r1"), ("oil", "r2")],
        "news": [("oil oil", "n0"), ("oil", "n1")],
    }
    found = {"law": [(0, 0), (1, 0), (2, 1)], "news": [(0, 0), (1, 0)]}
    said = {"mixed": {"law": ["a", "b", "c"], "news": ["d", "e"]}}
    rows = examples(WORDS, found, texts, said)
    assert [(row["word"], row["domain"], row["reference"], row["right"]) for row in rows] == [
        ("oil", "law", "r1", "pétrole"),  # nearest to 12 words
        ("oil", "news", "n0", "huile"),
    ]
    assert rows[0]["translations"] == {"mixed": "b"}
    assert examples(WORDS, {"law": found["law"], "news": []}, texts, said) == []  # nothing to hold against each other
    many = [{**WORDS[0], "word": f"w{n}"} for n in range(9)]
    each = {domain: [(0, n) for n in range(9)] for domain in DOMAINS}
    assert len(examples(many, each, texts, said)) == 2 * NUM_EXAMPLES


def test_a_given_word_has_a_sentence_of_each_domain_that_has_it() -> None:
    sources = {
        "law": words("article 1", "the oil", "an article here"),
        "news": words("an article"),
        "ted": words("oil"),
    }
    texts = {
        "law": [("Article 1", "r0"), ("the oil", "r1"), ("an ARTICLE here", "r2")],
        "news": [("an article", "n0")],
        "ted": [("oil", "t0")],
    }
    said = {"mixed": {"law": ["a", "b", "c"], "news": ["d"], "ted": ["e"]}}
    rows = examples_of(["article", "absent"], sources, texts, said)
    assert [(row["word"], row["domain"], row["reference"], row["translations"]) for row in rows] == [
        ("article", "law", "r2", {"mixed": "c"}),
        ("article", "news", "n0", {"mixed": "d"}),
    ]


def test_the_verb_writes_what_the_table_and_the_figure_read(
    toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = TaskData.load(toy_task)
    out, meanings, systems = tmp_path / "ambiguity.json", {"economy": "knabe", "law": "knabl"}, list[dict[str, Any]]()
    for method, wrong in (("good", False), ("bad", True)):
        for name in data.domains:
            lines = data.text("test", name, "fr")
            said = [line.replace("knabe", "KNABX") for line in lines] if wrong else [line.upper() for line in lines]
            write_lines(tmp_path / method / f"hyp.{name}.txt", said)
        systems.append({"method": method, "label": method, "seed": 1, "folder": str(tmp_path / method)})
    arguments = ["--task", str(toy_task), "--spec", json.dumps({"systems": systems})]
    assert main(["ambiguity", *arguments, "--out", str(out)]) == 0
    assert json.loads(out.read_text())["words"] == []  # knabe and knabl have one beginning
    found = [{"word": "bank", "translations": meanings}]
    monkeypatch.setattr(ambiguous_words, "find_ambiguous_words", lambda data, rule: found)
    assert main(["ambiguity", *arguments, "--out", str(out)]) == 0
    good, bad = json.loads(out.read_text())["systems"]
    holding = {name: sum("bank" in line.split() for line in data.text("test", name, "en")) for name in meanings}
    assert all(holding.values())
    for name, number in holding.items():
        assert good["domains"][name] == {"words": number, "right": number, "confused": 0}
    assert bad["domains"]["economy"]["right"] == 0
    assert bad["domains"]["law"]["right"] == holding["law"]
    limited = [*arguments, "--limit", "2", "--out", str(out)]
    assert main(["ambiguity", *limited]) == 2  # the files have more lines than were to be decoded
