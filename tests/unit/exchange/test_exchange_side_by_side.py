"""Translations in tables: what goes in comes out, whatever its lines contain."""

from __future__ import annotations

import random

import pytest

from mdnmt.errors import DataError
from mdnmt.exchange.side_by_side import from_tables, is_translation, to_tables

NAMES = [
    f"{method}/seed{seed}-0123abcd/{test}/hyp/hyp.{domain}.txt"
    for method in ("mixed", "waldm-edc")
    for seed in (1, 2)
    for test in ("test-aaaaaaaa", "test-bbbbbbbb", "valid-cccccccc")
    for domain in ("law", "med-ical")
]


def test_a_row_is_a_sentence_and_a_column_is_a_run() -> None:
    files = {
        "mixed/seed1-0123abcd/test-aaaaaaaa/hyp/hyp.law.txt": b"the law\n\n",
        "dsa/seed1-0123abcd/test-aaaaaaaa/hyp/hyp.law.txt": b"a law\nno\n",
        "dsa/seed1-0123abcd/test-bbbbbbbb/hyp/hyp.law.txt": b"one sentence\n",
    }
    tables = to_tables(files)
    first = b"dsa/seed1-0123abcd/test-aaaaaaaa\tmixed/seed1-0123abcd/test-aaaaaaaa\na law\tthe law\nno\t\n"
    second = b"dsa/seed1-0123abcd/test-bbbbbbbb\none sentence\n"
    assert tables == {"test.law.2.tsv": first, "test.law.1.tsv": second}
    assert from_tables(tables) == files


def test_any_lines_come_back_as_they_were() -> None:
    generator = random.Random(3)
    parts = [b"word", b" ", b"\t", b"\\", b"\\t", b"\r", "\u2028".encode(), "\u4e2d".encode(), b'"', b"\x00", b""]
    for _ in range(200):
        files = {}
        for name in generator.sample(NAMES, generator.randrange(1, len(NAMES))):
            lines = [b"".join(generator.choices(parts, k=5)) for _ in range(generator.choice([0, 1, 3]))]
            files[name] = b"".join(b"%s\n" % line for line in lines)
        assert from_tables(to_tables(files)) == files


def test_an_unfinished_line_is_refused() -> None:
    with pytest.raises(DataError, match=r"hyp\.law\.txt: expected a newline at its end"):
        to_tables({NAMES[0]: b"one\ntwo"})


def test_only_translations_go_into_tables() -> None:
    assert all(is_translation(name) for name in NAMES)
    assert not any(map(is_translation, ["mixed/seed1-0123abcd/run.json", NAMES[0].replace("hyp.law.txt", "sums.json")]))


@pytest.mark.parametrize(
    "tables", [{"law.tsv": b"a\n"}, {"test.law.1.tsv": b"a\tb\nx\n"}, {"test.law.2.tsv": b"a\tb\nx\ty\nx\n"}]
)
def test_what_is_no_such_table_is_refused(tables: dict[str, bytes]) -> None:
    with pytest.raises(ValueError):
        from_tables(tables)
