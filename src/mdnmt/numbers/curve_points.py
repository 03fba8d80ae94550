"""Read curves.tsv of a run: what was measured after which update."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
        DataError: the file is damaged.
    """
    for row in csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter="\t", quoting=csv.QUOTE_NONE):
        values = {name: float(text) for name, text in row.items() if name not in PLACE and text}
        finite = {name: value for name, value in values.items() if math.isfinite(value)}
        yield CurvePoint(int(row["update"]), row["split"], row["domain"], finite)
