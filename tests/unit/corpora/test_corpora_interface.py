"""Readers of the texts of programs: gettext catalogues, compiled or not, and Home Assistant's JSON."""

from __future__ import annotations

import gettext
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader_archives import gives_pairs_or_says_why, pairs_of, zipped

from mdnmt.config.corpus_reader import GettextMoReader, HomeassistantReader
from mdnmt.corpora.formats.gettext import read_mo, read_po
from mdnmt.corpora.formats.interface_text import (
    count_tokens,
    without_accelerator,
    without_colours,
    without_links,
    without_tags,
)
from mdnmt.errors import DataError

HOME = "homeassistant/components/"


def mo(messages: dict[str, str], order: str = "<") -> bytes:
    """Return a catalogue as msgfmt writes it."""
    entries = [(key.encode(), value.encode()) for key, value in {"": "Content-Type: text/plain\n", **messages}.items()]
    tables, texts, place = b"", b"", 28 + 16 * len(entries)
    for side in (0, 1):
        for entry in entries:
            tables += struct.pack(f"{order}2I", len(entry[side]), place + len(texts))
            texts += entry[side] + b"\0"
    header = struct.pack(f"{order}7I", 0x950412DE, 0, len(entries), 28, 28 + 8 * len(entries), 0, 0)
    return header + tables + texts


def pairs(folder: Path, members: dict[str, bytes], options: Any, source: str = "en", target: str = "de") -> list[Any]:
    return pairs_of(zipped(folder / "a.whl", members), options, source, target)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_catalogue_is_read_as_the_library_reads_it(order: str) -> None:
    messages = {"Open": "Öffnen", "menu\x04Open": "Öffne", "%n file\0%n files": "%n Datei\0%n Dateien"}
    data = mo(messages, order)
    known = gettext.GNUTranslations(
        io.BytesIO(mo({**messages, "": "Content-Type: text/plain; charset=UTF-8\n"}, order))
    )
    entries = list(read_mo(data, "x.mo"))
    assert entries[0].msgstr[0] == known.gettext("Open")
    assert (entries[1].msgid, entries[1].msgstr[0]) == ("Open", known.pgettext("menu", "Open"))
    assert (entries[2].msgid, entries[2].msgid_plural) == ("%n file", "%n files")
    assert entries[2].msgstr == ("%n Datei", "%n Dateien")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes are no"),
        (b"x" * 40, "does not begin as"),
        (struct.pack("<5I", 0x950412DE, 2 << 16, 0, 20, 20), "revision 2"),
        (struct.pack("<5I", 0x950412DE, 0, 1 << 31, 20, 20), "reach beyond its end"),
        (struct.pack("<9I", 0x950412DE, 0, 1, 20, 28, 1000, 0, 0, 0), "message 1: its text reaches beyond"),
        (mo({"a": "b"}).replace(b"b\0", b"\xff\0"), "message 2: byte 0 is not UTF-8"),
    ],
)
def test_a_broken_catalogue_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=rf"x\.mo.*{said}"):
        list(read_mo(data, "x.mo"))


def test_texts_that_overlap_do_not_unfold() -> None:
    text, count = b"a" * 1000, 500
    tables = struct.pack("<2I", 1000, 20 + 16 * count) * (2 * count)
    data = struct.pack("<5I", 0x950412DE, 0, count, 20, 20 + 8 * count) + tables + text
    with pytest.raises(DataError, match="longer than the file itself"):
        list(read_mo(data, "x.mo"))


def test_messages_are_made_plain_and_short_ones_left_out(tmp_path: Path) -> None:
    catalogue = mo(
        {
            "@action:button\x04Close Current &Tab": "A&ktuelles Unterfenster schließen",
            "<p>Save &amp; quit now.</p>": "<p>Speichern &amp; beenden.</p>",
            "Two words": "Zwei Wörter",
            "not translated at all": "",
            "%n file is open\0%n files are open": "%n Datei war offen\0%n Dateien waren offen",
        }
    )
    members = {"usr/share/locale/de/LC_MESSAGES/x.mo": catalogue, "usr/share/locale/fr/LC_MESSAGES/x.mo": b"other"}
    found = pairs(tmp_path, members, GettextMoReader(name="gettext-mo"))
    assert found == [
        ("Close Current Tab", "Aktuelles Unterfenster schließen"),
        (" Save & quit now. ", " Speichern & beenden. "),
        ("%n file is open", "%n Datei war offen"),
        ("%n files are open", "%n Dateien waren offen"),
    ]
    one = GettextMoReader(name="gettext-mo", min_tokens=1)
    assert ("Zwei Wörter", "Two words") in pairs(tmp_path, members, one, "de", "en")


def test_a_language_with_one_form_gives_a_message_once(tmp_path: Path) -> None:
    members = {"usr/share/locale/zh_CN/LC_MESSAGES/x.mo": mo({"%n new file\0%n new files": "%n 个文件"})}
    found = pairs(tmp_path, members, GettextMoReader(name="gettext-mo"), "zh", "en")
    assert found == [("%n 个文件", "%n new file")]


def test_catalogues_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no member locale/zh_CN/LC_MESSAGES/\*\.mo"):
        pairs(tmp_path, {"a": b""}, GettextMoReader(name="gettext-mo"), "en", "zh")
    with pytest.raises(DataError, match="English on one side, not de-fr"):
        pairs(tmp_path, {"a": b""}, GettextMoReader(name="gettext-mo"), "de", "fr")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("&File", "File"),
        ("保存(&S)", "保存"),
        ("保存 (&S)...", "保存..."),
        ("R&D && more", "RD & more"),
        ("a &lt; b", "a &lt; b"),
        ("Q & A", "Q & A"),
    ],
)
def test_accelerators(text: str, plain: str) -> None:
    assert without_accelerator(text, "&") == plain


def test_other_marks() -> None:
    assert without_accelerator("_File as_is", "_") == "File asis"
    assert without_tags("<b>bold</b><br/>a &lt; b") == "bold a < b"
    assert without_colours("<color_red>You</color>, <npcname>") == "You, <npcname>"
    assert without_links("see [the docs]({url}) now") == "see the docs now"
    assert count_tokens("Not found.") == 3


def test_wesnoth_prefixes_and_names_in_tags(tmp_path: Path) -> None:
    members = {
        "usr/share/locale/de/LC_MESSAGES/x.mo": mo({"female^Grey elvish archer <npcname>": "Bogenschützin <npcname>"})
    }
    options = GettextMoReader(name="gettext-mo", accelerator="", tags_are_names=True, context_prefix=True)
    assert pairs(tmp_path, members, options) == [("Grey elvish archer <npcname>", "Bogenschützin <npcname>")]


def home(component: str, lang: str, value: Any) -> dict[str, bytes]:
    return {f"{HOME}{component}/translations/{lang}.json": json.dumps(value).encode()}


def test_homeassistant_is_joined_on_its_keys(tmp_path: Path) -> None:
    english = {"config": {"a": "Check the [manual]({url}) first", "b": "Off", "c": "[%key:common::x%]"}, "n": [1]}
    german = {"config": {"c": "irgend etwas anderes", "a": "Zuerst das [Handbuch]({url}) lesen", "b": "Aus"}}
    members = home("sun", "en", english) | home("sun", "de", german) | home("moon", "en", english)
    options = HomeassistantReader(name="homeassistant")
    assert pairs(tmp_path, members, options) == [("Check the manual first", "Zuerst das Handbuch lesen")]
    assert len(pairs(tmp_path, members, HomeassistantReader(name="homeassistant", min_tokens=1), "de", "en")) == 2


def test_homeassistant_says_what_is_missing_or_broken(tmp_path: Path) -> None:
    options = HomeassistantReader(name="homeassistant")
    with pytest.raises(DataError, match=r"no component has both en\.json and zh-Hans\.json"):
        pairs(tmp_path, home("sun", "en", {}), options, "en", "zh")
    broken = home("sun", "en", {}) | {f"{HOME}sun/translations/de.json": b"{"}
    with pytest.raises(DataError, match=r"sun/translations/de\.json: not JSON"):
        pairs(tmp_path, broken, options)


@given(
    data=st.one_of(
        st.binary(max_size=200), st.binary(max_size=100).map(lambda tail: mo({"abc d e": "x y"})[:40] + tail)
    )
)
def test_any_bytes_give_pairs_or_a_clear_line(data: bytes) -> None:
    for members, options in (
        ({"usr/share/locale/de/LC_MESSAGES/x.mo": data}, GettextMoReader(name="gettext-mo")),
        (
            home("sun", "en", {"a": "b"}) | {f"{HOME}sun/translations/de.json": data},
            HomeassistantReader(name="homeassistant"),
        ),
    ):
        gives_pairs_or_says_why(members, 7, options, "en", "de", names_archive=False)


CATALOGUE = r"""
# a comment
msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\n"

#. for translators
#: place.py:1
msgctxt "model:name:A00"
msgid "Cholera"
msgstr "Choléra"

#, fuzzy, c-format
msgid "guess"
msgstr "conjecture"

msgid ""
"first line\n"
"and \"second\"\tline \\ end"
msgstr ""
"première ligne\n"
"et \"deuxième\"\tligne \\ fin"
msgid "no blank line before"
msgstr "sans ligne vide"

#~ msgid "old"
#~ msgstr "vieux"

msgid "one file"
msgid_plural "%d files"
msgstr[0] "un fichier"
msgstr[1] "%d fichiers"

msgid "octal \101 and hex \x42"
msgstr ""
"""


def entries():
    return list(read_po(CATALOGUE.split("\n"), "fr.po"))


def test_entries_come_in_order_without_header_and_obsolete_ones() -> None:
    assert [entry.msgid for entry in entries()] == [
        "Cholera",
        "guess",
        'first line\nand "second"\tline \\ end',
        "no blank line before",
        "one file",
        "octal A and hex B",
    ]


def test_context_flags_plurals_and_strings_over_several_lines() -> None:
    first, guess, long, _, plural, untranslated = entries()
    assert (first.msgstr, first.fuzzy) == (("Choléra",), False)
    assert guess.fuzzy
    assert not long.fuzzy
    assert long.msgstr[0] == 'première ligne\net "deuxième"\tligne \\ fin'
    assert plural.msgid_plural == "%d files"
    assert plural.msgstr == ("un fichier", "%d fichiers")
    assert untranslated.msgstr == ("",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('msgid "a"\nmsgstr "b', 2),
        ('msgid "a"\nmessage "b"', 2),
        ('"a"', 1),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"', 2),
        ('msgid "a" b"\nmsgstr "c"', 1),
    ],
)
def test_a_malformed_line_is_named(text: str, line: int) -> None:
    with pytest.raises(DataError, match=rf"^fr\.po:{line}: "):
        list(read_po(text.split("\n"), "fr.po"))


def test_escaped_bytes_are_utf_8_text() -> None:
    (entry,) = read_po(['msgid "cafe"', r'msgstr "caf\303\251 \xe4\xb8\xad \\303 \101"'], "fr.po")
    assert entry.msgstr[0] == "café 中 \\303 A"
    with pytest.raises(DataError, match=r"^fr\.po:2: \\303 is not UTF-8; expected the bytes of whole characters$"):
        list(read_po(['msgid "cafe"', r'msgstr "caf\303 "'], "fr.po"))
