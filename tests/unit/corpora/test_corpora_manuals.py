"""Readers of LibreOffice's manual and of Debian's package descriptions, and the download of the latter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reader_archives import gives_pairs_or_says_why, zipped

from mdnmt.config.corpus_reader import DdtpReader, LibreofficeHelpReader
from mdnmt.config.corpus_source import AptListSource
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.corpora.providers import package_clients
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError, FetchError

HELP = "usr/share/libreoffice/help/"
OFFICE = LibreofficeHelpReader(name="libreoffice-help", min_tokens=2)
DDTP = DdtpReader(name="ddtp")


def page(body: str) -> bytes:
    return (
        "<!DOCTYPE html><html><head><title>no</title></head><body><p>outside</p>"
        f'<div id="DisplayArea"><a name="x"></a>{body}</div><p>outside</p></body></html>'
    ).encode()


def office(folder: Path, english: dict[str, bytes], german: dict[str, bytes], options: Any = OFFICE) -> list[Any]:
    paths = [
        zipped(folder / f"{lang}.zip", {f"{HELP}{lang}/text/{name}": data for name, data in pages.items()})
        for lang, pages in (("en-US", english), ("de", german))
    ]
    with open_files(paths, 10_000_000) as opened:
        return list(reader(options.name).read(opened, "en", "de", options))


def test_elements_are_joined_by_position(tmp_path: Path) -> None:
    english = page('<h1 id="h">The <b>title</b> here</h1><div><p>One<br>two &amp; three</p></div><p id="z">short</p>')
    german = page('<h1 id="h">Der <b>Titel</b> hier</h1><div><p>Eins<br>zwei &amp; drei</p></div><p id="z">kurz</p>')
    found = office(tmp_path, {"a.html": english, "only.html": english}, {"a.html": german})
    assert found == [("The title here", "Der Titel hier"), ("One two & three", "Eins zwei & drei")]


def test_the_wording_for_another_system_is_left_out(tmp_path: Path) -> None:
    switch = '<span class="switchinline"><span hidden="true" class="MAC"><b>Command</b></span><span>Ctrl</span></span>'
    english, german = page(f"<p>Press {switch} now</p>"), page("<p>Taste Strg</p>")
    assert office(tmp_path, {"a.html": english}, {"a.html": german}) == [("Press Ctrl now", "Taste Strg")]


def test_pages_that_differ_are_joined_by_the_names_of_their_elements(tmp_path: Path) -> None:
    english = page('<p id="a">first one</p><p>unnamed one</p><p id="b">second one</p>')
    german = page('<p id="b">der zweite</p><p id="a">der erste</p>')
    found = office(tmp_path, {"a.html": english}, {"a.html": german})
    assert found == [("first one", "der erste"), ("second one", "der zweite")]


def test_a_manual_without_pages_or_in_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no page usr/share/libreoffice/help/de/text"):
        office(tmp_path, {"a.html": page("")}, {})
    with pytest.raises(DataError, match=r"de/text/a\.html: byte \d+ is not UTF-8"):
        office(tmp_path, {"a.html": page("")}, {"a.html": b"\xff"})


def descriptions(folder: Path, english: bytes, french: bytes, source: str = "en", target: str = "fr") -> list[Any]:
    for lang, data in (("en", english), ("fr", french)):
        (folder / f"Translation-{lang}").write_bytes(data)
    with open_files([folder / "Translation-en", folder / "Translation-fr"], 10_000_000) as opened:
        return list(reader("ddtp").read(opened, source, target, DDTP))


def stanza(lang: str, key: str, *paragraphs: str) -> str:
    long = "\n .\n".join(" " + text.replace("\n", "\n ") for text in paragraphs[1:])
    return f"Package: x\nDescription-md5: {key}\nDescription-{lang}: {paragraphs[0]}\n{long}\n\n"


def test_paragraphs_of_the_same_description_are_joined(tmp_path: Path) -> None:
    english = (
        stanza("en", "1", "a game", "One line\nand another.", "More.")
        + stanza("en", "2", "b", "B")
        + stanza("en", "3", "c", "C")
    )
    french = stanza("fr", "3", "c'", "C'", "de trop") + stanza("fr", "1", "un jeu", "Une ligne.", "Encore.")
    expected = [("a game", "un jeu"), ("One line and another.", "Une ligne."), ("More.", "Encore.")]
    assert descriptions(tmp_path, english.encode(), french.encode()) == expected
    swapped = descriptions(tmp_path, english.encode(), french.encode(), "fr", "en")
    assert swapped == [(pair[1], pair[0]) for pair in expected]


def test_a_last_stanza_without_a_blank_line_counts(tmp_path: Path) -> None:
    english, french = stanza("en", "1", "a", "A").rstrip(), stanza("fr", "1", "b", "B").rstrip()
    assert descriptions(tmp_path, english.encode(), french.encode()) == [("a", "b"), ("A", "B")]


def test_what_is_no_list_of_descriptions_is_refused(tmp_path: Path) -> None:
    good = stanza("en", "1", "a", "A").encode()
    with pytest.raises(DataError, match=r"Translation-fr:2: '<html>' is not a line"):
        descriptions(tmp_path, good, b"\n<html>\n")
    with pytest.raises(DataError, match=r"Translation-fr.*:1: the byte 0xff is not UTF-8"):
        descriptions(tmp_path, good, b"\xff\n")
    with pytest.raises(DataError, match="has no file Translation-de"):
        descriptions(tmp_path, good, good, "en", "de")


@given(
    data=st.one_of(
        st.binary(max_size=200), st.text(alphabet="<>/=\"'!-[]&; \npdivhDspaay", max_size=200).map(str.encode)
    )
)
def test_any_bytes_give_pairs_or_a_clear_line(data: bytes) -> None:
    english, german = (f"{lang}.zip/{HELP}{lang}/text/a.html" for lang in ("en-US", "de"))
    pages = {english: page("<p>a b c</p>"), german: b'<div id="DisplayArea">' + data}
    gives_pairs_or_says_why(pages, 7, OFFICE, "en", "de", names_archive=False)
    for french in (data, b"Description-md5: 1\nDescription-fr: " + data):
        lists = {"Translation-en": stanza("en", "1", "a", "A").encode(), "Translation-fr": french}
        gives_pairs_or_says_why(lists, 7, DDTP, "en", "fr", names_archive=False)


def test_apt_brings_the_list_of_the_release_into_lists_of_its_own(tmp_path: Path, monkeypatch: Any) -> None:
    asked: list[str] = []

    def client(command: list[str], what: str, folder: Path | None = None) -> None:
        asked.extend(command)
        lists = Path(next(word for word in command if word.startswith("Dir::State::lists=")).partition("=")[2])
        for suite in ("bookworm", "bookworm-updates", "bookworm-security"):
            (lists / f"host_debian_dists_{suite}_main_i18n_Translation-fr").write_text(suite)

    monkeypatch.setattr(package_clients, "_run", client)
    source = AptListSource(provider="apt-list", list="Translation-fr")
    assert package_clients.download(source, tmp_path) == "Translation-fr of bookworm"
    assert [path.name for path in tmp_path.iterdir()] == ["Translation-fr"]
    assert (tmp_path / "Translation-fr").read_text() == "bookworm"
    assert asked[:2] == ["apt-get", "update"]
    assert "Acquire::Languages=fr" in asked

    monkeypatch.setattr(package_clients, "_run", lambda *_: None)
    with pytest.raises(FetchError, match="expected the list of one release, apt-get brought none"):
        package_clients.download(source, tmp_path)
