"""Tables of segments."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from reader_archives import BOUND, Memory, corpus_of, gives_pairs_or_says_why, grows, many, segments

from mdnmt.config.corpus_reader import TsvReader
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError


def options(**changes: Any) -> TsvReader:
    return TsvReader(name="tsv", **{"columns": {"en": 1, "fr": 2}, **changes})


def read(text: str, **changes: Any) -> list[tuple[str, str]]:
    return list(segments(Memory({"train.tsv": text.encode()}), options(**changes), "en", "fr"))


def test_columns_are_found_by_number_or_by_name() -> None:
    assert read('a "x"\tb\r\n\n\tc\n') == [('a "x"', "b"), ("", "c")]
    assert read("7\tb\ta\n", columns={"en": 3, "fr": 2}) == [("a", "b")]
    assert read("id\tFrench\tEnglish\n1\tb\ta\n", columns={"en": "English", "fr": 2}, header=True) == [("a", "b")]


def test_commas_and_quotes_as_in_csv() -> None:
    text = 'en,fr\n"a, ""b""","c\nd"\n\ne,f\n'
    found = read(text, separator="comma", quotes=True, header=True, columns={"en": "en", "fr": "fr"})
    assert found == [('a, "b"', "c\nd"), ("e", "f")]
    assert read("a;b\n", separator="semicolon") == [("a", "b")]


@pytest.mark.parametrize(
    ("text", "changes", "said"),
    [
        ("a\tb\nc\n", {}, r"train\.tsv:2: 1 columns, 2 in the first line; a tab within a text\?"),
        ("a\tb\nc\td\te\n", {}, r"train\.tsv:2: 3 columns"),
        ("a\tb\n", {"columns": {"en": 1, "fr": 3}}, r"tsv:1: 2 columns; `columns` says that 'fr' is in column 3"),
        ("a\tb\n", {"columns": {"en": 1, "de": 2}}, r"`columns` names none for 'fr', only en, de"),
        ("a\tb\n", {"columns": {"en": "a", "fr": "c"}, "header": True}, r"0 columns are called 'c', .* there are a, b"),
        ("a\ta\n", {"columns": {"en": "a", "fr": 2}, "header": True}, r"2 columns are called 'a'"),
        ("", {}, r"train\.tsv: is empty"),
        ("\n\n", {}, r"train\.tsv: is empty"),
        ('a\t"b\nc\td\n', {"quotes": True}, r"train\.tsv:2: .*are the quotes closed"),
        ('a\t"b" c\n', {"quotes": True}, r"train\.tsv:1: .*are the quotes closed"),
        ('a\t"' + "b\n" * 80_000, {"quotes": True}, r"larger than field limit .*are the quotes closed"),
        ("a\tb\nc\0\td\n", {}, r"train\.tsv:2: has a NUL"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read(text, **changes)
    assert "\n" not in str(caught.value)


def test_a_name_needs_a_header_and_columns_are_counted_from_1() -> None:
    with pytest.raises(ValidationError, match="set `header: true`"):
        options(columns={"en": "x", "fr": 2})
    with pytest.raises(ValidationError, match="counted from 1, found 0"):
        options(columns={"en": 0, "fr": 2})


def test_one_packed_table_is_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "titles.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n"))
    assert corpus_of(path, options(file="titles.tsv.gz"), "en", "fr") == {"train": [("a", "b")]}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    def made(count: int):
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "train.tsv").write_bytes(many(count, "en").replace(b"\n", b"\tfr\n"))
        return lambda: reader("tsv").read(Folder(folder, BOUND), "en", "fr", options(quotes=True))

    assert grows(made) < 1.3


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([b"\t", b"\n", b'"', b"a", b"\r", b"en", b"fr"]) | st.binary(max_size=3)).map(b"".join),
    st.booleans(),
    st.booleans(),
    st.integers(1, 9),
)
def test_any_bytes_give_pairs_or_a_clear_line(data: bytes, quotes: bool, header: bool, block: int) -> None:
    columns = {"en": "en", "fr": 2} if header else {"en": 1, "fr": 2}
    chosen = options(quotes=quotes, header=header, columns=columns)
    gives_pairs_or_says_why({"train.tsv": data, "valid.tsv": data}, block, chosen, "en", "fr")
