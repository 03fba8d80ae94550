from __future__ import annotations

import pytest

from mdnmt.corpora.formats.gettext import read_po
from mdnmt.errors import DataError

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
    assert (first.msgctxt, first.msgstr[0], first.fuzzy) == ("model:name:A00", "Choléra", False)
    assert guess.fuzzy
    assert not long.fuzzy
    assert long.msgstr[0] == 'première ligne\net "deuxième"\tligne \\ fin'
    assert plural.msgid_plural == "%d files"
    assert plural.msgstr == {0: "un fichier", 1: "%d fichiers"}
    assert untranslated.msgstr == {0: ""}


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
