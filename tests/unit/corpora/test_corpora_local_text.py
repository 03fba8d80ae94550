"""A user's own folder: line-aligned text, a table or a translation memory, plain or packed; and lines under them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import BOUND, gives_pairs_or_says_why, grows, many, read_whole

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.corpus_reader import PlainReader
from mdnmt.corpora.availability import why_missing
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.lines import checked_lines
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError

TMX = (
    '<tmx version="1.4"><body><tu><tuv xml:lang="en-GB"><seg>one</seg></tuv>'
    '<tuv xml:lang="fr"><seg>un</seg></tuv></tu></body></tmx>'
)
TABLES = {"name": "tsv", "columns": {"en": 1, "fr": 2}}


def corpus(folder: Path, options: dict[str, Any], languages: tuple[str, ...] = ("en", "fr")) -> CorpusConfig:
    value = {
        "title": "Mine",
        "languages": languages,
        "source": {"provider": "local", "folder": str(folder)},
        "reader": options,
    }
    return CorpusConfig.model_validate(value)


def read(folder: Path, options: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Plan, fetch and read the corpus in `folder`, as a study does."""
    config, target = corpus(folder, options), folder.parent / "fetched"
    assert why_missing(config, target) is None
    spec = fetch_spec("mine", config, folder.parent / "hashes.json")
    fetch(spec, target)
    return read_whole(spec.corpus, target, "en", "fr")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


@pytest.mark.parametrize(("end", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_each_form_is_read_plain_and_packed(mine: Path, end: str, pack: Callable[[bytes], bytes]) -> None:
    for options, files in (
        ({"name": "plain"}, {"train.en": "one\n", "train.fr": "un\n", "valid.en": "two\n", "valid.fr": "deux\n"}),
        (TABLES, {"train.tsv": "one\tun\n", "valid.tsv": "two\tdeux\n"}),
        ({"name": "tmx"}, {"train.tmx": TMX, "valid.tmx": TMX.replace("one", "two").replace("un<", "deux<")}),
    ):
        for name, text in files.items():
            (mine / (name + end)).write_bytes(pack(text.encode()))
        assert read(mine, options) == {"train": [("one", "un")], "valid": [("two", "deux")]}


@pytest.mark.parametrize(
    ("options", "name", "text"),
    [({**TABLES, "file": "words.tsv"}, "words.tsv", "one\tun\n"), ({"name": "tmx", "file": "my.tmx"}, "my.tmx", TMX)],
)
def test_one_file_is_read_by_its_name(mine: Path, options: dict[str, Any], name: str, text: str) -> None:
    (mine / name).write_text(text)
    (mine / "test.tsv").write_text("other\tfile\n")
    assert read(mine, options) == {"train": [("one", "un")]}


@pytest.mark.parametrize(
    ("options", "files", "said"),
    [
        ({"name": "plain"}, [], r"has no train\.en; put it there"),
        ({"name": "plain"}, ["train.en"], r"has no train\.fr; put it there, plain or packed \(.gz, .xz, .zst\)"),
        ({"name": "plain"}, ["train.en", "train.fr", "train.fr.xz"], r"has train\.fr and train\.fr\.xz; keep one"),
        ({"name": "plain"}, ["train.en", "train.fr", "test.fr"], r"has no test\.en; put it there"),
        (TABLES, [], r"has no train\.tsv; put it there, .*\.zst\), or name your file in `file`"),
        ({"name": "tmx"}, ["train.tmx", "train.tmx.gz"], r"has train\.tmx and train\.tmx\.gz; keep one"),
        ({"name": "tmx", "file": "my own.tmx"}, ["my own.tmx"], r"'my own\.tmx': rename the file"),
        ({"name": "tmx", "file": "../mine/my.tmx"}, ["my.tmx"], r"has no member '\.\./mine/my\.tmx'"),
        ({"name": "tmx", "file": "my.tmx"}, ["train.tmx"], r"has no member 'my\.tmx'"),
    ],
)
def test_files_that_are_not_there_are_named_when_it_is_planned(
    mine: Path, options: dict[str, Any], files: list[str], said: str
) -> None:
    for name in files:
        (mine / name).write_bytes(b"x\n")
    missing = why_missing(corpus(mine, options), mine.parent / "fetched")
    assert missing is not None and missing.startswith("needs the files of 'Mine': ") and re.search(said, missing)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("train.en", gzip.compress(b"one\n", mtime=0)),  # a copy without its suffix
        ("train.en.gz", b"one\n"),  # unpacked by the browser (Helsinki-NLP/OpusFilter#75)
        ("train.en.xz", gzip.compress(b"one\n", mtime=0)),
        ("train.en.gz", lzma.compress(b"one\n")),
    ],
)
def test_packed_text_is_known_by_its_first_bytes(mine: Path, name: str, data: bytes) -> None:
    (mine / name).write_bytes(data)
    (mine / "train.fr").write_bytes(b"un\n")
    assert read(mine, {"name": "plain"}) == {"train": [("one", "un")]}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04....", "a zip archive"),
        (bz2.compress(b"one\n"), "packed by bzip2: unpack it by `bunzip2`"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a pointer of Git LFS: fetch the file"),
        (b"%PDF-1.7\n", "a PDF"),
    ],
)
def test_what_only_has_the_name_of_text_is_named(mine: Path, data: bytes, said: str) -> None:
    (mine / "train.en").write_bytes(data)
    (mine / "train.fr").write_bytes(b"un\n")
    with pytest.raises(DataError, match=rf"mine/train\.en: is {said}"):
        read(mine, {"name": "plain"})


@pytest.mark.parametrize(
    ("options", "name", "data", "said"),
    [
        ({"name": "plain"}, "train.fr", b"un\ndeux\n", r"mine/train\.en: 1 lines against 2 in .*mine/train\.fr:2"),
        ({"name": "plain"}, "train.fr", b"u\xffn\n", r"mine/train\.fr:1: the byte 0xff"),
        (TABLES, "train.tsv", b"a\tb\na\n", r"mine/train\.tsv:2: 1 columns"),
        (TABLES, "valid.tsv", b"a\n", r"mine/valid\.tsv:1: 1 columns"),
        ({"name": "tmx"}, "test.tmx", b"<tmx>", r"mine/test\.tmx:1: not well-formed XML"),
        ({"name": "tmx"}, "test.tmx.xz", lzma.compress(TMX.encode())[:-9], r"mine/test\.tmx\.xz: cannot be read"),
        ({"name": "tmx"}, "test.tmx.xz", b"\xfd7zXZ\0nothing of the kind", r"mine/test\.tmx\.xz: cannot be read"),
    ],
)
def test_fetching_reads_every_line_of_every_split(
    mine: Path, options: dict[str, Any], name: str, data: bytes, said: str
) -> None:
    for file, text in (("train.en", "one\n"), ("train.fr", "un\n"), ("train.tsv", "one\tun\n"), ("train.tmx", TMX)):
        (mine / file).write_text(text)
    (mine / name).write_bytes(data)
    with pytest.raises(DataError, match=said) as caught:
        read(mine, options)
    assert "\n" not in str(caught.value) and not (mine.parent / "fetched" / "corpus.json").exists()


def test_a_memory_of_three_languages_is_checked_for_each(mine: Path) -> None:
    (mine / "train.tmx").write_text(TMX)
    spec = fetch_spec("mine", corpus(mine, {"name": "tmx"}, ("en", "fr", "de")), mine.parent / "hashes.json")
    with pytest.raises(DataError, match="none of its 1 units has both en and de"):
        fetch(spec, mine.parent / "fetched")


def test_zst_without_its_package_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.en.zst").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"train\.en\.zst: needs `pip install zstandard` .*pack it as \.gz or \.xz"):
        Folder(tmp_path, BOUND).read("train.en.zst")


class Frame:
    """Stands in for the package's decompressor: frames of `(`, letters in small and `)`, unpacked to large ones."""

    def __init__(self) -> None:
        self.eof, self.unused_data, self.begun = False, b"", False

    def decompress(self, data: bytes) -> bytes:
        if not self.begun:
            if not data.startswith(b"("):
                raise ArithmeticError("no frame")
            self.begun, data = True, data[1:]
        text, end, rest = data.partition(b")")
        self.eof, self.unused_data = bool(end), rest
        return text.upper()


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        (b"(ab)", b"AB"),
        (b"(" + b"a" * 2000 + b")(b)()(c)", b"A" * 2000 + b"BC"),
        (b"", b""),
        (b"(ab", "it ends early"),
        (b"(ab)x", "no frame"),
    ],
)
def test_zst_is_read_frame_by_frame_and_must_be_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bytes, expected: bytes | str
) -> None:
    package = types.SimpleNamespace(
        ZstdDecompressor=lambda: types.SimpleNamespace(decompressobj=Frame), ZstdError=ArithmeticError
    )
    monkeypatch.setitem(sys.modules, "zstandard", package)
    (tmp_path / "a.zst").write_bytes(packed)
    folder = Folder(tmp_path, BOUND)
    if isinstance(expected, bytes):
        assert folder.read("a.zst") == expected
    else:
        with pytest.raises(DataError, match=rf"a\.zst: cannot be read \({expected}\)"):
            folder.read("a.zst")


@pytest.mark.parametrize("end", ["", ".gz"])
def test_memory_does_not_grow_with_the_text(tmp_path: Path, end: str) -> None:
    def made(count: int):
        folder = tmp_path / str(count)
        folder.mkdir()
        for lang in ("en", "fr"):
            text = many(count, lang)
            (folder / f"train.{lang}{end}").write_bytes(gzip.compress(text) if end else text)
        return lambda: reader("plain").read(Folder(folder, BOUND), "en", "fr", PlainReader(name="plain"))

    assert grows(made) < 1.3


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), st.integers(1, 9))
def test_lines_are_those_between_line_feeds_whatever_the_blocks(text: str, block: int) -> None:
    data = io.BytesIO(text.encode())
    blocks = iter(lambda: data.read(block), b"")
    if not text.strip():
        with pytest.raises(DataError, match="x: is empty"):
            list(checked_lines(blocks, "x"))
        return
    text = text if "\n" in text else text.replace("\r", "\n")  # only lines that end in \r alone
    assert list(checked_lines(blocks, "x")) == text.removeprefix("\ufeff").removesuffix("\n").split("\n")


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["train.en", "train.fr", "train.fr.gz", "test.en", "test.fr"]), st.binary(), max_size=5
    ),
    st.integers(1, 9),
)
def test_any_files_give_pairs_or_a_clear_line(members: dict[str, bytes], block: int) -> None:
    gives_pairs_or_says_why(members, block, PlainReader(name="plain"), "en", "fr")
