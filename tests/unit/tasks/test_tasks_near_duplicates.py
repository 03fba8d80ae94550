"""Near-duplicates of held-out sentences, held against a comparison of every sentence with every other."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts_on_disk import fresh, on_disk

from mdnmt.score.scores_of_domains import score_domains
from mdnmt.score.test_sets import copy_sources, load_test_sets
from mdnmt.tasks.splits.heldout_index import HeldOutSets
from mdnmt.tasks.splits.leakage import leakage
from mdnmt.tasks.splits.near_duplicates import lines_like_heldout, similar_heldout, similarity, words_of
from mdnmt.tasks.splits.split import DomainSplit
from mdnmt.tasks.text.normalisation import comparison_form, normalise
from mdnmt.tasks.text_stage import write_sides
from mdnmt.tasks.workers import ParallelMap, in_this_process, workers

TEXT = "the court of appeal bank growth rate percent annual report price index survey law party order"
WORDS = TEXT.split()


def sentences(seed: int, count: int) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(6, 14))) for _ in range(count)]


def everything(train: list[str], held: list[str], threshold: float) -> set[str]:
    words = {line: words_of(line) for line in [*train, *held]}
    return {one for one in held if any(similarity(words[one], words[other]) >= threshold for other in train)}


def near(
    train: list[str], held: list[str], threshold: float, run: ParallelMap = in_this_process, lines_per_chunk: int = 500
) -> set[str]:
    """Return what is found when the sentences are the targets of a text and of a held-out set."""
    text = on_disk((("x", line) for line in train), lines_per_chunk)
    return similar_heldout(
        text, HeldOutSets.of({("a", "test"): on_disk(("y", line) for line in held)}), 1, threshold, run
    )


def test_similarity_is_the_share_of_common_words() -> None:
    assert words_of("the court, the law: l'année 3.5") == {"the", "court", "law", "l", "année", "3", "5"}
    assert words_of("我们在linux上。") == {"我", "们", "在", "linux", "上"}
    assert words_of("ฉันกิน ข้าว3") == {"ฉ", "น", "ก", "ข", "า", "ว", "3"}
    assert words_of("...") == {"..."}
    assert similarity({"a", "b", "c"}, {"b", "c", "d", "e"}) == pytest.approx(2 / 5)


def test_what_is_found_is_what_comparing_everything_finds() -> None:
    held = sentences(1, 150)
    generator = random.Random(3)
    changed = []
    for line in held[:100]:
        words = line.split()
        words[generator.randrange(len(words))] = generator.choice(WORDS)
        changed.append(" ".join(words))
    train = [*sentences(2, 200), *changed, *held[100:110], "一个 新 的 法律"]
    for threshold in (0.5, 0.6, 0.8, 0.9):
        expected, found = everything(train, held, threshold), near(train, held, threshold)
        assert found <= expected
        assert len(found) > 5 and len(expected - found) <= 0.03 * len(expected)


LINES = st.lists(st.text(max_size=12).map(lambda line: comparison_form(normalise(line))), max_size=12)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(LINES, LINES)
def test_any_text_and_an_equal_sentence_is_always_found(train: list[str], held: list[str]) -> None:
    found = near([*train, *held[:1]], held, 0.8)
    assert found >= {*train, *held[:1]} & set(held)
    assert found == near([*reversed([*train, *held[:1]])], held[::-1], 0.8, lines_per_chunk=1)


@pytest.mark.slow
def test_the_same_whatever_the_number_of_workers() -> None:
    train, held = sentences(5, 4500), sentences(6, 40)
    with workers(2) as run:
        assert near(train, held, 0.5, run) == near(train, held, 0.5, lines_per_chunk=999) != set()


def a_split(name: str, train: list[str], valid: list[str], test: list[str]) -> DomainSplit:
    sets = {"train": train, "valid": valid, "test": test}
    texts = {split: on_disk((line, f"{line} x {line}") for line in lines) for split, lines in sets.items()}
    return DomainSplit(name, texts["train"], texts)


def test_the_table_counts_held_out_sentences_by_domain_of_the_training_text() -> None:
    same, other = "the price index of the annual survey", "a party asks the court of appeal for an order"
    law = a_split("law", [other + " now", "unlike"], [other], ["nothing like it at all"])
    economy = a_split("economy", [same + " 2", same + "?", other + "!"], ["not this either, no"], [same])
    rows = leakage([law, economy], True, 0.8)
    assert rows["near_duplicates"] == 0.8
    valid = rows["domains"]["law"]["valid"]
    assert valid["near"] == {"source": 1, "target": 1}
    assert valid["by_train"] == {"law": {"source": 1, "target": 1}, "economy": {"source": 1, "target": 1}}
    test = rows["domains"]["economy"]["test"]
    assert test["near"] == {"source": 1, "target": 1}
    assert test["by_train"] == {"law": {"source": 0, "target": 0}, "economy": {"source": 1, "target": 1}}
    assert (test["source"], test["left"]) == (0, 0)  # only near, none the same
    assert "near" not in leakage([law, economy])["domains"]["law"]["valid"]


def identity(lines: list[str]) -> str:
    folder = fresh()
    text = on_disk((line, f"{line} x") for line in lines)
    return write_sides(text, (folder / "one", folder / "other"), folder / "hashes", in_this_process)


def test_the_identity_of_a_split_sees_its_sentences_and_not_their_order() -> None:
    found = identity(["a b", "c d", "e f"])
    assert len(found) == 16 and found == identity(["e f", "a b", "c d"])
    for other in (["a b", "c d"], ["a b", "c d", "E f"], ["a b", "c d", "e f", "e f"]):
        assert identity(other) != found


def test_scores_carry_the_identity_of_the_text(toy_task: Path, tmp_path: Path) -> None:
    sets = load_test_sets(toy_task)
    copy_sources(sets, tmp_path)
    manifest = json.loads((toy_task / "task.json").read_text())
    scored = score_domains(sets, tmp_path)["domains"]
    for domain in sets.domains:
        assert scored[domain]["splits"] == {name: found[domain] for name, found in manifest["splits"].items()}


def test_training_pairs_near_to_a_held_out_sentence_are_removed_on_either_side() -> None:
    held = sentences(1, 60)
    pool = [("nothing in common", line) for line in sentences(2, 300)]
    pool += [(f"{line} indeed", "something else") for line in held[:20]]  # sources, one word more
    pool += [("unlike all others", f"{line} indeed") for line in held[20:40]]
    text, sets = on_disk(pool, 50), HeldOutSets.of({("a", "test"): on_disk([(line, line) for line in held])})
    flags = [bool(flag) for part in text.parts() for flag in lines_like_heldout((part, sets, 0.8))]
    expected = [bool(everything(held, [side], 0.8)) for pair in pool for side in pair]
    either = [expected[2 * k] or expected[2 * k + 1] for k in range(len(pool))]
    assert all(right or not flag for flag, right in zip(flags, either, strict=True))
    assert sum(flags) >= 0.97 * sum(either) >= 30
