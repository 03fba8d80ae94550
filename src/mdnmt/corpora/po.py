"""Read gettext catalogues (.po): entries with their context, flags and translations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mdnmt.errors import DataError

_KEYWORD = re.compile(r'^(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s*(".*")$')
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass
class PoEntry:
    """One message: `msgstr` has one text, or one for each plural form."""

    msgid: str = ""
    msgctxt: str | None = None
    msgid_plural: str | None = None
    msgstr: dict[int, str] = field(default_factory=dict)
    fuzzy: bool = False
    # Which fields were seen; the header is the entry whose msgid is empty.
    seen: set[str] = field(default_factory=set)


def _unquote(quoted: str, where: str) -> str:
    if len(quoted) < 2 or not quoted.endswith('"') or re.search(r'(?<!\\)(?:\\\\)*"', quoted[1:-1]):
        raise DataError(f"{where}: {quoted[:40]!r} is no string in quotes")

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] in "01234567":
            return chr(int(code, 8))
        return _CHARACTERS.get(code, code)

    return _ESCAPE.sub(character, quoted[1:-1])


def read_po(lines: Iterable[str], where: str) -> Iterator[PoEntry]:
    """Yield the entries of a catalogue in order; obsolete ones (`#~`) and the header are left out.

    Args:
        lines: the file's lines.
        where: the file's name, for errors.

    Raises:
        DataError: a line is neither a comment, a keyword with a string, nor a string; the line is named.
    """
    entry, target = PoEntry(), ""
    for number, raw in enumerate(lines, start=1):
        line, place = raw.strip(), f"{where}:{number}"
        if line.startswith("#~"):
            continue
        if line.startswith("#") or not line:
            if entry.msgstr:
                yield from _finished(entry)
                entry, target = PoEntry(), ""
            if line.startswith("#,"):
                entry.fuzzy |= "fuzzy" in re.split(r"[,\s]+", line[2:])
            continue
        if line.startswith('"'):
            if not target:
                raise DataError(f"{place}: a string without a keyword before it")
            _append(entry, target, _unquote(line, place))
            continue
        match = _KEYWORD.match(line)
        if not match:
            raise DataError(f"{place}: {line[:40]!r} is no line of a .po file")
        target = match[1]
        if entry.msgstr and not target.startswith("msgstr"):  # a new message without a blank line before it
            yield from _finished(entry)
            entry = PoEntry()
        if target in entry.seen:
            raise DataError(f"{place}: {target} stands twice in one entry")
        entry.seen.add(target)
        _append(entry, target, _unquote(match[3], place))
    yield from _finished(entry)


def _finished(entry: PoEntry) -> Iterator[PoEntry]:
    if entry.msgid and entry.msgstr:
        yield entry


def _append(entry: PoEntry, target: str, text: str) -> None:
    if target == "msgid":
        entry.msgid += text
    elif target == "msgctxt":
        entry.msgctxt = (entry.msgctxt or "") + text
    elif target == "msgid_plural":
        entry.msgid_plural = (entry.msgid_plural or "") + text
    else:
        form = int(target[7:-1]) if "[" in target else 0
        entry.msgstr[form] = entry.msgstr.get(form, "") + text
