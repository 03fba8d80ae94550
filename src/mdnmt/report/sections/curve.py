"""Draw a run's small curves, training loss and validation perplexity against updates, as points of an SVG line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from mdnmt.numbers.curve_points import curve_points
from mdnmt.report.plain_tables import any_number

WIDTH, HEIGHT, MARGIN = 160, 44, 3  # of a picture, in pixels
MOST_POINTS = 60
SHOWN = {"train": ("Training loss", "loss"), "valid": ("Validation perplexity", "ppl")}  # split -> name, column


@dataclass(frozen=True)
class Curve:
    """A line, ready to be drawn, with a description in words."""

    name: str
    points: str  # of an SVG polyline in a box of WIDTH by HEIGHT
    words: str  # "98.1 at update 250, 12.4 at update 2000; lowest 12.4"


def read_curves(path: Path) -> list[Curve]:
    """Return the curves of a run from its curves.tsv; empty if there is no file or too few points for a line."""
    if not path.is_file():
        return []
    series: dict[str, list[tuple[float, float]]] = {name: [] for name, _ in SHOWN.values()}
    for point in curve_points(path):
        name, column = SHOWN.get(point.split, ("", ""))
        if point.domain == "all" and column in point.values:
            series[name].append((point.update, point.values[column]))
    return [curve for name, points in series.items() if (curve := draw(name, points))]


def draw(name: str, points: list[tuple[float, float]]) -> Curve | None:
    """Return a line through (update, value), the values on a logarithmic scale; None for fewer than two points."""
    known = [(x, y) for x, y in points if math.isfinite(y) and y > 0]
    if len(known) < 2:
        return None
    step = -(-len(known) // MOST_POINTS)
    shown = [*known[:-1:step], known[-1]]
    left, right = known[0][0], known[-1][0]
    heights = [math.log(y) for _, y in known]
    low, high = min(heights), max(heights)
    across, up = (WIDTH - 2 * MARGIN) / ((right - left) or 1.0), (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    line = " ".join(
        f"{MARGIN + (x - left) * across:.1f},{HEIGHT - MARGIN - (math.log(y) - low) * up:.1f}" for x, y in shown
    )
    (first, begin), (last, end), lowest = known[0], known[-1], min(y for _, y in known)
    words = f"{any_number(begin).text} at update {first:.0f}, {any_number(end).text} at {last:.0f}"
    return Curve(name, line, words + ("" if lowest == end else f"; lowest {any_number(lowest).text}"))
