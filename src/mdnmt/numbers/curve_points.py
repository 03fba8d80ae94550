"""Read curves.tsv of a run: what was measured after which update."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.fsio import read_text

PLACE = ("update", "split", "domain")


@dataclass(frozen=True)
class CurvePoint:
    """One line of curves.tsv; `values` are by column, without those that are empty or not finite."""

    update: int
    split: str
    domain: str
    values: dict[str, float]


def curve_points(path: Path) -> Iterator[CurvePoint]:
    """Yield the points of a run in the order of the file.

    Raises:
        DataError: the file lacks a column, or a value is not a number.
    """
    with io.StringIO(read_text(path), newline="") as handle:
        reader = csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        if not {*PLACE} <= set(reader.fieldnames or ()):
            raise DataError(f"{path}: line 1 is {reader.fieldnames}, expected the columns {', '.join(PLACE)}")
        for row in reader:
            try:
                values = {name: float(text) for name, text in row.items() if name not in PLACE and text}
                finite = {name: value for name, value in values.items() if math.isfinite(value)}
                yield CurvePoint(int(row["update"]), row["split"], row["domain"], finite)
            except (TypeError, ValueError) as error:
                raise DataError(f"{path}, line {reader.line_num}: {error}, expected numbers") from error
