"""Check every figure of a study that was just made: no text leaves its figure, and none covers another.

Run it where the study was made: `python tests/figures_fit.py [study]` draws the figures again, and exits 1 with a line
for each offence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from matplotlib.axes._base import _AxesBase  # SecondaryAxis is one, and no Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from mdnmt.exchange.project_study import open_study, read_given
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.figure_style import style
from mdnmt.exhibits.registry import FigureSpec

SLACK = 1.5  # pixels: the box of a text is a little larger than its ink


def figures(study: str) -> Iterator[FigureSpec]:
    """Yield the figures of a study."""
    config = Path("config")
    opened = open_study(config, read_given(config, study, ()), Path("resources/corpora"), Path("results"))
    for key in opened.study.config.figures:
        yield figure_spec(opened.study, key, opened.places)


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return all visible texts with their boxes in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    unseen = set(_unseen(figure))
    drawn = [text for text in figure.findobj(Text) if isinstance(text, Text) and text not in unseen]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in drawn if text.get_text().strip()]


def _unseen(figure: Figure) -> Iterator[Text]:
    """Yield texts that are not drawn: those of hidden axes, and labels of ticks beyond the limits of their axis."""
    for axes in figure.findobj(_AxesBase):
        assert isinstance(axes, _AxesBase)
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-6 * (high - low)
            for tick in (*axis.majorTicks, *axis.minorTicks):
                if not (axes.get_visible() and axes.axison and low - slack <= tick.get_loc() <= high + slack):
                    yield from (tick.label1, tick.label2)
            if not axes.axison:
                yield axis.label
    yield from (text for text in figure.findobj(Text) if isinstance(text, Text) and not text.get_visible())


def offences(figure: Figure) -> list[str]:
    """Return a line for each text that leaves the figure or covers another."""
    width, height = figure.bbox.width, figure.bbox.height
    found = texts(figure)
    lines = [
        f"leaves the figure: {words!r}"
        for words, box in found
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > width + SLACK or box.y1 > height + SLACK
    ]
    for (one, box), (other, its_box) in combinations(found, 2):
        both = Bbox.intersection(box, its_box)
        if both is not None and both.width > SLACK and both.height > SLACK:
            lines.append(f"covers another: {one!r} and {other!r}")
    return lines


def main(study: str) -> int:
    """Print all offences and return the exit status."""
    count = bad = 0
    for spec in figures(study):
        name = spec.full_title
        with style():
            figure, _ = spec.draw()
            found = offences(figure)
        count, bad = count + 1, bad + bool(found)
        for line in found:
            print(f"{name}: {line}")
    print(f"{count} figures of study {study}, {bad} with offences")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["smoke"])))
