"""Translation memories, and the XML under them: nothing that a document declares is expanded."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import BOUND, Memory, gives_pairs_or_says_why, grows, pairs_of, segments, zipped

from mdnmt.config.corpus_reader import TmxReader, XliffReader
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError


def options(**changes: Any) -> TmxReader:
    return TmxReader(name="tmx", **changes)


def unit(**sides: str) -> str:
    variants = "".join(
        f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>' for code, text in sides.items()
    )
    return f'<tu tuid="1"><prop type="x">no text</prop>{variants}</tu>\n'


def tmx(*units: str, head: str = "") -> bytes:
    body = "".join(units)
    header = '<header srclang="en" segtype="sentence"/>'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<tmx version="1.4">{header}<body>\n{body}</body></tmx>'.encode()
    )


def read(data: bytes, source: str = "en", target: str = "fr", **changes: Any) -> list[tuple[str, str]]:
    return list(segments(Memory({"train.tmx": data}, 64), options(**changes), source, target))


def test_units_are_read_in_either_direction_with_any_region() -> None:
    data = tmx(unit(EN_GB="a &amp; b", fr="à\nb"), unit(fr_CA="d", en_US="c"), unit(en="only"), unit(de="x", fr="y"))
    assert read(data) == [("a & b", "à\nb"), ("c", "d")]
    assert read(data, "fr", "en") == [("à\nb", "a & b"), ("d", "c")]


def test_of_several_regions_the_first_is_taken_or_the_one_that_is_named() -> None:
    data = tmx(unit(en="a", zh_CN="简", zh_TW="繁"), unit(en="b", zh_TW="繁"))
    assert read(data, "en", "zh") == [("a", "简"), ("b", "繁")]
    assert read(data, "en", "zh", codes={"zh": "zh-tw"}) == [("a", "繁"), ("b", "繁")]
    with pytest.raises(DataError, match="none of its 2 units has both en and zh-SG"):
        read(data, "en", "zh", codes={"zh": "zh-SG"})
    assert read(tmx(unit(eng="x", en="a", fr="b"))) == [("x", "b")]  # eng is another code of English
    assert read(tmx(unit(en_GB="a", zh_TW="b")), "eng", "zho") == [("a", "b")]


def test_codes_of_the_layout_are_no_text_and_marked_text_is() -> None:
    codes = '<bpt i="1">&lt;b&gt;</bpt><hi>bold</hi><ept i="1">&lt;/b&gt;</ept> and<ph x="1">{<sub>no</sub>}</ph> on'
    assert read(tmx(unit(en=codes, fr="f"))) == [("bold and on", "f")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('Click<ph x="1"/>here', "Click here"),
        ('un<bpt i="1">&lt;b&gt;</bpt>believ<ept i="1">&lt;/b&gt;</ept>able', "unbelievable"),
        ('H<bpt i="1">&lt;sub&gt;</bpt>2<ept i="1">&lt;/sub&gt;</ept>O', "H2O"),
        ("one<ph>&lt;br/&gt;</ph>two", "one two"),
        ('one.<bpt i="1"/>Two<ept i="1"/>', "one. Two"),
        ('Press <ph x="1"/>.', "Press."),
        ("中<ph/>文", "中文"),
        ("C<ph>&lt;i&gt;</ph>at", "Cat"),
        ("<ph/>a <hi>b</hi>c<ph/>", "a bc"),
    ],
)
def test_words_beside_a_code_stay_apart_and_a_word_stays_whole(segment: str, text: str) -> None:
    assert read(tmx(unit(en=segment, fr="f"))) == [(text, "f")]
    file = f'<file source-language="en-GB" target-language="fr"><body><trans-unit><source>{segment}</source>'
    proposal = "<alt-trans><source>no</source><target>no</target></alt-trans>"
    one = f"<xliff>{file}<target>f</target>{proposal}</trans-unit></body></file></xliff>"
    two = f'<xliff srcLang="en" trgLang="fr"><file><unit><segment><source>{segment}</source><target>f</target>'
    for data in (one, f"{two}</segment></unit></file></xliff>"):
        archive = Memory({"train.xlf": data.encode()}, 64)
        assert list(segments(archive, XliffReader(name="xliff"), "en", "fr")) == [(text, "f")]
        assert list(segments(archive, XliffReader(name="xliff"), "fr", "en")) == [("f", text)]


def test_the_older_attribute_and_utf_16_are_read() -> None:
    variants = '<tuv lang="EN"><seg>é</seg></tuv><tuv lang="FR"><seg>f</seg></tuv>'
    old = f'<tmx version="1.1"><body><tu>{variants}</tu></body></tmx>'
    assert read(f'<?xml version="1.0" encoding="UTF-16"?>{old}'.encode("utf-16")) == [("é", "f")]
    assert read(f'<?xml version="1.0" encoding="windows-1252"?>{old}'.encode("cp1252")) == [("é", "f")]
    # Converted by a program that left the declaration as it was.
    for said in ("utf-8", "UTF-16", "windows-1252"):
        assert read(f'<?xml version="1.0" encoding="{said}"?>{old}'.encode("utf-16")) == [("é", "f")]
    for encoding in ("utf-8", "utf-8-sig"):
        assert read(f'<?xml version="1.0" encoding="utf-16"?>{old}'.encode(encoding)) == [("é", "f")]


def test_naming_the_document_type_is_harmless_and_nothing_is_fetched() -> None:
    assert read(tmx(unit(en="a", fr="b"), head='<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/tmx14.dtd">\n')) == [
        ("a", "b")
    ]


LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(12))
ONE = unit(en="a", fr="b")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            tmx(ONE, unit(en="&l12;", fr="b"), head=f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{LAUGHS}]>\n'),
            r":2: its own declarations",
        ),
        (
            tmx(unit(en="&f;", fr="b"), head='<!DOCTYPE tmx [<!ENTITY f SYSTEM "file:///etc/passwd">]>\n'),
            "declarations",
        ),
        (tmx(head="<!DOCTYPE tmx [<!ENTITY % p SYSTEM 'http://127.0.0.1:9/x'> %p;]>\n"), "declarations"),
        (
            tmx(unit(en="&x;", fr="b"), head='<!DOCTYPE tmx SYSTEM "x.dtd">\n'),
            r":4: the entity 'x', which is not predefined",
        ),
        (tmx(ONE, unit(en="&x;", fr="b")), r":4: not well-formed XML \(undefined entity\)"),
        (tmx(ONE, "</tu>"), r":4: not well-formed XML \(mismatched tag\)"),
        (tmx(ONE)[:-9], r"not well-formed XML \(no element found|not well-formed XML \(unclosed token"),
        (b"", r":1: not well-formed XML \(no element found\)"),
        (b"<html><body/></html>", r":1: begins with <html>; expected a TMX file"),
        (tmx(ONE).replace(b'xml:lang="fr"', b""), r":3: a <tuv> without xml:lang"),
        (tmx(unit(de="a", fr="b")), "none of its 1 units has both en and fr"),
        (tmx(unit(en="<seg>a</seg>", fr="b")), "a <seg> within a <seg>"),
        (tmx("<a>" * 200 + "</a>" * 200), "nested more than 100 deep"),
        (tmx(unit(en="<hi>" * 200 + "</hi>" * 200, fr="b")), "nested more than 100 deep"),
        (tmx(unit(en="a" * 1_100_000, fr="b")), "a text of more than 1048576 characters"),
        (tmx(ONE, f'<tu x="{"a" * 3_000_000}"/>'), "a tag of more than 2097152 bytes"),
        (tmx(ONE).replace(b"UTF-8", b"utf-99"), "an encoding that cannot be read|unknown encoding"),
        (tmx(ONE).replace(b"UTF-8", b"big5"), "an encoding that cannot be read|unknown encoding"),
        (tmx(unit(en="\xe9", fr="b")).decode().encode("latin-1"), r":3: not well-formed XML \(.*invalid token"),
    ],
)
def test_bombs_and_damage_are_refused_with_their_line(data: bytes, said: str) -> None:
    tracemalloc.start()
    with pytest.raises(DataError, match=said) as caught:
        list(segments(Memory({"train.tmx": data}, 1 << 16), options(), "en", "fr"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value) and str(caught.value).startswith("memory:train.tmx")
    assert peak < 12_000_000


def test_a_folder_has_a_file_a_split_or_one_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "train.tmx.gz").write_bytes(gzip.compress(tmx(ONE)))
    (tmp_path / "test.tmx").write_bytes(tmx(unit(en="c", fr="d")))
    (tmp_path / "mine.tmx").write_bytes(tmx(unit(en="e", fr="f")))
    folder = Folder(tmp_path, BOUND)
    found = [list(segments(folder, options(), "en", "fr", split)) for split in ("train", "valid", "test")]
    assert found == [[("a", "b")], [], [("c", "d")]]
    named = [list(segments(folder, options(file="mine.tmx"), "en", "fr", split)) for split in ("train", "test")]
    assert named == [[("e", "f")], []]


def test_a_member_of_an_archive_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"x/en-fr.tmx": tmx(ONE)})
    assert pairs_of(path, options(file="x/en-fr.tmx"), "en", "fr") == [("a", "b")]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_memory(tmp_path: Path) -> None:
    def made(count: int):
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "train.tmx").write_bytes(tmx(*(unit(en=f"{n} {'x' * 80}", fr=f"{n}") for n in range(count))))
        return lambda: reader("tmx").read(Folder(folder, BOUND), "en", "fr", options())

    assert grows(made, 5000) < 1.3


PIECES = b"<tmx> </tmx> <tu> </tu> <tuv> </tuv> <seg> </seg> <hi> </hi> <ph/> a &amp; &x; &#0; &#x41;".split()
PIECES += b'<![CDATA[x]]> utf-16 shift_jis utf-7 idna hex "?>'.split()
PIECES += [b'<tuv xml:lang="en">', b'<tuv xml:lang="fr">', b"<!-- x -->", b'<!DOCTYPE tmx SYSTEM "x">', b"\xff\xfe"]
PIECES += [b"<!DOCTYPE tmx [<!ENTITY x 'y'>]>", b'<?xml version="1.0" encoding="', b"<?pi ?>", b"\0"]


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3)).map(b"".join), st.integers(1, 9))
def test_any_bytes_give_pairs_or_a_clear_line(data: bytes, block: int) -> None:
    gives_pairs_or_says_why({"train.tmx": data, "test.tmx": b"<tmx>" + data}, block, options(), "en", "fr")


@given(st.integers(1, 40))
def test_the_size_of_the_blocks_does_not_matter(block: int) -> None:
    data = tmx(unit(en="é &amp; b", fr="à"), unit(en="<hi>ü</hi>€", fr="d"))
    assert list(segments(Memory({"train.tmx": data}, block), options(), "en", "fr")) == [("é & b", "à"), ("ü€", "d")]
