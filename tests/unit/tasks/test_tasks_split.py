from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from texts_on_disk import cleaned, on_disk, pairs_of, split

from mdnmt.config.task import CleaningConfig
from mdnmt.errors import DataError
from mdnmt.tasks.splits.leakage import leakage
from mdnmt.tasks.splits.split import HELD_OUT, DomainSplit, DomainText
from mdnmt.tasks.text.clean import held_out
from mdnmt.tasks.text.pair_text import PairText

# Few words, in two spellings, so that sources and targets meet often, within and across domains; still enough of them
# that held-out sets can nearly always be drawn.
SEGMENT = st.builds(lambda number, upper: f"{'W' if upper else 'w'}{number}", st.integers(0, 60), st.booleans())
PAIRS = st.lists(st.tuples(SEGMENT, SEGMENT), min_size=16, max_size=40)


def pool(raw: list[tuple[str, str]]) -> PairText:
    return cleaned(raw, CleaningConfig(drop_identical=False)).text


def numbered(count: int, prefix: str = "s") -> list[tuple[str, str]]:
    return [(f"{prefix} source {number}", f"{prefix} target {number}") for number in range(count)]


def domain(
    name: str, raw: list[tuple[str, str]], train: int | None = None, valid: int | None = 1, test: int | None = 1
):
    return DomainText(name, pool(raw), {"train": train, "valid": valid, "test": test}, 1)


def texts(splits: list[DomainSplit]) -> list[dict[str, list[tuple[str, str]]]]:
    return [{name: list(pairs) for name, pairs in one.splits.items()} for one in splits]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.lists(PAIRS, min_size=1, max_size=3), PAIRS, st.integers(0, 9), st.integers(1, 2), st.booleans())
def test_no_held_out_sentence_is_ever_trained_on(
    corpora: list[list[tuple[str, str]]], own: list[tuple[str, str]], seed: int, wanted: int, with_own: bool
) -> None:
    domains = [domain(f"d{index}", raw, None, wanted, wanted) for index, raw in enumerate(corpora)]
    if with_own:
        domains[0].own["test"] = held_out(own)
        domains[0].wanted["test"] = None
    try:
        splits = split(domains, seed)
    except DataError:
        assume(False)
    held = [pair for one in splits for name in HELD_OUT for pair in pairs_of(one.splits[name])]
    sources = {pair.source.casefold() for pair in held}
    targets = {pair.target.casefold() for pair in held}
    for one, before in zip(splits, domains, strict=True):
        for pair in pairs_of(one.splits["train"]):
            assert pair.source.casefold() not in sources
            assert pair.target.casefold() not in targets
        # Nothing else is lost: every pair is trained on, held out, or touches what is held out.
        trained = {pair.forms for pair in pairs_of(one.splits["train"])}
        for pair in pairs_of(before.pool):
            assert pair.forms in trained or pair.source.casefold() in sources or pair.target.casefold() in targets
    assert all(row["left"] == 0 for sets in leakage(splits)["domains"].values() for row in sets.values())


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(PAIRS, PAIRS, st.randoms(use_true_random=False))
def test_sampled_sets_share_no_sentence_and_do_not_depend_on_the_order(first, second, random) -> None:
    def sets(one, two):
        return split([domain("a", one, None, 2, 2), domain("b", two, None, 2, 2)], 3)

    try:
        splits = sets(first, second)
    except DataError:
        assume(False)
    held = [pair for one in splits for name in HELD_OUT for pair in pairs_of(one.splits[name])]
    assert len({pair.source_form for pair in held}) == len({pair.target_form for pair in held}) == len(held) == 8
    # Equal pairs in other spellings are one pair, of which the first is kept: so shuffle what is already unique.
    unique = [list(pool(raw)) for raw in (first, second)]
    shuffled = [random.sample(raw, len(raw)) for raw in unique]
    for before, after in zip(texts(splits), texts(sets(*shuffled)), strict=True):
        assert {name: sorted(pairs) for name, pairs in before.items()} == {
            name: sorted(pairs) for name, pairs in after.items()
        }


def test_sizes_order_and_seed() -> None:
    raw = numbered(50)
    (one,) = texts(split([domain("a", raw, 10, 4, 6)], 1))
    assert [len(one[name]) for name in ("train", "valid", "test")] == [10, 4, 6]
    for pairs in one.values():
        assert pairs == sorted(pairs, key=raw.index)
    assert texts(split([domain("a", raw, 10, 4, 6)], 1)) == [one]
    assert texts(split([domain("a", raw, 10, 4, 6)], 2)) != [one]


def test_more_validation_pairs_or_more_text_leave_the_test_set_alone() -> None:
    (few,) = texts(split([domain("a", numbered(50), None, 4, 6)], 1))
    (more,) = texts(split([domain("a", numbered(50), None, 9, 6)], 1))
    assert few["test"] == more["test"]
    assert set(few["valid"]) < set(more["valid"])


def test_own_sets_are_kept_whole_and_in_their_order() -> None:
    own = [("s source 3", "x"), ("new", "neu"), ("new", "neu"), ("another", "ein anderer")]
    text = DomainText("a", pool(numbered(20)), {"train": None, "valid": 2, "test": None}, 1, {"test": held_out(own)})
    (one,) = split([text], 1)
    assert list(one.splits["test"]) == own
    assert len(one.splits["valid"]) == 2
    assert "s source 3" not in {pair.source for pair in pairs_of(one.splits["train"])}
    text.wanted["test"] = 2
    (cut,) = split([text], 1)
    assert len(cut.splits["test"]) == 2


def test_too_little_text_is_told_with_the_numbers() -> None:
    with pytest.raises(DataError, match=r"domain 'a': 9 test sentences were requested, 5 are available from 5"):
        split([domain("a", numbered(5), None, 1, 9)], 1)
    with pytest.raises(DataError, match=r"domain 'a': 5 valid sentences were requested, 4 are available"):
        split([domain("a", numbered(5), None, 5, 1)], 1)
    with pytest.raises(DataError, match=r"domain 'a': no training sentence is left of 2"):
        split([domain("a", numbered(2), None, 1, 1)], 1)
    with pytest.raises(DataError, match=r"domain 'a': test is null"):
        split([domain("a", numbered(5), None, 1, None)], 1)
    with pytest.raises(DataError, match=r"3 test sentences were requested, 1 are available"):
        own = {"test": held_out([("a", "b")])}
        split([DomainText("a", pool(numbered(9)), {"train": None, "valid": 1, "test": 3}, 1, own)], 1)


def test_the_leakage_table_counts_what_was_there() -> None:
    raw = [
        *numbered(6),
        ("Held out", "Ausgespart"),
        ("held out", "other"),
        ("more", "ausgespart"),
        ("Held out", "third"),
    ]
    own = {"test": held_out([("Held out", "Ausgespart")])}
    splits = split([DomainText("a", pool(raw), {"train": None, "valid": 1, "test": None}, 1, own)], 1)
    row = leakage(splits)["domains"]["a"]["test"]
    assert row == {
        "source": 3,
        "target": 2,
        "pair": 1,
        "exact": {"source": 2, "target": 1, "pair": 1},
        "removed": 4,
        "left": 0,
    }


def test_own_validation_sentences_that_are_also_tested_are_counted() -> None:
    own = {
        "valid": held_out([("same", "gleich"), ("Known source", "x"), ("y", "known target"), ("new", "neu")]),
        "test": held_out([("Same", "gleich"), ("known source", "a"), ("b", "Known target")]),
    }
    other = domain("b", [(f"b{source}", f"b{target}") for source, target in numbered(9)])
    wanted = {"train": None, "valid": None, "test": None}
    splits = split([DomainText("a", pool(numbered(9)), wanted, 1, own), other], 1)
    assert leakage(splits)["valid_in_test"] == {"a": 3, "b": 0}
    assert len(splits[0].splits["valid"]) == 4  # none is removed


def test_a_leak_that_slipped_through_stops_everything() -> None:
    splits = split([domain("a", numbered(9))], 1)
    splits[0].pool = splits[0].splits["train"] = on_disk([*splits[0].splits["train"], *splits[0].splits["test"]])
    with pytest.raises(DataError, match="1 training sentences are in test"):
        leakage(splits)


@settings(deadline=None, max_examples=50)
@given(st.integers(40, 90), st.integers(2, 9), st.integers(1, 12), st.integers(1, 12), st.integers(0, 9))
def test_blocks_are_held_out_whole(lines: int, size: int, valid: int, test: int, seed: int) -> None:
    raw = numbered(lines)
    text = DomainText("a", pool(raw), {"train": None, "valid": valid, "test": test}, 1, block=size)
    (one,) = texts(split([text], seed))
    assert [len(one[name]) for name in HELD_OUT] == [valid, test]
    assert sorted(pair for pairs in one.values() for pair in pairs) == sorted(raw)
    parts: dict[int, set[str]] = {}
    for name, pairs in one.items():
        for pair in pairs:
            parts.setdefault(raw.index(pair) // size, set()).add(name)
    # Two sets end inside a block each; all other blocks are in one set as a whole.
    assert sum(len(names) > 1 for names in parts.values()) <= 2
    several = DomainText("a", pool(raw), {"train": None, "valid": valid + 1, "test": test}, 1, block=size)
    assert texts(split([several], seed))[0]["test"] == one["test"]


def test_another_seed_draws_other_blocks() -> None:
    def drawn(seed: int) -> list[tuple[str, str]]:
        text = DomainText("a", pool(numbered(90)), {"train": None, "valid": 9, "test": 9}, 1, block=9)
        return texts(split([text], seed))[0]["test"]

    assert len({tuple(drawn(seed)) for seed in range(5)}) > 1
