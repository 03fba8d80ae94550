"""Read libreoffice-help-*: the office manual, one page per topic, its elements joined by position or by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from mdnmt.config.corpus_reader import LibreofficeHelpReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_text
from mdnmt.corpora.formats.interface_text import count_tokens
from mdnmt.errors import DataError

_FOLDERS = {"en": "en-US", "zh": "zh-CN"}
_BLOCKS = {"p", "h1", "h2", "h3", "h4", "h5", "h6"}
_VOID = {"img", "br", "input", "meta", "link", "hr", "col", "source"}
_SYSTEMS = {"MAC", "UNIX", "WIN"}  # wording for one operating system; only the general wording is read

Element = tuple[str, str]  # its name (the tag if it has none) and its text


def read(
    archive: Archive, source_lang: str, target_lang: str, options: LibreofficeHelpReader
) -> Iterator[tuple[str, str]]:
    """Yield headings and paragraphs of the pages that both languages have.

    Raises:
        DataError: a language has no page, or a page is not UTF-8.
    """
    source, target = (_pages(archive, lang) for lang in (source_lang, target_lang))
    targets = {page: _elements(archive, name) for page, name in target.items() if page in source}
    for page, name in source.items():
        if page in targets:
            for pair in _joined(_elements(archive, name), targets.pop(page)):
                # The length of the English side decides in both directions; without English, that of the source.
                if count_tokens(pair[target_lang == "en"]) >= options.min_tokens:
                    yield pair


def _joined(source: list[Element], target: list[Element]) -> Iterator[tuple[str, str]]:
    if [name for name, _ in source] == [name for name, _ in target]:
        yield from ((text, other) for (_, text), (_, other) in zip(source, target, strict=True))
        return
    others = {name: text for name, text in target if name not in _BLOCKS}
    yield from ((text, others[name]) for name, text in source if name in others)


def _pages(archive: Archive, lang: str) -> dict[str, str]:
    """Return topic -> member of a language, in the archive's order, which is fastest for a compressed archive."""
    folder = _FOLDERS.get(lang, lang)
    pattern = re.compile(rf"(?:^|/)usr/share/libreoffice/help/{re.escape(folder)}/(text/.+\.html)$")
    found = {match[1]: name for name in archive.names() if (match := pattern.search(name))}
    if not found:
        raise DataError(f"{archive.label}: has no page usr/share/libreoffice/help/{folder}/text/**.html")
    return found


def _elements(archive: Archive, name: str) -> list[Element]:
    page, text = _Page(), read_text(archive, name)
    try:
        page.feed(text)
        page.close()
    except AssertionError as error:  # raised by html.parser for a broken declaration
        raise DataError(f"{archive.label}:{name}: not HTML ({error})") from None
    return page.elements


class _Page(HTMLParser):
    """Collects the text of the blocks in the display area."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._depth = 0  # depth in the display area; 0: outside
        self._block: tuple[str, str] | None = None
        self._text: list[str] = []
        self._hidden = 0  # depth at which a passage for one operating system began; 0: none

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in _VOID:
            if tag == "br":
                self._text.append(" ")
            return
        if self._depth:
            self._depth += 1
        elif tag == "div" and values.get("id") == "DisplayArea":
            self._depth = 1
        if not self._depth:
            return
        if tag in _BLOCKS:
            self._block, self._text = (tag, values.get("id") or tag), []
        elif not self._hidden and values.get("class") in _SYSTEMS:
            self._hidden = self._depth

    def handle_endtag(self, tag: str) -> None:
        if not self._depth or tag in _VOID:
            return
        if self._block is not None and tag == self._block[0]:
            self.elements.append((self._block[1], "".join(self._text)))
            self._block = None
        if self._hidden and self._depth <= self._hidden:
            self._hidden = 0
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._block is not None and not self._hidden:
            self._text.append(data)
