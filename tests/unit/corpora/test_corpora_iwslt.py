"""IWSLT's archives: talks among tag lines, and sets in XML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import BOUND, Memory, corpus_of, gives_pairs_or_says_why, grows, pairs_of, reads, segments, tgz

from mdnmt.config.corpus_reader import IwsltReader
from mdnmt.corpora.formats.archive import open_archive
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError

DE, EN = "de-en/train.tags.de-en.de", "de-en/train.tags.de-en.en"


def options(**changes: Any) -> IwsltReader:
    return IwsltReader(name="iwslt", **changes)


def talk(lang: str, *lines: str, translator: str = "") -> str:
    head = [
        "<url>http://www.ted.com/talks/a_b.html</url>",
        "<keywords>talks, art</keywords>",
        "<speaker>A B</speaker>",
        "<talkid>1</talkid>",
        f"<title>A B: title {lang}</title>",
        f"<description>TED Talk: &amp; {lang}</description>",
    ]
    return "\n".join([*head, *lines, *([translator] if translator else []), ""])


def xml(lang: str, *segments: str) -> bytes:
    body = "\n".join(f'<seg id="{number}"> {text} </seg>' for number, text in enumerate(segments, start=1))
    doc = f'<doc docid="1" genre="lectures">\n<talkid>1</talkid>\n<title>not a segment</title>\n{body}\n</doc>'
    name = {"de": "German", "en": "English"}[lang]
    srcset = f'<srcset setid="iwslt2014" srclang="{name}">\n{doc}\n</srcset>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n{srcset}\n</mteval>\n'.encode()


ARCHIVE: dict[str, bytes] = {
    # Only one side was translated, so only one says by whom.
    DE: talk("de", " Eins & zwei ", "", translator='<translator href="http://x/1">C D</translator>').encode(),
    EN: talk("en", "One & two", "").encode(),
    "de-en/README": b"<stray>",
    "de-en/IWSLT14.TED.dev2010.de-en.de.xml": xml("de", "Dev &amp; eins", "Dev &lt;zwei&gt;"),
    "de-en/IWSLT14.TED.dev2010.de-en.en.xml": xml("en", "Dev &#38; one", "Dev two"),
    "de-en/IWSLT14.TED.tst2010.de-en.de.xml": xml("de", "Test"),
    "de-en/IWSLT14.TED.tst2010.de-en.en.xml": xml("en", "test"),
    "de-en/IWSLT14.TEDX.dev2012.de-en.de.xml": xml("de", "Zwölf"),
    "de-en/IWSLT14.TEDX.dev2012.de-en.en.xml": xml("en", "twelve"),
}


def test_talks_without_and_with_titles(tmp_path: Path) -> None:
    path = tgz(tmp_path / "de-en.tgz", ARCHIVE)
    assert pairs_of(path, options(), "de", "en") == [(" Eins & zwei ", "One & two"), ("", "")]
    assert pairs_of(path, options(titles=True), "en", "de")[:2] == [
        ("A B: title en", "A B: title de"),
        ("TED Talk: &amp; en", "TED Talk: &amp; de"),
    ]
    assert len(pairs_of(path, options(titles=True), "en", "de")) == 4


def test_sets_are_joined_in_the_order_of_the_options(tmp_path: Path) -> None:
    path = tgz(tmp_path / "de-en.tgz", ARCHIVE)
    chosen = options(valid=("dev2010",), test=("dev2012", "TED.tst2010"))
    assert pairs_of(path, chosen, "de", "en", "valid") == [("Dev & eins", "Dev & one"), ("Dev <zwei>", "Dev two")]
    assert pairs_of(path, chosen, "en", "de", "test") == [("twelve", "Zwölf"), ("test", "Test")]
    with open_archive(path, BOUND) as archive:
        assert reader("iwslt").held_out(archive, "test", "de", "en", options()) is None


SET, VALID = "de-en/IWSLT14.TED.dev201", {"valid": ("dev2010",)}
ENTITY = b'<!DOCTYPE a [<!ENTITY b "ha">]><mteval><seg id="1">&b;</seg></mteval>'


@pytest.mark.parametrize(
    ("name", "data", "chosen", "said"),
    [
        (EN, b"", {}, r"train\.tags\.de-en\.en: is empty"),
        (EN, talk("en", "One").encode(), {}, r"train\.tags\.de-en\.de:8: has no counterpart"),
        (EN, talk("en", "One", "", "", "x").encode(), {}, r"train\.tags\.de-en\.en:9: has no counterpart"),
        (EN, b"One\n" * 9, {}, r"de:5: a line of title beside a line of text, .*en:1; the two do not go"),
        (EN, talk("en", "<title>One", "").encode(), {}, r"en:7: the tag <title> is not closed"),
        ("x", b"", {"test": ("tst2099",)}, r"has no member \*\.tst2099\.de-en\.de\.xml"),
        (f"{SET}2.de-en.de.xml", b"", {"test": ("dev2012",)}, r"several members \*\.dev2012\.de-en\.de\.xml"),
        (
            f"{SET}0.de-en.en.xml",
            xml("en", "Dev one"),
            VALID,
            r"de\.xml:8 against .*xml:end: segment '2' beside None",
        ),
        (f"{SET}0.de-en.en.xml", b"<mteval/>", VALID, r"segment '1' beside None"),
        (f"{SET}0.de-en.en.xml", xml("en", "A", "B < C"), VALID, r"en\.xml:8: not well-formed XML"),
        (f"{SET}0.de-en.en.xml", ENTITY, VALID, r"en\.xml:1: its own declarations .*refused"),
    ],
)
def test_what_does_not_go_together_is_said_with_its_line(
    tmp_path: Path, name: str, data: bytes, chosen: dict[str, Any], said: str
) -> None:
    path = tgz(tmp_path / "de-en.tgz", {**ARCHIVE, name: data})
    with pytest.raises(DataError, match=said) as caught:
        for split in ("train", "valid", "test"):
            pairs_of(path, options(**chosen), "de", "en", split)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (xml("de", "a", "b"), xml("en", "a", "b").replace(b'id="2"', b'id="3"'), "segment '2' beside '3'"),
        (b"<mteval/>", b"<mteval/>", r"de\.xml: has no <seg>"),
    ],
)
def test_a_set_has_the_same_segments_on_both_sides(one: bytes, other: bytes, said: str) -> None:
    members = {"I.s.de-en.de.xml": one, "I.s.de-en.en.xml": other}
    with pytest.raises(DataError, match=said):
        list(segments(Memory(members), options(valid=("s",)), "de", "en", "valid"))


def test_lines_with_unknown_tags_are_read_counted_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One language has more layout tags than the other: both are read as text, so the lines stay aligned."""
    german = talk("de", "<b>Eins</b>", "Zwei", "<i>Drei", "vier").encode()
    english = talk("en", "One", "<B>two", "<i>three", "<b>four</b>").encode()
    path = tgz(tmp_path / "de-en.tgz", {DE: german, EN: english})
    expected = [("<b>Eins</b>", "One"), ("Zwei", "<B>two"), ("<i>Drei", "<i>three"), ("vier", "<b>four</b>")]
    assert pairs_of(path, options(), "de", "en") == expected
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert [
        line
        for line in told
        if ".en: lines that begin with the unknown tag <b>: 2, read as text, the first is 8" in line
    ]
    # What is as expected is not reported.
    pairs_of(tgz(tmp_path / "right.tgz", ARCHIVE), options(titles=True, test=("tst2010",)), "de", "en")
    assert capsys.readouterr().err == ""


@given(block=st.integers(1, 60))
def test_a_bare_ampersand_is_one_wherever_a_block_ends(block: int) -> None:
    said = ["R&D", "a & b &", "&amp; &lt; &#38; &#x26;", "x &y z; &&amp;&"]
    german, english = xml("de", *said), xml("en", *said)
    members = {"I.s.de-en.de.xml": german, "I.s.de-en.en.xml": english}
    read = [one for one, _ in segments(Memory(members, block), options(valid=("s",)), "de", "en", "valid")]
    assert read == ["R&D", "a & b &", "& < & &", "x &y z; &&&"]


def test_bare_ampersands_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "de-en/IWSLT14.TED.tst2010.de-en.en.xml"
    path = tgz(tmp_path / "a.tgz", {**ARCHIVE, name: xml("en", "Q & A && &amp;")})
    assert pairs_of(path, options(test=("tst2010",)), "de", "en", "test") == [("Test", "Q & A && &")]
    assert capsys.readouterr().err.strip().endswith(f"{name}: 3 bare `&` were read as `&amp;`")


def test_a_tag_that_is_no_text_can_be_added(tmp_path: Path) -> None:
    path = tgz(tmp_path / "a.tgz", {DE: b"<note>x</note>\nEins\n", EN: b"One\n<note>y</note>\n"})
    assert pairs_of(path, options(dropped=("note",)), "de", "en") == [("Eins", "One")]


def test_a_corpus_is_read_with_its_own_sets(tmp_path: Path) -> None:
    text = corpus_of(tgz(tmp_path / "de-en.tgz", ARCHIVE), options(test=("tst2010",)), "de", "en")
    assert (len(text.pop("train")), text) == (2, {"test": [("Test", "test")]})


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    def made(count: int):
        lines = [f"line {number} {'x' * 80}" for number in range(count)]
        path = tgz(tmp_path / str(count), {DE: talk("de", *lines).encode(), EN: talk("en", *lines).encode()})
        return reads(path, options(), "de", "en")

    assert grows(made) < 1.3


@pytest.mark.slow
def test_memory_does_not_grow_with_a_set(tmp_path: Path) -> None:
    def made(count: int):
        sides = {
            f"IWSLT14.TED.tst.de-en.{lang}.xml": xml(lang, *(f"{number} {'x' * 80}" for number in range(count)))
            for lang in ("de", "en")
        }
        return reads(tgz(tmp_path / str(count), sides), options(test=("tst",)), "de", "en", split="test")

    assert grows(made, 5000) < 1.3


PIECES = b'<title> </title> <url> <b> </ < > a </seg> <mteval> </mteval> &amp; &x; utf-16 big5 "?>'.split(b" ")
PIECES += [b"\n", b"\xff", b"\xc3", b"\xa9", b"\0", b'<seg id="1">', b"<!DOCTYPE m ", b"[<!ENTITY x 'y'>]"]
PIECES += [b'<?xml version="1.0" encoding="']


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(*[st.lists(st.sampled_from(PIECES) | st.binary(max_size=3)).map(b"".join)] * 4, st.integers(1, 9))
def test_any_bytes_give_pairs_or_a_clear_line(de: bytes, en: bytes, one: bytes, other: bytes, block: int) -> None:
    members = {DE: de, EN: en, "I.a.de-en.de.xml": one, "I.a.de-en.en.xml": other}
    gives_pairs_or_says_why(members, block, options(titles=True, valid=("a",)), "de", "en")


@given(st.integers(1, 80))
def test_the_size_of_the_blocks_does_not_matter(block: int) -> None:
    chosen = options(titles=True, test=("dev2010", "dev2012"))
    for split, count in (("train", 4), ("test", 3)):
        whole = list(segments(Memory(ARCHIVE, 1 << 20), chosen, "de", "en", split))
        assert len(whole) == count and list(segments(Memory(ARCHIVE, block), chosen, "de", "en", split)) == whole
