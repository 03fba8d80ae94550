"""Read gettext catalogues, as text (.po) and compiled (.mo): messages with their flags and translations."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from mdnmt.errors import DataError

_KEYWORD = re.compile(r'^(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*(".*")$')
# Adjacent escaped bytes are UTF-8 text: `\303\251` is one character.
_BYTES = r"(?:\\(?:x[0-9A-Fa-f]{1,2}|[0-3]?[0-7]{1,2}))+"
_BYTE = re.compile(r"\\(?:x([0-9A-Fa-f]+)|([0-7]+))")
_ESCAPE = re.compile(rf"({_BYTES})|\\(.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Message(NamedTuple):
    """One message; `msgstr` has one text, or one for each plural form."""

    msgid: str
    msgid_plural: str | None
    msgstr: tuple[str, ...]
    fuzzy: bool = False


def _unquote(quoted: str, where: str) -> str:
    if len(quoted) < 2 or not quoted.endswith('"') or re.search(r'(?<!\\)(?:\\\\)*"', quoted[1:-1]):
        raise DataError(f"{where}: {quoted[:40]!r} is not a quoted string")

    def character(match: re.Match[str]) -> str:
        if match[1] is None:
            return _CHARACTERS.get(match[2], match[2])
        found = _BYTE.findall(match[1])
        try:
            return bytes(int(code, 16) if code else int(octal, 8) for code, octal in found).decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{where}: {match[1][:40]} is not UTF-8; expected the bytes of whole characters") from None

    return _ESCAPE.sub(character, quoted[1:-1])


def read_po(lines: Iterable[str], where: str) -> Iterator[Message]:
    """Yield the messages of a catalogue in order; obsolete ones (`#~`) and the header are left out.

    Args:
        lines: the file's lines.
        where: the file's name, for errors.

    Raises:
        DataError: a line is not a comment, a keyword with a string, or a string; the message names the line.
    """
    fields: dict[str, str] = {}  # keyword -> its text
    keyword, fuzzy = "", False
    for number, raw in enumerate(lines, start=1):
        line, place = raw.strip(), f"{where}:{number}"
        if line.startswith("#~"):
            continue
        is_translated = any(name.startswith("msgstr") for name in fields)
        if line.startswith("#") or not line:
            if is_translated:
                yield from _finished(fields, fuzzy)
                fields, keyword, fuzzy = {}, "", False
            if line.startswith("#,"):
                fuzzy |= "fuzzy" in re.split(r"[,\s]+", line[2:])
            continue
        quoted = line
        if not line.startswith('"'):
            match = _KEYWORD.match(line)
            if not match:
                raise DataError(f"{place}: {line[:40]!r} is not a line of a .po file")
            keyword, quoted = match[1], match[2]
            if is_translated and not keyword.startswith("msgstr"):  # a new message without a blank line before it
                yield from _finished(fields, fuzzy)
                fields, fuzzy = {}, False
            if keyword in fields:
                raise DataError(f"{place}: {keyword} occurs twice in one entry")
        elif not keyword:
            raise DataError(f"{place}: a string without a keyword before it")
        fields[keyword] = fields.get(keyword, "") + _unquote(quoted, place)
    yield from _finished(fields, fuzzy)


def _finished(fields: Mapping[str, str], fuzzy: bool) -> Iterator[Message]:
    texts = tuple(text for name, text in fields.items() if name.startswith("msgstr"))
    if fields.get("msgid") and texts:  # the header is the entry whose msgid is empty
        yield Message(fields["msgid"], fields.get("msgid_plural"), texts, fuzzy)


_MAGIC = 0x950412DE
_HEADER = 20  # magic, revision, number of messages, offsets of the two tables


def read_mo(data: bytes, where: str) -> Iterator[Message]:
    """Yield the messages of a catalogue in its order, without the header.

    Args:
        data: the file.
        where: its name, for errors.

    Raises:
        DataError: it is not a .mo file, an offset points outside of it, or a text is not UTF-8.
    """
    if len(data) < _HEADER:
        raise DataError(f"{where}: {len(data)} bytes are not a .mo file")
    order = next((sign for sign in "<>" if struct.unpack_from(f"{sign}I", data)[0] == _MAGIC), None)
    if order is None:
        raise DataError(f"{where}: does not begin as a .mo file does")
    revision, count, ids, texts = struct.unpack_from(f"{order}4I", data, 4)
    if revision >> 16 > 1:
        raise DataError(f"{where}: .mo revision {revision >> 16}, expected 0 or 1")
    if max(ids, texts) + 8 * count > len(data):
        raise DataError(f"{where}: its tables of {count} messages reach beyond its end")
    read = 0
    for index in range(count):
        msgid, msgstr = (
            _text(data, order, table + 8 * index, f"{where}:message {index + 1}") for table in (ids, texts)
        )
        read += len(msgid) + len(msgstr)
        if read > len(data):  # overlapping texts: a small file could expand to any size
            raise DataError(f"{where}: its messages are longer than the file itself")
        if not msgid:
            continue
        singular, zero, plural = msgid.rpartition("\x04")[2].partition("\0")  # without its context
        yield Message(singular, plural if zero else None, tuple(msgstr.split("\0")))


def _text(data: bytes, order: str, place: int, where: str) -> str:
    length, offset = struct.unpack_from(f"{order}2I", data, place)
    if offset + length > len(data):
        raise DataError(f"{where}: its text reaches beyond the end of the file")
    try:
        return data[offset : offset + length].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: byte {error.start} is not UTF-8") from None
