"""The style of all figures: colours that a colour-blind reader can tell apart, type that is readable on a phone."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Five inches at nine points: on a phone, 360 pixels wide, the smallest letter is still about nine pixels high.
WIDTH = 5.0
DPI = 200
DETAIL = 75  # characters on a line under the title
LEGEND_ROW = 0.19  # inches
INK, GREY, FAINT = "#1f2328", "#5c6470", "#d9dde3"

# Okabe and Ito 2008, without the yellow, which is too pale for lines and letters on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#3b3b3b")
DASHES: tuple[tuple[float, tuple[float, ...]] | Literal["-"], ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
MOST_SERIES = 14  # marks or lines in one picture that a reader can still tell apart

# From almost white to dark blue in even steps of lightness, so that it also works in grey.
SHADES = ("#f7f9fb", "#b9d3e6", "#5a9bc8", "#1c5f93", "#08253f")

_WIDE = "\u2e80"  # from here on, most characters are Chinese or Japanese
_WIDE_SCRIPTS = ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "Droid Sans Fallback")


@cache
def colour_map() -> Colormap:
    """Return SHADES as a scale from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("shades", SHADES)


def _families() -> list[str]:
    """Return the fonts, matplotlib's own first, so that every machine draws the same letters."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _WIDE_SCRIPTS if name in installed)]


def font_note(words: Iterable[str]) -> str:
    """Return a note for a figure with words that no installed font can draw; empty if there are none."""
    if all(character < _WIDE for word in words for character in word) or len(_families()) > 1:
        return ""
    return f" Boxes: no installed font has these characters ({_WIDE_SCRIPTS[0]} has)."


@contextmanager
def style() -> Iterator[None]:
    """Apply the house style inside the block, and restore matplotlib's settings after it."""
    import matplotlib

    matplotlib.use("Agg")
    settings: Any = {
        "font.family": _families(),
        "font.size": 9,
        "axes.titlesize": 9,
        "axes.labelsize": 9,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "legend.fontsize": 8.5,
        "legend.frameon": False,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GREY,
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.grid": False,
        "axes.unicode_minus": True,
        "text.parse_math": False,  # a dollar sign in a title or a word is a dollar sign
        "grid.color": FAINT,
        "grid.linewidth": 0.6,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "lines.linewidth": 1.5,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "figure.dpi": DPI,
        "savefig.dpi": DPI,
        "xtick.major.pad": 6,  # a label at the left end must not touch the lowest label of the other axis
        "pdf.fonttype": 42,
        "svg.hashsalt": "mdnmt",
    }
    with matplotlib.rc_context(rc=settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `font_note` tells the reader
        yield


def mark(number: int) -> tuple[str, str]:
    """Return colour and marker of a series; the first 49 differ in at least one of them."""
    again, place = divmod(number, len(COLOURS))
    return COLOURS[place], MARKERS[(place + again) % len(MARKERS)]


def stroke(number: int) -> tuple[str, tuple[float, tuple[float, ...]] | Literal["-"]]:
    """Return colour and dashes of a series; the first 28 differ in at least one of them."""
    again, place = divmod(number, len(COLOURS))
    return COLOURS[place], DASHES[(place + again) % len(DASHES)]


def too_many(what: str, number: int, most: int = MOST_SERIES) -> str:
    """Return why a picture of so many series or panels cannot be read; empty if it can."""
    if number <= most:
        return ""
    return f"{number} {what} cannot be told apart in one picture (at most {most}); the numbers are in its JSON file"


def new_figure(height: float) -> Figure:
    """Return an empty figure of this height in inches, as wide as all others."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), dpi=DPI)


def empty_page(title: str, reason: str) -> Figure:
    """Return a page that says why there is nothing to draw."""
    figure = new_figure(1.7)
    figure.text(0.04, 0.86, title, weight="bold", va="top", wrap=True)
    figure.text(0.04, 0.56, _wrapped(f"Not drawn: {reason}", 74), color=GREY, va="top")
    return figure


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width)[:6])


def detail_height(detail: str) -> float:
    """Return the inches that lines of the detail after the first add to the height of a figure's head."""
    return 0.15 * max(0, _wrapped(detail, DETAIL).count("\n"))


def heading(figure: Figure, title: str, detail: str = "") -> None:
    """Write the figure's title at the left edge, and below it the detail in smaller type."""
    inches = figure.get_size_inches()[1]
    figure.text(0.012, 1 - 0.07 / inches, title, weight="bold", size=min(10.0, 600 / len(title or " ")), va="top")
    if detail:
        figure.text(
            0.012, 1 - 0.27 / inches, _wrapped(detail, DETAIL), size=8.5, color=GREY, va="top", linespacing=1.25
        )


def legend_grid(labels: Sequence[str], handle: float, most: int = 4) -> tuple[int, float]:
    """Return the number of legend labels per row, and the inches that rows beyond the first need.

    `handle` is the width, in inches, of the symbol before a label, with the space between two columns.
    """
    widest = handle + 0.073 * max(map(len, labels))
    columns = max(1, min(most, len(labels), int((WIDTH - 0.05) / widest)))
    return columns, LEGEND_ROW * (-(-len(labels) // columns) - 1)


def series_legend(
    figure: Figure, labels: Sequence[str], top: float, columns: int, *, line: float | None = None
) -> None:
    """Draw the legend of series at the left edge of a figure, each with its mark, or with its line.

    Args:
        figure: the figure.
        labels: of the series, in the order of `mark` and `stroke`.
        top: upper edge of the legend, as a share of the figure's height.
        columns: labels per row.
        line: length of a line in ems; None: marks.
    """
    from matplotlib.lines import Line2D

    def handle(number: int, label: str) -> Line2D:
        if line is None:
            colour, marker = mark(number)
            return Line2D([], [], color=colour, marker=marker, linestyle="", label=label)
        colour, dashes = stroke(number)
        return Line2D([], [], color=colour, linestyle=dashes, label=label)

    spacing: Any = {"handletextpad": 0.2, "columnspacing": 1.2}
    if line is not None:
        spacing = {"handlelength": line, "columnspacing": 1.4}
    figure.legend(
        handles=[handle(number, label) for number, label in enumerate(labels)], loc="upper left",
        bbox_to_anchor=(0.0, top), ncols=columns, borderaxespad=0.1, **spacing,
    )  # fmt: skip


def remove_frame(axes: Axes) -> None:
    """Remove the frame and draw a faint grid of horizontal lines."""
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)


def label_differences(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of a plot of differences in BLEU, from 0 downwards, and mark no difference by a line."""
    axes.axvline(0, color=GREY, linewidth=0.8)
    label_rows(axes, names, "difference in BLEU")


def label_rows(axes: Axes, names: Sequence[str], quantity: str) -> None:
    """Name the rows of a plot, from 0 downwards, and the quantity on its horizontal axis."""
    axes.set_yticks([-place for place in range(len(names))], names, size=8)
    axes.set_ylim(0.6 - len(names), 0.6)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=FAINT)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(quantity)
