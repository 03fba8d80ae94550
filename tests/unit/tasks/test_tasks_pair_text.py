"""Text on disk in chunks, records in buckets, repetitions, draws, tables and arrays: each against its plain form."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts_on_disk import fresh, on_disk

from mdnmt.tasks.segmentation.binarise import write_array, write_ragged
from mdnmt.tasks.segmentation.token_encoder import END, WordTable
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.splits.split import first_in_draw, smallest
from mdnmt.tasks.text.duplicates import DigestBuckets, DuplicateIndex, pair_digests
from mdnmt.tasks.text.pair_text import PairText
from mdnmt.tasks.text_stage import write_sides
from mdnmt.tasks.workers import in_this_process, workers

SEGMENTS = st.text(st.characters(exclude_characters="\t\n"), max_size=5)
PAIRS = st.lists(st.tuples(SEGMENTS, SEGMENTS), max_size=30)


@settings(deadline=None)
@given(PAIRS, st.integers(1, 9), st.data())
def test_what_is_written_is_read_in_any_chunks(pairs: list[tuple[str, str]], size: int, data: st.DataObject) -> None:
    text = on_disk(pairs, size)
    assert list(text) == pairs and len(text) == len(pairs)
    assert all(chunk.lines <= size for chunk in text.chunks)
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))), dtype=np.bool_)
    some = text.only(flags)
    assert list(some) == [pair for pair, flag in zip(pairs, flags, strict=True) if flag]
    assert [number for part in some.parts() for number in part.numbers()] == np.flatnonzero(flags).tolist()
    assert list(text.without(np.flatnonzero(flags))) == list(text.only(~flags))
    assert text.take(np.flatnonzero(flags)[::-1]) == list(some)  # in the order of the text
    # Flags of the kept lines alone, part by part, as processes return them.
    again = some.select(np.arange(int(part.kept.sum())) % 2 == 0 for part in some.parts())
    assert list(again) == [pair for part in some.parts() for pair in part.pairs()[::2]]


def test_breaks_and_tabs_within_a_segment_become_blanks_and_texts_join() -> None:
    first, second = on_disk([("a\tb\nc", "d"), ("\ud800", "e")]), on_disk([("f", "g")])
    assert list(first) == [("a b c", "d"), ("\ud800", "e")]
    assert list(PairText.of([*first.chunks, *second.chunks]))[1:] == [("\ud800", "e"), ("f", "g")]


@pytest.mark.parametrize("in_memory", [0, 7, 10_000])
def test_records_come_back_group_by_group_in_their_order(in_memory: int) -> None:
    generator = random.Random(3)
    dtype = np.dtype([("digest", "S4"), ("line", "<i8")])
    rows = [(generator.randbytes(1) + b"x\0z", number) for number in range(500)]
    buckets = DigestBuckets(fresh() / "buckets", dtype, in_memory)
    for start in range(0, len(rows), 40):
        buckets.add(np.array(rows[start : start + 40], dtype=dtype))
    for _ in range(2):
        groups = [[(bytes(digest), int(line)) for digest, line in group] for group in buckets]
        assert sorted(row for group in groups for row in group) == sorted(rows)
        assert all(group == sorted(group, key=lambda row: row[1]) for group in groups)
        if in_memory < 500:
            assert [group[0][0][0] for group in groups] == sorted({digest[0] for digest, _ in rows})
    buckets.remove()
    assert [len(group) for group in buckets] == [0]


@pytest.mark.parametrize("in_memory", [0, 10_000])
def test_repetitions_are_those_that_counting_finds(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DigestBuckets.__init__, "__defaults__", (in_memory,))
    generator = random.Random(1)
    pairs = [(generator.choice("abc"), generator.choice("abcdef")) for _ in range(300)]
    kept = np.array([generator.random() < 0.7 for _ in pairs])
    repeats = DuplicateIndex(fresh() / "digests")
    for start in range(0, 300, 70):
        repeats.add(pair_digests(pairs[start : start + 70]))
    assert repeats.first().tolist() == [pair not in pairs[:number] for number, pair in enumerate(pairs)]
    met: Counter[tuple[str, str]] = Counter()
    expected = []
    for pair, is_kept in zip(pairs, kept.tolist(), strict=True):
        expected.append(met[pair] if is_kept else 0)
        met[pair] += is_kept
    assert repeats.numbers(kept).tolist() == expected


@given(st.lists(st.binary(min_size=32, max_size=32), unique=True, max_size=60), st.integers(1, 9), st.integers(1, 70))
def test_the_smallest_keys_are_those_of_a_sort(keys: list[bytes], size: int, count: int) -> None:
    array = np.array(keys, dtype="S32")
    blocks = [(np.arange(len(keys))[at : at + size], array[at : at + size]) for at in range(0, len(keys), size)]
    expected = sorted(range(len(keys)), key=keys.__getitem__)[:count]
    assert smallest(blocks, count).tolist() == expected


def test_the_smallest_of_many_keys_need_no_sort_of_all() -> None:
    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        generator = np.random.default_rng(5)
        for start in range(0, 100_000, 5000):
            yield np.arange(start, start + 5000), np.frombuffer(generator.bytes(32 * 5000), dtype="S32")

    keys = [key.tobytes() for _, some in blocks() for key in some]
    assert smallest(blocks(), 50).tolist() == sorted(range(100_000), key=lambda number: keys[number])[:50]


def test_a_pair_that_is_added_moves_no_other_in_the_draw() -> None:
    pairs = [(f"s {number}", f"t {number}") for number in range(50)]
    one = first_in_draw(on_disk(pairs), None, 50, 3, "law", in_this_process)
    other = first_in_draw(on_disk([("new", "neu"), *pairs], 7), None, 51, 3, "law", in_this_process)
    assert [number for number in (other - 1).tolist() if number >= 0] == one.tolist() != sorted(one.tolist())


@pytest.mark.parametrize("in_memory", [0, 10_000])
def test_an_identity_is_the_same_on_disk_and_in_memory(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DigestBuckets.__init__, "__defaults__", (in_memory,))
    text, folder = on_disk([(str(number), str(number)) for number in range(900)], 300), fresh()
    identity = write_sides(text, (folder / "source", folder / "target"), folder / "hashes", in_this_process)
    assert identity == "8448563d51e680f4" and not (folder / "hashes").exists()


LINES = st.lists(st.lists(st.sampled_from(["ab", "abc", "c", "", "\u00e9"]), min_size=1, max_size=5), max_size=6)


@settings(deadline=None)
@given(LINES)
def test_lines_are_encoded_as_word_by_word(lines: list[list[str]]) -> None:
    vocab = Vocab(["<pad>", "<s>", "</s>", "<unk>", "a@@", "b", "c"])
    pieces = {"ab": ["a@@", "b"], "abc": ["a@@", "b@@", "c"], "c": ["c"], "": [], "\u00e9": ["\u00e9"]}
    table = WordTable.of(pieces, vocab)
    folder = fresh() / "table"
    table.save(folder)
    encoding = WordTable.load(folder)
    words = encoding.indices([" ".join(line) for line in lines])
    expected = [[*(number for word in line for number in vocab.encode(pieces[word])), Vocab.eos] for line in lines]
    assert encoding.pieces(words).tolist() == [number for line in expected for number in line]
    assert encoding.line_lengths(words).tolist() == [len(line) for line in expected]
    assert [table.words[number] for number in words] == [word for line in lines for word in [*line, END]]
    assert dict(zip(table.words, table.unknown().tolist(), strict=True)) == {
        word: Vocab.unk in vocab.encode(pieces.get(word, ["c"])) for word in table.words
    }
    assert [word for word, found in zip(table.words, table.among({"c", "new"}), strict=True) if found] == ["c"]


@pytest.mark.parametrize("counts", [[], [0], [3], [1, 0, 4]])
def test_arrays_written_piece_by_piece_are_those_that_numpy_writes(counts: list[int]) -> None:
    folder = fresh()
    blocks = [np.arange(count, dtype=np.int64) for count in counts]
    with write_array(folder / "one.npy", np.int32) as array:
        for block in blocks:
            array.add(block)
    expected = io.BytesIO()
    np.save(expected, np.concatenate([np.zeros(0, dtype=np.int32), *blocks]).astype(np.int32))
    assert (folder / "one.npy").read_bytes() == expected.getvalue()
    with write_ragged(folder / "text") as ragged:
        for block in blocks:
            ragged.add(np.ones(int(block.sum()), dtype=np.int32), block)
    lengths = [length for block in blocks for length in block.tolist()]
    assert np.load(folder / "text.offsets.npy").tolist() == np.cumsum([0, *lengths]).tolist()
    assert len(np.load(folder / "text.tokens.npy")) == sum(lengths)


def test_jobs_are_taken_as_they_are_needed_and_results_keep_their_order() -> None:
    taken: list[int] = []

    def jobs() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    with workers(2) as run:
        found = run(abs, jobs())
        assert next(found) == 0 and len(taken) <= 9
        assert list(found) == list(range(1, 100)) and len(taken) == 100
        with pytest.raises(TypeError):
            list(run(abs, ["x"]))  # type: ignore[list-item]
