"""Read translation memories (TMX), unit by unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mdnmt.config.corpus_reader import TmxReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import split_file
from mdnmt.corpora.formats.lines import place
from mdnmt.corpora.formats.xml_text import events
from mdnmt.errors import DataError
from mdnmt.languages import language

# Elements of a segment that contain formatting codes, not text; the content of <hi> is text.
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
split_files = partial(split_file, kind="tmx")


def pairs(
    archive: Archive, files: Sequence[str], source_lang: str, target_lang: str, options: TmxReader
) -> Iterator[tuple[str, str]]:
    """Yield the units of a file that have both languages, without formatting codes.

    Raises:
        DataError: the file is not TMX, or has no unit of both languages.
    """
    (name,) = files
    where = place(archive, name)
    wanted = {lang: options.codes.get(lang, lang) for lang in (source_lang, target_lang)}
    units = count = 0
    started = False
    sides: dict[str, str] = {}
    current: str | None = None
    for event in events(archive.blocks(name), where, gathered="seg", dropped=_CODES, joins_words=False):
        if not started and event.name != "tmx":
            raise DataError(f"{where}:{event.line}: begins with <{event.name}>; expected a TMX file, <tmx>")
        started = True
        if event.kind == "start" and event.name == "tu":
            units, sides, current = units + 1, {}, None
        elif event.kind == "start" and event.name == "tuv":
            code = event.attributes.get("xml:lang") or event.attributes.get("lang")
            if not code:
                raise DataError(f"{where}:{event.line}: a <tuv> without xml:lang; name its language")
            current = next((lang for lang, one in wanted.items() if is_language(code, one)), None)
        elif event.kind == "text" and current is not None:
            sides.setdefault(current, event.text)
        elif event.kind == "end" and event.name == "tu" and len(sides) == 2:
            count += 1
            yield sides[source_lang], sides[target_lang]
            sides = {}
    if not count:
        raise DataError(f"{where}: none of its {units} units has both {' and '.join(wanted.values())}")


def is_language(code: str, wanted: str) -> bool:
    """Say whether a code is the wanted one, or a region of it (`en-GB` for `en` or `eng`)."""
    code, wanted = (text.lower().replace("_", "-") for text in (code, wanted))
    is_region = code.startswith(wanted + "-") or ("-" not in wanted and language(code).base == language(wanted).base)
    return code == wanted or is_region
