"""Near-duplicates of held-out sentences, held against a comparison of every sentence with every other."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt.score.domains import score_domains
from mdnmt.score.testset import copy_sources, load_test_sets
from mdnmt.tasks.clean import make_pair
from mdnmt.tasks.identity import split_hashes
from mdnmt.tasks.leakage import leakage
from mdnmt.tasks.near import near_duplicates, similarity, words_of
from mdnmt.tasks.split import DomainSplit
from mdnmt.tasks.workers import workers

TEXT = "the court of appeal bank growth rate percent annual report price index survey law party order"
WORDS = TEXT.split()


def sentences(seed: int, count: int) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(6, 14))) for _ in range(count)]


def everything(train: list[str], held: list[str], threshold: float) -> dict[str, set[str]]:
    words = {line: words_of(line) for line in [*train, *held]}
    found = {one: {other for other in train if similarity(words[one], words[other]) >= threshold} for one in held}
    return {one: others for one, others in found.items() if others}


def test_similarity_is_the_share_of_common_words() -> None:
    assert words_of("the court, the law: l'année 3.5") == {"the", "court", "law", "l", "année", "3", "5"}
    assert words_of("我们在linux上。") == {"我", "们", "在", "linux", "上"}
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
        expected, found = everything(train, held, threshold), near_duplicates(train, held, threshold)
        assert all(found[one] <= expected[one] for one in found)
        missed = sum(len(others) - len(found.get(one, ())) for one, others in expected.items())
        assert len(found) > 5 and missed <= 0.03 * sum(map(len, expected.values()))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text(max_size=12), max_size=12), st.lists(st.text(max_size=12), max_size=6))
def test_any_text_and_an_equal_sentence_is_always_found(train: list[str], held: list[str]) -> None:
    found = near_duplicates([*train, *held[:1]], held, 0.8)
    assert set(found) >= {*train, *held[:1]} & set(held)
    assert found == near_duplicates([*reversed([*train, *held[:1]])], held[::-1], 0.8)


def test_the_same_whatever_the_number_of_workers() -> None:
    train, held = sentences(5, 4500), sentences(6, 40)
    with workers(2) as run:
        assert near_duplicates(train, held, 0.5, run) == near_duplicates(train, held, 0.5)


def a_split(name: str, train: list[str], valid: list[str], test: list[str]) -> DomainSplit:
    sets = {"train": train, "valid": valid, "test": test}
    pairs = {split: [make_pair(line, f"{line} x {line}") for line in lines] for split, lines in sets.items()}
    return DomainSplit(name, pairs["train"], pairs)


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


def test_the_identity_of_a_split_sees_its_sentences_and_neither_order_nor_name() -> None:
    one = a_split("law", ["a b", "c d", "e f"], ["g h"], ["i j"])
    hashes = split_hashes([one])
    assert hashes == {split: {"law": found["law"]} for split, found in hashes.items()}
    again = split_hashes([a_split("other", ["e f", "a b", "c d"], ["g h"], ["i j"])])
    assert {split: found["other"] for split, found in again.items()} == {s: f["law"] for s, f in hashes.items()}
    for train in (["a b", "c d"], ["a b", "c d", "E f"], ["a b", "c d", "e f", "e f"]):
        changed = split_hashes([a_split("law", train, ["g h"], ["i j"])])
        assert changed["train"] != hashes["train"] and changed["test"] == hashes["test"]
    assert all(len(found["law"]) == 16 for found in hashes.values())


def test_scores_carry_the_identity_of_the_text(toy_task: Path, tmp_path: Path) -> None:
    sets = load_test_sets(toy_task)
    copy_sources(sets, tmp_path)
    manifest = json.loads((toy_task / "task.json").read_text())
    scored = score_domains(sets, tmp_path)["domains"]
    for domain in sets.domains:
        assert scored[domain]["splits"] == {name: found[domain] for name, found in manifest["splits"].items()}
