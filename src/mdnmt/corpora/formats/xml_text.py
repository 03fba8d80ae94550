"""Read XML block by block: yield elements as they come, with the collected text of one kind of element.

Nothing that a document declares is expanded or fetched: its own entities are refused, and so are text, tags and
nesting above a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple
from xml.parsers import expat

from mdnmt.errors import DataError

TEXT_CHARACTERS_MAX = 1 << 20
_TOKEN_BYTES_MAX = 1 << 21
_DEPTH_MAX = 100


class Event(NamedTuple):
    """An element's start or end, or the text of a gathered element at its end."""

    kind: Literal["start", "end", "text"]
    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""


def events(
    blocks: Iterable[bytes], where: str, gathered: str, dropped: frozenset[str] = frozenset()
) -> Iterator[Event]:
    """Yield the events of an XML document in order.

    Args:
        blocks: the document, in blocks of any size.
        where: its name, for messages.
        gathered: the element whose text is wanted: one event at its end, none for elements within it.
        dropped: elements within it whose content is left out of the text.

    Raises:
        DataError: it is not well-formed, declares entities, or exceeds a limit; the message names file and line.
    """
    walk = _Walk(where, gathered, dropped)
    parser = walk.parser
    try:
        fed = 0
        for block in blocks:
            parser.Parse(block, False)
            fed += len(block)
            # expat buffers a tag until its end has been read.
            if fed - max(0, parser.CurrentByteIndex) > _TOKEN_BYTES_MAX + len(block):
                raise walk.error(f"a tag of more than {_TOKEN_BYTES_MAX} bytes")
            yield from walk.taken()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{where}:{error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})") from None
    except (ValueError, LookupError) as error:
        raise walk.error(f"an encoding that cannot be read ({error})") from None
    yield from walk.taken()


class _Walk:
    """The handlers that expat calls, and the events since the last `taken`."""

    def __init__(self, where: str, gathered: str, dropped: frozenset[str]) -> None:
        self.where, self.gathered, self.dropped = where, gathered, dropped
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = lambda *declared: self.refuse_entity(declared[0])
        parser.SkippedEntityHandler = lambda name, is_parameter: self.refuse_entity(name)
        self.found: list[Event] = []
        self.depth = 0
        self.inside = 0  # how deep within the gathered element; 0: outside
        self.unread = 0  # how deep within dropped content
        self.attributes: dict[str, str] = {}
        self.begun = 0
        self.parts: list[str] = []
        self.length = 0

    def taken(self) -> list[Event]:
        found, self.found = self.found, []
        return found

    def error(self, said: str) -> DataError:
        return DataError(f"{self.where}:{self.parser.CurrentLineNumber}: {said}; refused")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEPTH_MAX:
            raise self.error(f"elements nested more than {_DEPTH_MAX} deep")
        if self.inside:
            if name == self.gathered:
                raise self.error(f"a <{name}> within a <{name}>")
            self.inside += 1
            self.unread += bool(self.unread or name in self.dropped)
        elif name == self.gathered:
            self.inside, self.attributes, self.begun = 1, attributes, self.parser.CurrentLineNumber
            self.parts, self.length = [], 0
        else:
            self.found.append(Event("start", name, attributes, self.parser.CurrentLineNumber))

    def end(self, name: str) -> None:
        self.depth -= 1
        if not self.inside:
            self.found.append(Event("end", name, {}, self.parser.CurrentLineNumber))
            return
        self.inside -= 1
        self.unread -= bool(self.unread)
        if not self.inside:
            self.found.append(Event("text", name, self.attributes, self.begun, "".join(self.parts)))

    def text(self, data: str) -> None:
        if self.inside and not self.unread:
            self.length += len(data)
            if self.length > TEXT_CHARACTERS_MAX:
                raise self.error(f"a text of more than {TEXT_CHARACTERS_MAX} characters")
            self.parts.append(data)

    def doctype(self, name: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
        # A reference to an external DTD is common and harmless: it is never fetched.
        if has_subset:
            raise self.error("its own declarations in the document type")

    def refuse_entity(self, name: str) -> None:
        raise self.error(f"the entity {name!r}, which is not predefined in XML")
