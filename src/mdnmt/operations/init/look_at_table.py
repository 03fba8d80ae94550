"""Look into a table, a translation memory or an XLIFF file: its languages, its pairs, and how its cells are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from mdnmt.config.corpus_reader import TmxReader, TsvReader, XliffReader
from mdnmt.corpora.formats.folder import Folder, packed_name
from mdnmt.corpora.formats.text_names import unpacked_name
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError
from mdnmt.languages import code_of_name, language

_BYTES_MAX = 1 << 40  # of one unpacked file, which is read in blocks
_HEAD_LINES = 200
Separator = Literal["tab", "comma", "semicolon"]
_SEPARATORS: dict[Separator, str] = {"tab": "\t", "comma": ",", "semicolon": ";"}
_CODE = re.compile(
    r"""(?:xml:lang|\blang|source-language|target-language|srcLang|trgLang)\s*=\s*["']([A-Za-z]{2,3})\b"""
)


def table_languages(folder: Path, name: str) -> tuple[str, ...]:
    """Return the two languages that a memory or the first line of a table names; empty if it does not."""
    head = _head(folder, name)
    if unpacked_name(name).lower().endswith((".tmx", ".xlf", ".xliff")):
        codes = {code.lower() for code in _CODE.findall(head)}
        return tuple(sorted(codes)) if len(codes) == 2 else ()
    cells = head.partition("\n")[0].split(_SEPARATORS[_separator(head)])
    found = {lang for cell in cells if (lang := code_of_name(cell))}
    if len(found) > 2:
        found -= {"id", "no"}  # columns of numbers, sooner than Indonesian or Norwegian
    return tuple(sorted(found)) if len(found) == 2 else ()


def look_at_table(folder: Path, name: str, languages: Sequence[str]) -> tuple[int, TsvReader | None]:
    """Return how many pairs a file has, and how its cells are to be read if that is not the default.

    A table that its reader refuses has as many pairs as lines: the doctor says what is wrong with it.

    Raises:
        DataError: a memory cannot be read.
    """
    archive, kind = Folder(folder, _BYTES_MAX), Path(unpacked_name(name)).suffix.lower()
    if kind == ".tmx":
        return _count(archive, TmxReader(name="tmx", file=name), languages), None
    if kind in (".xlf", ".xliff"):
        return _count(archive, XliffReader(name="xliff", file=name), languages), None
    default, tried = _options("", languages, quotes=False), _ways(_head(folder, name), languages)
    for options in tried:
        try:
            count = _count(archive, options.model_copy(update={"file": name}), languages)
        except DataError:
            continue
        return count, options if options != default or kind == ".csv" else None
    return sum(block.count(b"\n") for block in archive.blocks(name)), tried[0]


def _count(archive: Folder, options: TsvReader | TmxReader | XliffReader, languages: Sequence[str]) -> int:
    return sum(1 for _ in reader(options.name).read(archive, languages[0], languages[1], options))


def _ways(head: str, languages: Sequence[str]) -> list[TsvReader]:
    """Return the ways to read a table, the likeliest first: a mark at the beginning of a cell may quote it, or not."""
    separated = _separator(head) != "tab"
    is_quoted = separated or re.search(r'(?:^|\t)"(?:[^"\t\n]|"")*""(?:[^"\t\n]|"")*"(?:\t|\r?$)', head, re.MULTILINE)
    ways = [_options(head, languages, quotes=True)] if is_quoted else []
    return ways if separated else [*ways, _options(head, languages, quotes=False)]


def _options(head: str, languages: Sequence[str], quotes: bool) -> TsvReader:
    separator = _separator(head)
    rows = [line.removesuffix("\r").split(_SEPARATORS[separator]) for line in head.split("\n") if line.strip()]
    wanted = {language(lang).base: lang for lang in languages}
    named = {
        wanted[lang]: cell.strip().strip('"') for cell in (*rows[:1], [])[0] if (lang := code_of_name(cell)) in wanted
    }
    header = len(named) == len(languages)
    columns: dict[str, int | str] = dict(named if header else zip(languages, _text_columns(rows), strict=True))
    return TsvReader(name="tsv", columns=columns, header=header, separator=separator, quotes=quotes)


def _text_columns(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the first two columns, counted from 1, that hold text: not numbers, addresses, or the same word again."""
    width = len(rows[0]) if rows else 0
    columns = list(zip(*(row for row in rows if len(row) == width), strict=True)) if width > 2 else []
    found = [
        place
        for place, cells in enumerate(columns, start=1)
        if len(set(cells)) > len(cells) // 2
        and sum(any(map(str.isalpha, cell)) and "://" not in cell for cell in cells) > len(cells) // 2
    ]
    return (found[0], found[1]) if len(found) > 1 else (1, 2)


def _separator(head: str) -> Separator:
    """Return the separator that most lines have, a tab if there is none."""
    lines = head.split("\n")
    shares = {name: sum(sign in line for line in lines) for name, sign in _SEPARATORS.items()}
    if shares["tab"]:
        return "tab"
    # A quoted cell may hold commas, so of two signs the one between quotation marks counts.
    quoted = {name: head.count(f'"{sign}"') for name, sign in _SEPARATORS.items()}
    counts = quoted if any(quoted.values()) else shares
    return max(counts, key=lambda name: counts[name]) if any(counts.values()) else "tab"


def _head(folder: Path, name: str) -> str:
    """Return the first lines of a file; only XML may be in another encoding than UTF-8."""
    archive = Folder(folder, _BYTES_MAX)
    data = b""
    for block in archive.blocks(packed_name(archive, unpacked_name(name)) or name):
        data += block
        if len(data) > 1 << 17:
            break
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if wide else "utf-8", errors="replace").removeprefix("\ufeff")
    text = text if "\n" in text else text.replace("\r", "\n")
    return "\n".join(text.split("\n")[:_HEAD_LINES])
