"""Read odoo14-addon-l10n-eu-nace: what each class of NACE rev. 2 includes and excludes (en with another language)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import NaceReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_text
from mdnmt.errors import DataError

_FOLDER = "odoo/addons/l10n_eu_nace/examples/"
REQUIRED = (_FOLDER + "NACE_REV2_fr.csv", _FOLDER + "NACE_REV2_de.csv")

# Each row has three texts twice: in the file's language, and in English five columns further right.
_COLUMNS = (3, 4, 5)
_ENGLISH = 5
_BULLET = re.compile(r"^\s*(?:[-*\u2013\u2014\u2022\u00b7]|o\s)\s*")


def read(archive: Archive, source_lang: str, target_lang: str, options: NaceReader) -> Iterator[tuple[str, str]]:
    """Yield the lines (sentences and bullets) of the cells that have equally many lines in both languages.

    Raises:
        DataError: a member is missing, no side is English, or a file is not laid out as expected.
    """
    if "en" not in (source_lang, target_lang):
        raise DataError(f"{archive.label}: NACE is read with English on one side, not {source_lang}-{target_lang}")
    other = target_lang if source_lang == "en" else source_lang
    name = f"{_FOLDER}NACE_REV2_{other}.csv"
    rows = _rows(read_text(archive, name), f"{archive.label}:{name}")
    if next(rows, [])[:3] != ["Level", "Code", "Description"]:
        raise DataError(f"{archive.label}:{name}:1: expected the columns Level,Code,Description")
    for row in rows:
        if len(row) <= _COLUMNS[-1] + _ENGLISH:
            continue
        for column in _COLUMNS:
            foreign, english = _lines(row[column]), _lines(row[column + _ENGLISH])
            if len(foreign) == len(english):
                for pair in zip(english, foreign, strict=True):
                    yield pair if source_lang == "en" else (pair[1], pair[0])


def _rows(text: str, where: str) -> Iterator[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        yield from rows
    except csv.Error as error:
        raise DataError(f"{where}:{rows.line_num}: {error}") from None


def _lines(cell: str) -> list[str]:
    return [line for line in (_BULLET.sub("", line).strip() for line in cell.splitlines()) if line]
