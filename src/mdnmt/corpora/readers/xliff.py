"""Read XLIFF (1.2 and 2), unit by unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mdnmt.config.corpus_reader import XliffReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import split_file
from mdnmt.corpora.formats.lines import place
from mdnmt.corpora.formats.xml_text import events
from mdnmt.corpora.readers.tmx import is_language
from mdnmt.errors import DataError

# Elements of a segment that hold formatting codes, not text; the content of <g>, <pc> and <mrk> is text.
_CODES = frozenset({"bpt", "ept", "it", "ph", "x", "bx", "ex", "sc", "ec"})
split_files = partial(split_file, kind="xlf")


def pairs(
    archive: Archive, files: Sequence[str], source_lang: str, target_lang: str, options: XliffReader
) -> Iterator[tuple[str, str]]:
    """Yield the units of a file that have a translation, without formatting codes.

    Raises:
        DataError: the file is not XLIFF, or has no unit of both languages.
    """
    (name,) = files
    where = place(archive, name)
    units = count = alternatives = 0
    codes = {"source": "", "target": ""}
    sides: dict[str, str] = {}
    started = False
    for event in events(archive.blocks(name), where, ("source", "target"), _CODES, joins_words=False):
        if not started and event.name != "xliff":
            raise DataError(f"{where}:{event.line}: begins with <{event.name}>; expected an XLIFF file, <xliff>")
        started = True
        if event.name == "alt-trans":  # proposals, not the translation
            alternatives += 1 if event.kind == "start" else -1
        elif event.kind == "start" and event.name in ("xliff", "file"):
            codes["source"] = event.attributes.get("srcLang") or event.attributes.get(
                "source-language", codes["source"]
            )
            codes["target"] = event.attributes.get("trgLang") or event.attributes.get(
                "target-language", codes["target"]
            )
        elif event.kind == "start" and event.name in ("trans-unit", "segment"):
            units, sides = units + 1, {}
        elif event.kind == "text" and not alternatives:
            sides.setdefault(event.name, event.text)
        elif event.kind == "end" and event.name in ("trans-unit", "segment") and sides.get("target"):
            if is_language(codes["source"], source_lang) and is_language(codes["target"], target_lang):
                count += 1
                yield sides["source"], sides["target"]
            elif is_language(codes["source"], target_lang) and is_language(codes["target"], source_lang):
                count += 1
                yield sides["target"], sides["source"]
    if not count:
        said = f"is from {codes['source'] or '?'} to {codes['target'] or '?'}"
        raise DataError(f"{where}: {said}, and none of its {units} units is in {source_lang} and {target_lang}")
