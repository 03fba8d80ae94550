"""Read XML block by block: yield elements as they come, with the collected text of one kind of element.

Nothing that a document declares is expanded or fetched. A document that declares entities is refused, and so is one
whose text, tags or nesting exceed a limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Literal, NamedTuple
from xml.parsers import expat

from mdnmt.corpora.formats.inline_codes import Code, without_codes
from mdnmt.errors import DataError

TEXT_CHARACTERS_MAX = 1 << 20
_TOKEN_BYTES_MAX = 1 << 21
_DEPTH_MAX = 100
_HEAD_BYTES = 200
_SAYS_UTF_16 = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=[\"']utf-?16", re.IGNORECASE)
_NATIVE_CHARACTERS = 200  # of a formatting code; its beginning says what it is


class Event(NamedTuple):
    """An element's start or end, or the text of a gathered element at its end."""

    kind: Literal["start", "end", "text"]
    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""


def events(
    blocks: Iterable[bytes],
    where: str,
    gathered: str | Collection[str],
    dropped: frozenset[str] = frozenset(),
    joins_words: bool = True,
) -> Iterator[Event]:
    """Yield the events of an XML document in order.

    Args:
        blocks: the document, in blocks of any size.
        where: its name, for messages.
        gathered: the element (or elements) whose text is wanted. It yields one event at its end; elements within it
            yield none.
        dropped: elements within the gathered one whose content is left out of the text.
        joins_words: leave out elements within the gathered one without a trace; False: leave a blank where the words
            beside an element are two words (see `inline_codes`).

    Raises:
        DataError: it is not well-formed, declares entities, or exceeds a limit; the message names file and line.
    """
    names = frozenset([gathered] if isinstance(gathered, str) else gathered)
    left, head = iter(blocks), b""
    while len(head) < _HEAD_BYTES and (block := next(left, b"")):
        head += block
    handlers = _Handlers(where, names, dropped, joins_words, _encoding(head))
    parser = handlers.parser
    try:
        fed = 0
        for block in chain([head], left):
            parser.Parse(block, False)
            fed += len(block)
            # expat buffers a tag until its end has been read.
            if fed - max(0, parser.CurrentByteIndex) > _TOKEN_BYTES_MAX + len(block):
                raise handlers.error(f"a tag of more than {_TOKEN_BYTES_MAX} bytes")
            yield from handlers.take_events()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{where}:{error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})") from None
    except (ValueError, LookupError) as error:
        raise handlers.error(f"an encoding that cannot be read ({error})") from None
    yield from handlers.take_events()


def _encoding(head: bytes) -> str | None:
    """Return the encoding that a document's first bytes show, if it may declare another one; None: what it declares.

    Programs that convert a document between UTF-8 and UTF-16 often leave its declaration as it was.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    return "UTF-8" if _SAYS_UTF_16.match(head) else None


class _Handlers:
    """The handlers that expat calls, and the events since the last `take_events`."""

    def __init__(
        self, where: str, gathered: frozenset[str], dropped: frozenset[str], joins_words: bool, encoding: str | None
    ) -> None:
        self.where, self.gathered, self.dropped, self.joins_words = where, gathered, dropped, joins_words
        self.parser = parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = lambda *declared: self.refuse_entity(declared[0])
        parser.SkippedEntityHandler = lambda name, is_parameter: self.refuse_entity(name)
        self.found: list[Event] = []
        self.depth = 0
        self.gathered_depth = 0  # how deep within the gathered element; 0: outside
        self.dropped_depth = 0  # likewise within a dropped element
        self.attributes: dict[str, str] = {}
        self.start_line = 0
        self.parts: list[str | Code] = []
        self.native: list[str] = []  # text of the dropped element
        self.length = 0

    def take_events(self) -> list[Event]:
        found, self.found = self.found, []
        return found

    def error(self, problem: str) -> DataError:
        return DataError(f"{self.where}:{self.parser.CurrentLineNumber}: {problem}; refused")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise self.error(f"elements nested more than {_DEPTH_MAX} deep")
        if self.gathered_depth:
            if name in self.gathered:
                raise self.error(f"a <{name}> within a <{name}>")
            self.gathered_depth += 1
            self.dropped_depth += bool(self.dropped_depth or name in self.dropped)
            if not self.dropped_depth:
                self.parts.append(Code(name))
        elif name in self.gathered:
            self.gathered_depth, self.attributes, self.start_line = 1, attributes, self.parser.CurrentLineNumber
            self.parts, self.length = [], 0
        else:
            self.found.append(Event("start", name, attributes, self.parser.CurrentLineNumber))

    def end(self, name: str) -> None:
        self.depth -= 1
        if not self.gathered_depth:
            self.found.append(Event("end", name, {}, self.parser.CurrentLineNumber))
            return
        self.gathered_depth -= 1
        was_dropped, self.dropped_depth = self.dropped_depth, max(0, self.dropped_depth - 1)
        if not self.gathered_depth:
            text = [part for part in self.parts if isinstance(part, str)]
            said = "".join(text) if self.joins_words else without_codes(self.parts)
            self.found.append(Event("text", name, self.attributes, self.start_line, said))
        elif not self.dropped_depth:
            self.parts.append(Code(name, "".join(self.native) if was_dropped else ""))
            self.native = []

    def text(self, data: str) -> None:
        if self.gathered_depth:
            self.length += len(data) * (not self.dropped_depth)
            if self.length > TEXT_CHARACTERS_MAX:
                raise self.error(f"a text of more than {TEXT_CHARACTERS_MAX} characters")
            if not self.dropped_depth:
                self.parts.append(data)
            elif sum(map(len, self.native)) < _NATIVE_CHARACTERS:
                self.native.append(data)

    def doctype(self, name: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
        # A reference to an external DTD is common and harmless: it is never fetched.
        if has_subset:
            raise self.error("its own declarations in the document type")

    def refuse_entity(self, name: str) -> None:
        raise self.error(f"the entity {name!r}, which is not predefined in XML")
