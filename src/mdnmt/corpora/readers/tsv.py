"""Read tables of segments, with columns separated by tabs, commas or semicolons."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial

from mdnmt.config.corpus_reader import TsvReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import split_file
from mdnmt.corpora.formats.lines import lines, place
from mdnmt.errors import DataError

split_files = partial(split_file, kind="tsv")
_SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";"}


def pairs(
    archive: Archive, files: Sequence[str], source_lang: str, target_lang: str, options: TsvReader
) -> Iterator[tuple[str, str]]:
    """Yield two columns of a table, row by row; blank lines are left out.

    Raises:
        DataError: a column is missing, the number of columns varies, or as `lines`.
    """
    (name,) = files
    where = place(archive, name)
    rows = _rows(archive, name, options)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{where}: is empty; expected one row per line")
    number, cells = first
    source, target = (_column(cells, lang, f"{where}:{number}", options) for lang in (source_lang, target_lang))
    wanted = {_named(cells, column, f"{where}:{number}", "where"): value for column, value in options.where.items()}
    width = len(cells)
    if not options.header:
        yield cells[source], cells[target]
    for number, cells in rows:
        if len(cells) != width:
            said = f"{len(cells)} columns, {width} in the first line; a {options.separator} within a text?"
            raise DataError(f"{where}:{number}: {said}")
        if all(cells[column] == value for column, value in wanted.items()):
            yield cells[source], cells[target]


def _column(cells: list[str], lang: str, where: str, options: TsvReader) -> int:
    """Return the index of a language's column, found in the first row."""
    wanted = options.columns.get(lang)
    if wanted is None:
        raise DataError(f"{where}: `columns` names none for {lang!r}, only {', '.join(options.columns)}")
    if isinstance(wanted, int):
        if wanted > len(cells):
            raise DataError(f"{where}: {len(cells)} columns; `columns` says that {lang!r} is in column {wanted}")
        return wanted - 1
    return _named(cells, wanted, where, "columns")


def _named(cells: list[str], name: str, where: str, option: str) -> int:
    """Return the index of the column that has this name in the first row; `option` is the one that names it."""
    if cells.count(name) != 1:
        shown = ", ".join(cells[:8])[:200]
        raise DataError(
            f"{where}: `{option}`: {cells.count(name)} columns are called {name!r}, expected one; there are {shown}"
        )
    return cells.index(name)


def _rows(archive: Archive, name: str, options: TsvReader) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells); the number is that of the row's last line."""
    separator = _SEPARATORS[options.separator]
    text = (line.removesuffix("\r") for line in lines(archive, name))
    if not options.quotes:
        for number, line in enumerate(text, start=1):
            if line.strip():
                yield number, line.split(separator)
        return
    table = csv.reader((line + "\n" for line in text), delimiter=separator, strict=True)
    try:
        for cells in table:
            if any(cells):
                yield table.line_num, cells
    except csv.Error as error:
        raise DataError(f"{place(archive, name)}:{table.line_num}: {error}; are the quotes closed?") from None
