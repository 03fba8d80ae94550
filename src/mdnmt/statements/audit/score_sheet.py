"""Read a table of scores that somebody typed from a paper: one TSV file (docs/audit-any-table.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from mdnmt.config.loader import did_you_mean
from mdnmt.errors import DataError
from mdnmt.statements.audit.printed_numbers import unit
from mdnmt.statements.audit.sweeps import AVERAGE_COLUMNS

DIFFERENCE = re.compile(r"(?:Δ|delta\b|diff\b\.?)\s*", re.IGNORECASE)
LOWER_IS_BETTER = ("ter", "wer", "cer", "ppl", "perplexity", "loss")
NOTHING = ("", "-", "--", "\N{EN DASH}", "\N{EM DASH}", "n/a")
_CELL = re.compile(r"(?P<number>[+\-\N{MINUS SIGN}]?\d+(?:\.\d+)?)\s*(?P<marks>[*†‡]*)")

KEYS = ("title", "baseline", "metric", "better metric", "test", "copied", "same data")


@dataclass(frozen=True)
class Number:
    """A printed number.

    Attributes:
        raw: as printed, without bold.
        value: its exact value.
        unit: what one step of the last digit is worth.
        bold: whether it is printed in bold.
        star: whether it carries a mark of significance.
    """

    raw: str
    value: Decimal
    unit: Decimal
    bold: bool
    star: bool


@dataclass(frozen=True)
class Column:
    """A column of scores; averages and differences have a metric, too."""

    name: str
    metric: str
    is_average: bool
    is_difference: bool

    @property
    def lower_is_better(self) -> bool:
        """Return whether less is better, as for an error rate."""
        return self.metric.lower() in LOWER_IS_BETTER


@dataclass(frozen=True)
class ScoreSheet:
    """A printed table.

    Attributes:
        about: the lines `# key: value`.
        columns: in the order of the file.
        rows: system -> its numbers by column name; cells without a number are left out.
        baseline: the system that stars and differences compare with.
    """

    about: Mapping[str, str]
    columns: tuple[Column, ...]
    rows: Mapping[str, Mapping[str, Number]]
    baseline: str


def read(path: Path) -> ScoreSheet:
    """Return the table of a file.

    Raises:
        DataError: the file cannot be read or is malformed; the message names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text ({error}); expected a TSV file") from None
    about: dict[str, str] = {}
    head: tuple[Column, ...] | None = None
    rows: dict[str, dict[str, Number]] = {}
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        if line.startswith("#"):
            key, colon, value = line.lstrip("# ").partition(":")
            if not colon or key.strip().lower() not in KEYS:
                hint = did_you_mean(key.strip().lower(), KEYS)
                raise DataError(f"{where}: unknown key {key.strip()!r}{hint}; keys are: {', '.join(KEYS)}")
            about[key.strip().lower()] = value.strip()
        elif line.strip():
            cells = [cell.strip() for cell in line.split("\t")]
            if head is None:
                head = _header(cells, about.get("metric", "BLEU"), where)
            else:
                name, found = _row(cells, head, where)
                if name in rows:
                    raise DataError(f"{where}: the system {name!r} is there twice; give each row a name of its own")
                rows[name] = found
    if head is None or len(rows) < 2:
        raise DataError(f"{path}: found {len(rows)} systems, expected a header and two or more, separated by tabs")
    baseline = about.get("baseline") or next(iter(rows))
    if baseline not in rows:
        raise DataError(f"{path}: baseline {baseline!r} is no row{did_you_mean(baseline, rows)}; name a system")
    return ScoreSheet(about, head, rows, baseline)


def _header(cells: list[str], metric: str, where: str) -> tuple[Column, ...]:
    names = cells[1:]
    if not names or any(not name for name in names):
        raise DataError(f"{where}: found {len(names)} column names, some empty; expected `System`, a tab, and columns")
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"{where}: the column {twice[0]!r} is there twice; write `domain/metric` to tell them apart")
    columns = []
    for name in names:
        label, slash, given = name.rpartition("/")
        label = label if slash else name
        bare = DIFFERENCE.sub("", label, count=1)
        is_difference = bare != label
        columns.append(Column(name, given if slash else metric, bare.lower() in AVERAGE_COLUMNS, is_difference))
    return tuple(columns)


def _row(cells: list[str], head: tuple[Column, ...], where: str) -> tuple[str, dict[str, Number]]:
    if len(cells) > len(head) + 1:
        raise DataError(f"{where}: found {len(cells)} cells, expected {len(head) + 1} at most, separated by tabs")
    found = {}
    for column, text in zip(head, cells[1:], strict=False):
        if text.lower() in NOTHING:
            continue
        bold = text.startswith("**") and "**" in text[2:]
        bare = text[2:].replace("**", "", 1) if bold else text
        match = _CELL.fullmatch(bare)
        if match is None:
            raise DataError(f"{where}: {column.name} is {text!r}; expected a number like 27.58, 27.58* or **27.58**")
        raw = match["number"].replace("\N{MINUS SIGN}", "-")
        found[column.name] = Number(raw, Decimal(raw), unit(raw), bold, bool(match["marks"]))
    return cells[0], found
