"""Read a large JSON object or array value by value."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any

from mdnmt.errors import DataError

# A longer entry is not a plausible segment, and it would be kept in memory as a whole.
ENTRY_CHARACTERS_MAX = 1 << 24
_BLANKS = " \t\n\r"
_BEHIND_A_VALUE = frozenset(f"{_BLANKS},:]}}")


def entries(blocks: Iterable[bytes], where: str) -> Iterator[Any]:
    """Yield the values of an object or an array in order, with only one of them in memory.

    Args:
        blocks: the document, in blocks of any size.
        where: its name, for messages.

    Raises:
        DataError: it is not JSON, not an object or array, or has an entry longer than `ENTRY_CHARACTERS_MAX`.
    """
    document = _Document(blocks, where)
    opening = document.sign()
    if opening not in ("{", "["):
        raise document.error("expected an object or an array")
    closing = "}" if opening == "{" else "]"
    following = document.sign() if document.next() == closing else ","
    while following == ",":
        if opening == "{" and (not isinstance(document.value(), str) or document.sign() != ":"):
            raise document.error("expected a name and a colon")
        yield document.value()
        following = document.sign()
    if following != closing or document.next():
        raise document.error(f"expected {closing!r} and nothing after it")


class _Document:
    """The unread text of a document that has been loaded so far: it grows by blocks, and read text is dropped."""

    def __init__(self, blocks: Iterable[bytes], where: str) -> None:
        self._blocks, self._where = iter(blocks), where
        self._decoder, self._json = codecs.getincrementaldecoder("utf-8-sig")(), json.JSONDecoder()
        self._text, self._at, self._ended = "", 0, False

    def error(self, said: str) -> DataError:
        return DataError(f"{self._where}: not JSON ({said})")

    def next(self) -> str:
        """Return the next character that is not a space, without taking it; nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._grow()

    def sign(self) -> str:
        """Take the next character that is not a space."""
        found = self.next()
        self._at += len(found)
        return found

    def value(self) -> Any:
        """Take a value."""
        self.next()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
                # A number may continue in the next block, even after a decimal point.
                if self._ended or self._text[end : end + 1] in _BEHIND_A_VALUE:
                    self._at = end
                    return value
            except ValueError as error:
                if self._ended:
                    raise self.error(str(error)) from None
            except RecursionError:
                raise self.error("nested too deep") from None
            self._grow()
            if len(self._text) > ENTRY_CHARACTERS_MAX:
                raise self.error(f"or an entry of more than {ENTRY_CHARACTERS_MAX} characters")

    def _grow(self) -> None:
        """At least double the unread text, so that a long entry is not parsed again for every block."""
        parts, wanted = [self._text[self._at :]], len(self._text) - self._at
        while wanted >= 0 and not self._ended:
            block = next(self._blocks, None)
            self._ended = block is None
            try:
                parts.append(self._decoder.decode(block or b"", final=self._ended))
            except UnicodeDecodeError:
                raise self.error("a byte that is not UTF-8") from None
            wanted -= len(parts[-1])
        self._text, self._at = "".join(parts), 0
