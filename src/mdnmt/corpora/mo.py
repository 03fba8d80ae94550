"""Read compiled gettext catalogues (.mo): context, message and translations, without the library's evaluation."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from mdnmt.errors import DataError

_MAGIC = 0x950412DE
_HEADER = 20  # magic, revision, number of messages, offsets of the two tables


@dataclass(frozen=True)
class MoEntry:
    """One message; `msgstr` has one text, or one for each plural form."""

    msgid: str
    msgctxt: str | None
    msgid_plural: str | None
    msgstr: tuple[str, ...]


def read_mo(data: bytes, where: str) -> Iterator[MoEntry]:
    """Yield the messages of a catalogue in its order, without the header.

    Args:
        data: the file.
        where: its name, for errors.

    Raises:
        DataError: it is no .mo file, an offset points outside of it, or a text is not UTF-8.
    """
    if len(data) < _HEADER:
        raise DataError(f"{where}: {len(data)} bytes are no .mo file")
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
        if read > len(data):  # texts that overlap: a small file could unfold to any size
            raise DataError(f"{where}: its messages are longer than the file itself")
        if not msgid:
            continue
        context, mark, message = msgid.rpartition("\x04")
        singular, zero, plural = message.partition("\0")
        yield MoEntry(singular, context if mark else None, plural if zero else None, tuple(msgstr.split("\0")))


def _text(data: bytes, order: str, place: int, where: str) -> str:
    length, offset = struct.unpack_from(f"{order}2I", data, place)
    if offset + length > len(data):
        raise DataError(f"{where}: its text reaches beyond the end of the file")
    try:
        return data[offset : offset + length].decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: byte {error.start} is not UTF-8") from None
