"""Translations of all runs on a task side by side: a table per domain, with a row per sentence and a column per run.

Different systems translate a sentence alike. Side by side, translations take a third less room than run by run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from mdnmt.errors import DataError

# <method>/<seed>/<test set>/hyp/hyp.<domain>.txt
_TRANSLATIONS = re.compile(r"(?P<column>[^/]+/[^/]+/(?P<split>test|valid)-[0-9a-f]{8})/hyp/hyp\.(?P<domain>[^/]+)\.txt")
_TABLE = re.compile(r"(?:test|valid)\.(?P<domain>.+)\.[0-9]+\.tsv")
_ESCAPED = {b"\\\\": b"\\", b"\\t": b"\t"}


def is_translation(name: str) -> bool:
    """Return whether a file `<method>/<seed>/...` of a run has translations, a line per sentence."""
    return _TRANSLATIONS.fullmatch(name) is not None


def to_tables(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return `<split>.<domain>.<number of sentences>.tsv` -> table; the first row names the runs and test sets.

    Args:
        files: `<method>/<seed>/<test set>/hyp/hyp.<domain>.txt` -> translations.

    Raises:
        DataError: the last line of a file does not end in a newline.
    """
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for name, data in sorted(files.items()):
        match = _TRANSLATIONS.fullmatch(name)
        assert match is not None, name
        if data and not data.endswith(b"\n"):
            raise DataError(f"{name}: expected a newline at its end")
        number = data.count(b"\n")
        found[f"{match['split']}.{match['domain']}.{number}.tsv"][match["column"]] = data
    return {name: _table(columns) for name, columns in found.items()}


def _table(columns: Mapping[str, bytes]) -> bytes:
    escaped = (data.replace(b"\\", b"\\\\").replace(b"\t", b"\\t") for data in columns.values())
    rows = zip(*(data.split(b"\n")[:-1] for data in escaped), strict=True)
    header = "\t".join(columns).encode()
    return b"".join(b"%s\n" % line for line in (header, *map(b"\t".join, rows)))


def from_tables(tables: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that `to_tables` made the tables from.

    Raises:
        ValueError: a file is no such table.
    """
    found = {}
    for name, table in tables.items():
        match = _TABLE.fullmatch(name)
        if match is None:
            raise ValueError(f"{name}: expected <split>.<domain>.<number of sentences>.tsv")
        header, *rows = table.split(b"\n")[:-1]
        columns = zip(*(row.split(b"\t") for row in rows), strict=True) if rows else ((),) * (header.count(b"\t") + 1)
        for column, lines in zip(header.decode().split("\t"), columns, strict=True):
            data = b"\n".join((*lines, b""))
            if b"\\" in data:
                data = re.sub(rb"\\[\\t]", lambda escape: _ESCAPED[escape[0]], data)
            found[f"{column}/hyp/hyp.{match['domain']}.txt"] = data
    return found
