"""A JSON document read entry by entry gives what the library reads at once, or one line that says what is wrong."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdnmt.corpora.formats import json_entries
from mdnmt.corpora.formats.json_entries import entries
from mdnmt.errors import DataError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def blocks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.slow
@given(
    st.lists(VALUES, max_size=5) | st.dictionaries(st.text(max_size=3), VALUES, max_size=5),
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from([None, 1]),
)
def test_entries_are_those_of_the_library(document: Any, size: int, ascii_only: bool, indent: int | None) -> None:
    data = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    expected = list(document.values()) if isinstance(document, dict) else document
    assert list(entries(blocks(data, size), "x")) == expected


@given(st.binary(max_size=20) | st.text('[]{},:"1e. \\u', max_size=12).map(str.encode), st.integers(1, 5))
def test_any_bytes_give_what_the_library_gives_or_one_line(data: bytes, size: int) -> None:
    try:
        found = list(entries(blocks(data, size), "x.json"))
    except DataError as error:
        assert str(error).startswith("x.json: not JSON") and "\n" not in str(error)
        return
    document = json.loads(data.decode("utf-8-sig"))
    if isinstance(document, dict):  # a name that stands twice gives both values
        assert len(found) >= len(document) and all(value in found for value in document.values())
    else:
        assert found == document


@pytest.mark.parametrize(
    "text", ["", "3", '"a"', "[1 2]", "[1,]", '{"a" 1}', "{1: 2}", "[1] 2", "[1", '{"a": 1', "[1}"]
)
def test_what_is_no_document_of_entries_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"^x\.json: not JSON"):
        list(entries([text.encode()], "x.json"))


def test_an_entry_without_bounds_is_refused_and_memory_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    def document(count: int) -> Iterator[bytes]:
        yield b"["
        for number in range(count):
            yield b'"%d %s",' % (number, b"x" * 500)
        yield b"0]"

    peaks = []
    for count in (2000, 8000):
        tracemalloc.start()
        assert sum(1 for _ in entries(document(count), "x")) == count + 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
    monkeypatch.setattr(json_entries, "ENTRY_CHARACTERS_MAX", 1000)
    with pytest.raises(DataError, match="more than 1000 characters"):
        list(entries(iter([b'["', *[b"x" * 100] * 50, b'"]']), "x"))
