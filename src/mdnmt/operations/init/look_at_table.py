"""Look into a table, a translation memory or an XLIFF file: its languages, its pairs, and how its cells are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mdnmt.config.corpus_reader import TmxReader, TsvReader, XliffReader
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.text_names import unpacked_name
from mdnmt.corpora.readers import folder_reader
from mdnmt.errors import DataError

_BYTES_MAX = 1 << 40  # of one unpacked file, which is read in blocks
_HEAD_LINES = 200
_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";"}
_CODE = re.compile(
    r"""(?:xml:lang|\blang|source-language|target-language|srcLang|trgLang)\s*=\s*["']([A-Za-z]{2,3})\b"""
)
_NAMES = {
    "english": "en",
    "french": "fr",
    "français": "fr",
    "german": "de",
    "deutsch": "de",
    "spanish": "es",
    "español": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "russian": "ru",
    "chinese": "zh",
    "中文": "zh",
    "japanese": "ja",
}


def table_languages(folder: Path, name: str) -> tuple[str, ...]:
    """Return the two languages that a memory or the first line of a table names; empty if it does not."""
    head = _head(folder, name)
    if unpacked_name(name).lower().endswith((".tmx", ".xlf", ".xliff")):
        codes = {code.lower() for code in _CODE.findall(head)}
        return tuple(sorted(codes)) if len(codes) == 2 else ()
    separator = _SEPARATORS[_separator(head)]
    cells = [cell.strip().strip('"') for cell in head.partition("\n")[0].split(separator)]
    found = sorted({lang for cell in cells if (lang := _language_of(cell))})
    return tuple(found) if len(found) == 2 else ()


def look_at_table(folder: Path, name: str, languages: Sequence[str]) -> tuple[int, TsvReader | None]:
    """Return how many pairs a file has, and how its cells are to be read if that is not the default.

    Pairs are counted as the reader reads them, up to its first error, which the doctor reports.

    Raises:
        DataError: there is none, because of such an error.
    """
    archive, kind = Folder(folder, _BYTES_MAX), Path(unpacked_name(name)).suffix.lower()
    options: TsvReader | TmxReader | XliffReader
    reader = None
    if kind == ".tmx":
        options = TmxReader(name="tmx", file=name)
    elif kind in (".xlf", ".xliff"):
        options = XliffReader(name="xliff", file=name)
    else:
        options = _options(_head(folder, name), languages)
        reader = options if options != _options("", languages) or kind == ".csv" else None
        options = options.model_copy(update={"file": name})
    found, count = folder_reader(options.name), 0
    assert found is not None  # the three read folders
    try:
        for count, _ in enumerate(found.read(archive, languages[0], languages[1], options), start=1):  # noqa: B007
            pass
    except DataError:
        if not count:
            raise
    return count, reader


def _options(head: str, languages: Sequence[str]) -> TsvReader:
    separator = _separator(head)
    lines = [line.removesuffix("\r") for line in head.split("\n") if line.strip()]
    first = [cell.strip().strip('"') for cell in (lines[0] if lines else "").split(_SEPARATORS[separator])]
    named = {lang: cell for cell in first if (lang := _language_of(cell)) in languages}
    header = len(named) == len(languages)
    quotes = separator != "tab" or any(
        cell.startswith('"') and cell.endswith('"') and len(cell) > 1 and '""' in cell[1:-1]
        for line in lines
        for cell in line.split("\t")
    )
    columns: dict[str, int | str] = {lang: index for index, lang in enumerate(languages, start=1)}
    return TsvReader.model_validate(
        {
            "name": "tsv",
            "columns": dict(named) if header else columns,
            "header": header,
            "separator": separator,
            "quotes": quotes,
        }
    )


def _separator(head: str) -> str:
    """Return the separator that most lines have, a tab if there is none."""
    lines = head.split("\n")
    shares = {name: sum(sign in line for line in lines) for name, sign in _SEPARATORS.items()}
    if shares["tab"]:
        return "tab"
    # A quoted cell may hold commas, so of two signs the one between quotation marks counts.
    quoted = {name: head.count(f'"{sign}"') for name, sign in _SEPARATORS.items()}
    counts = quoted if any(quoted.values()) else shares
    return max(counts, key=lambda name: counts[name]) if any(counts.values()) else "tab"


def _language_of(cell: str) -> str | None:
    text = cell.strip().strip('"').removeprefix("\ufeff").casefold()
    if text in _NAMES:
        return _NAMES[text]
    code = re.split("[-_]", text)[0]
    return code if re.fullmatch("[a-z]{2}", code) else None


def _head(folder: Path, name: str) -> str:
    """Return the first lines of a file; only XML may be in another encoding than UTF-8."""
    archive = Folder(folder, _BYTES_MAX)
    there = next(one for one in archive.names() if unpacked_name(one) == unpacked_name(name))
    data = b""
    for block in archive.blocks(there):
        data += block
        if len(data) > 1 << 17:
            break
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if wide else "utf-8", errors="replace").removeprefix("\ufeff")
    text = text if "\n" in text else text.replace("\r", "\n")
    return "\n".join(text.split("\n")[:_HEAD_LINES])
