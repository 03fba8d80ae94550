"""The papers' own numbers: config/published/<paper>.tsv, one cell per line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mdnmt.errors import ConfigError
from mdnmt.workspace import config_file

COLUMNS = ("table", "row", "column", "metric", "value", "raw", "star", "note")
OPTIONAL = ("recommended",)

# table, row, column, metric
Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class PublishedNumber:
    """A number as a paper prints it.

    Attributes:
        value: the number, with K and M multiplied out; None: not available.
        raw: as printed, stars and thousands' commas included.
        star: the paper marks it as significant.
        note: how to read it.
        recommended: the number that was probably meant, if the printed one seems wrong.
    """

    value: float | None
    raw: str
    star: bool
    note: str
    recommended: float | None = None


@dataclass(frozen=True)
class Published:
    """All numbers of a paper's tables, in the order of the file."""

    paper: str
    numbers: Mapping[Place, PublishedNumber] = field(default_factory=dict)

    def find(self, table: str, row: str, column: str, metric: str) -> PublishedNumber | None:
        """Return a cell; None where the paper has no such cell."""
        return self.numbers.get((table, row, column, metric))

    def tables(self) -> list[str]:
        """Return the names of the tables."""
        return list(dict.fromkeys(place[0] for place in self.numbers))

    def rows(self, table: str) -> list[str]:
        """Return the rows of a table, in the paper's order."""
        return list(dict.fromkeys(place[1] for place in self.numbers if place[0] == table))

    def columns(self, table: str) -> list[str]:
        """Return the columns of a table, in the paper's order."""
        return list(dict.fromkeys(place[2] for place in self.numbers if place[0] == table))


def load_published(config_folder: Path, paper: str) -> Published:
    """Return the numbers of config/published/<paper>.tsv; empty if there is no such file.

    Raises:
        ConfigError: the file is not UTF-8, a column is missing, a value is not a number, or a cell occurs twice.
    """
    path = config_file(config_folder, f"published/{paper}.tsv")
    if not path.is_file():
        return Published(paper)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    lines = enumerate(text.splitlines(), start=1)
    written = [(number, line.split("\t")) for number, line in lines if line.strip() and not line.startswith("#")]
    if not written:
        raise ConfigError(f"{path}: no lines; expected a header with {', '.join(COLUMNS)}")
    header = written[0][1]
    for name in COLUMNS:
        if name not in header:
            raise ConfigError(f"{path}: line {written[0][0]}: the column {name!r} is missing; separate them by tabs")
    for name in header:
        if name not in COLUMNS + OPTIONAL or header.count(name) > 1:
            raise ConfigError(
                f"{path}: line {written[0][0]}: the column {name!r} is unknown or twice there; "
                f"expected each of {', '.join(COLUMNS + OPTIONAL)} once"
            )
    numbers: dict[Place, PublishedNumber] = {}
    first_line: dict[Place, int] = {}
    for line, fields in written[1:]:
        place, number = _parse(fields, header, f"{path}: line {line}")
        if place in numbers:
            raise ConfigError(
                f"{path}: line {line}: {' / '.join(place)} is in line {first_line[place]} already; remove one"
            )
        numbers[place], first_line[place] = number, line
    return Published(paper, numbers)


def _parse(fields: list[str], header: list[str], where: str) -> tuple[Place, PublishedNumber]:
    if len(fields) > len(header):
        raise ConfigError(f"{where}: found {len(fields)} fields, expected {len(header)} with a tab between two")
    # An editor may have cut off the tabs at the end of a line.
    cell = dict(zip(header, [text.strip() for text in fields] + [""] * (len(header) - len(fields)), strict=True))
    for name in COLUMNS[:4]:
        if not cell[name]:
            raise ConfigError(f"{where}: {name} is empty; expected the name of the cell's {name}")
    if cell["star"] not in ("", "*"):
        raise ConfigError(f"{where}: star: found {cell['star']!r}, expected * or nothing")
    number = PublishedNumber(
        value=_number(cell["value"], where, "value"),
        raw=cell["raw"] or cell["value"],
        star=cell["star"] == "*",
        note=cell["note"],
        recommended=_number(cell.get("recommended", ""), where, "recommended"),
    )
    return (cell["table"], cell["row"], cell["column"], cell["metric"]), number


def _number(text: str, where: str, name: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise ConfigError(
            f"{where}: {name}: {text!r} is not a number; write it like 26.09 or 184000, or leave it empty"
        )
    return value
