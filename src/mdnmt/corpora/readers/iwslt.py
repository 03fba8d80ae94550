"""Read IWSLT's archives: `train.tags.<pair>.<lang>`, text and tag lines, and `IWSLT*.<set>.<pair>.<lang>.xml`.

A line of talks that begins with an unknown tag is read as text, and a bare `&` in XML as an ampersand. How often that
happened is printed on standard error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from mdnmt.config.corpus_reader import IwsltReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import one_member, pair_pattern
from mdnmt.corpora.formats.lines import lines, place
from mdnmt.corpora.formats.xml_text import Event, events
from mdnmt.errors import DataError

_TITLES = ("title", "description")
# A `&` that begins no entity, and what may be the beginning of one at the end of a block.
_BARE_AMPERSAND = re.compile(rb"&(?!#\d+;|#[xX][0-9A-Fa-f]+;|[A-Za-z_][\w.-]*;)")
_ENTITY_BYTES_MAX = 32
_OPENING = re.compile(r"\s*</?([A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*)?/?>")
# (line number, what it is: "text", "title" or "description", its text)
Line = tuple[int, str, str]


def read(archive: Archive, source_lang: str, target_lang: str, options: IwsltReader) -> Iterator[tuple[str, str]]:
    """Yield the training lines in step, without tag lines; titles and descriptions only if the options ask for them.

    One side may have tag lines that the other lacks; all other lines must be in step.

    Raises:
        DataError: a member is missing, or the sides do not go together.
    """
    pair = pair_pattern(source_lang, target_lang)
    names = [
        one_member(archive, rf"train\.tags\.{pair}\.{lang}", f"train.tags.{source_lang}-{target_lang}.{lang}")
        for lang in (source_lang, target_lang)
    ]
    source, target = (_text_lines(archive, name, options) for name in names)
    where = [place(archive, name) for name in names]
    for one, other in zip_longest(source, target):
        if one is None or other is None:
            number, longer = (one[0], where[0]) if one else (other[0] if other else 0, where[1])
            raise DataError(
                f"{longer}:{number}: has no counterpart, the other side has ended; the two do not go together"
            )
        if one[1] != other[1]:
            said = f"{where[0]}:{one[0]}: a line of {one[1]} beside a line of {other[1]}, {where[1]}:{other[0]}"
            raise DataError(f"{said}; the two do not go together")
        if one[1] == "text" or options.titles:
            yield one[2], other[2]


def _text_lines(archive: Archive, name: str, options: IwsltReader) -> Iterator[Line]:
    unknown: dict[str, list[int]] = {}  # tag -> its lines
    for number, line in enumerate(lines(archive, name), start=1):
        opening = _OPENING.match(line)
        tag = opening[1].lower() if opening else ""
        if tag in _TITLES:
            yield number, tag, _within(line, tag, f"{place(archive, name)}:{number}")
        elif tag not in options.dropped:
            if tag:
                unknown.setdefault(tag, []).append(number)
            yield number, "text", line
    for tag, found in unknown.items():
        said = f"lines that begin with the unknown tag <{tag}>: {len(found)}, read as text, the first is {found[0]}"
        print(f"{place(archive, name)}: {said}; if they are none, add `{tag}` to `dropped`", file=sys.stderr)


def _within(line: str, tag: str, where: str) -> str:
    found = re.fullmatch(rf"\s*<{tag}\b[^<>]*>(.*)</{tag}\s*>\s*", line, re.IGNORECASE | re.DOTALL)
    if found is None:
        raise DataError(f"{where}: the tag <{tag}> is not closed at the end of its line")
    return found[1].strip()


def held_out(
    archive: Archive, split: str, source_lang: str, target_lang: str, options: IwsltReader
) -> Iterator[tuple[str, str]] | None:
    """Return the segments of the sets that the options join for `valid` or `test`; None if they name none.

    Raises:
        DataError: a set is missing, is not well-formed, or its sides have different segments.
    """
    sets = options.valid if split == "valid" else options.test
    if not sets:
        return None
    return (found for name in sets for found in _set(archive, name, source_lang, target_lang))


def _set(archive: Archive, name: str, source_lang: str, target_lang: str) -> Iterator[tuple[str, str]]:
    pair, shown = pair_pattern(source_lang, target_lang), f"{source_lang}-{target_lang}"
    # `dev2012` finds IWSLT14.TEDX.dev2012.de-en.de.xml; if TED has that set too, write `TEDX.dev2012`.
    members = [
        one_member(archive, rf"[^/]+\.{re.escape(name)}\.{pair}\.{lang}\.xml", f"*.{name}.{shown}.{lang}.xml")
        for lang in (source_lang, target_lang)
    ]
    source, target = (_segments(archive, member) for member in members)
    where = [place(archive, member) for member in members]
    count = 0
    for one, other in zip_longest(source, target):
        left, right = (event.attributes.get("id") if event else None for event in (one, other))
        if one is None or other is None or left != right:
            lines_at = (f"{at}:{event.line if event else 'end'}" for at, event in zip(where, (one, other), strict=True))
            said = f"{' against '.join(lines_at)}: segment {left!r} beside {right!r}"
            raise DataError(f"{said}; both need the same segments")
        count += 1
        yield one.text.strip(), other.text.strip()
    if not count:
        raise DataError(f"{where[0]}: has no <seg>; expected a set of segments")


def _segments(archive: Archive, member: str) -> Iterator[Event]:
    text = _Escaped(archive.blocks(member))
    yield from (event for event in events(text, place(archive, member), gathered="seg") if event.kind == "text")
    if text.count:
        print(f"{place(archive, member)}: {text.count} bare `&` were read as `&amp;`", file=sys.stderr)


class _Escaped:
    """The blocks of an XML document with `&amp;` for each bare `&`, and their number."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks, self.count = blocks, 0

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        for block in self._blocks:
            data, rest = rest + block, b""
            begin = data.rfind(b"&", max(0, len(data) - _ENTITY_BYTES_MAX))
            if begin >= 0 and b";" not in data[begin:]:
                data, rest = data[:begin], data[begin:]
            yield self._escape(data)
        yield self._escape(rest)

    def _escape(self, data: bytes) -> bytes:
        text, count = _BARE_AMPERSAND.subn(b"&amp;", data)
        self.count += count
        return text
