"""Translations from elsewhere: every mistake in their files is one line, and keyed ones find their sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mdnmt.cli import main
from mdnmt.errors import DataError
from mdnmt.fsio import read_json, read_lines
from mdnmt.studies.external_translations import align, read_folder, read_text, source_key

SOURCES = {"economy": ["one cat", "two cats", "one cat"], "law": ["a judge"]}
LAW = "hyp.law.txt"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "text").mkdir(parents=True)
    for domain, lines in SOURCES.items():
        (folder / f"text/test.{domain}.en").write_text("".join(f"{line}\n" for line in lines))
    (folder / "task.json").write_text(
        json.dumps({"source_lang": "en", "target_lang": "fr", "domains": list(SOURCES)}), encoding="utf-8"
    )
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "system"
    made.mkdir()
    (made / "hyp.economy.txt").write_text("un chat\ndeux chats\nun minou\n")
    (made / LAW).write_text("un juge\n")
    return made


def keyed(lines: dict[str, str]) -> str:
    return "".join(f"{source_key(source)}\t{line}\n" for source, line in lines.items())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "hyp.law.txt: is empty"),
        (b"\xef\xbb\xbfun juge\n", "hyp.law.txt: begins with a byte order mark"),
        (b"un juge\r\n", "hyp.law.txt:1: ends with a carriage return"),
        (b"un\nj\xfbge\n", "hyp.law.txt:2: the byte 0xfb is not UTF-8"),
        (b"un\x00juge\n", "hyp.law.txt:1: has a NUL byte"),
        (b"un\tjuge\n", "hyp.law.txt:1: has the control character U+0009"),
        (b"un\xc2\x85juge\n", "hyp.law.txt:1: has the control character U+0085"),
        (b"un juge\n \n", "hyp.law.txt:2: is empty; expected a translation of every sentence"),
        (b"x" * (1 << 20) + b"x\n", "hyp.law.txt:1: is longer than 1048576 bytes"),
    ],
)
def test_text_that_is_not_one_translation_a_line_is_refused(folder: Path, content: bytes, said: str) -> None:
    (folder / LAW).write_bytes(content)
    with pytest.raises(DataError) as error:
        read_folder(folder, SOURCES)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_separators_of_unicode_end_no_line(folder: Path) -> None:
    (folder / LAW).write_text("un\u2028juge")
    assert read_text(folder / LAW).lines == ("un\u2028juge",)


@pytest.mark.parametrize(
    ("name", "new", "said"),
    [
        (LAW, "hyp.laws.txt", "hyp.laws.txt: no file of a domain of the task (did you mean 'law'?)"),
        (LAW, "law.txt", "no translations of law; expected hyp.law.txt or hyp.law.tsv"),
        (LAW, "hyp.law.txt.bak", "hyp.law.txt.bak: no file of a domain of the task"),
        ("hyp.economy.txt", "hyp.law.tsv", "hyp.law.txt: hyp.law.tsv has translations of law too"),
    ],
)
def test_each_domain_has_one_file(folder: Path, name: str, new: str, said: str) -> None:
    (folder / name).rename(folder / new)
    with pytest.raises(DataError, match="hyp") as error:
        read_folder(folder, SOURCES)
    assert said in str(error.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: no such folder"):
        read_folder(tmp_path / "nowhere", SOURCES)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("un juge\n", ":1: expected the sha256 of a source line"),
        ("0123\tun juge\n", ":1: expected the sha256 of a source line"),
        (keyed({"a judge": "un juge"}) * 2, ":2: has the key of line 1"),
        (keyed({"a judge": "un juge", "a crow": "un corbeau"}), ":2: the key "),
        (keyed({"a judge": ""}), ":1: is empty"),
        (keyed({"a crow": "un corbeau"}), ":1: the key "),
    ],
)
def test_keys_are_those_of_the_source_lines(folder: Path, content: str, said: str) -> None:
    (folder / LAW).unlink()
    (folder / "hyp.law.tsv").write_text(content)
    with pytest.raises(DataError) as error:
        align(read_folder(folder, SOURCES)["law"], SOURCES["law"], Path("test.law.en"))
    assert f"hyp.law.tsv{said}" in str(error.value)


def test_a_sentence_without_a_translation_is_named_with_its_key(folder: Path) -> None:
    (folder / "hyp.economy.tsv").write_text(keyed({"one cat": "un chat"}))
    with pytest.raises(DataError, match=r"no translation of line 2 of test.en, whose key is ") as error:
        align(read_text(folder / "hyp.economy.tsv"), SOURCES["economy"], Path("test.en"))
    assert source_key("two cats") in str(error.value)


def test_keyed_translations_come_in_the_order_of_the_test_set(folder: Path) -> None:
    (folder / "hyp.economy.tsv").write_text(keyed({"two cats": "deux chats", "one cat": "un chat"}))
    found = align(read_text(folder / "hyp.economy.tsv"), SOURCES["economy"], Path("test.en"))
    assert found == ["un chat", "deux chats", "un chat"]


def test_the_verb_checks_and_writes(
    task: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sums = {path.name: text.sha256 for path in folder.iterdir() for text in (read_text(path),)}
    out = tmp_path / "hyp"
    assert main(["external", str(folder), "--task", str(task)]) == 0
    assert not out.exists() and "hyp.economy.txt: 3 translations, sha256" in capsys.readouterr().out
    words = ["external", str(folder), "--task", str(task), "--out", str(out), "--sums", json.dumps(sums)]
    assert main([*words, "--limit", "2"]) == 0
    assert read_lines(out / "hyp.economy.txt") == ["un chat", "deux chats"] and set(read_json(out / "sums.json")) == {
        *sums
    }
    (folder / LAW).write_text("une juge\n")
    assert main(words) == 2
    assert "hyp.law.txt: has changed since snakemake was started" in capsys.readouterr().err


def test_a_count_that_is_not_that_of_the_test_set_is_refused(
    task: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / LAW).write_text("un juge\nune avocate\n")
    assert main(["external", str(folder), "--task", str(task)]) == 2
    assert f"hyp.law.txt: 2 lines, but {task}/text/test.law.en has 1;" in capsys.readouterr().err
