"""Draw shaded cells with labels for rows and columns; all heat maps use this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mdnmt.exhibits.figure_style import GREY, colour_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LABELLED = 10  # parts of a scale
LONGEST = 14  # characters of a word that are shown


def shade(axes: Axes, values_RC: Any, *, lowest_below: bool = False) -> Any:
    """Draw shares from 0 to 1 as cells, white lines between them, without ticks, and return the image."""
    values = np.asarray(values_RC, dtype=np.float64)
    origin: Any = "lower" if lowest_below else "upper"
    image = axes.imshow(
        values, cmap=colour_map(), vmin=0, vmax=1, aspect="auto", origin=origin, interpolation="nearest"
    )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xticks(np.arange(0.5, values.shape[1] - 1), minor=True)
    axes.set_yticks(np.arange(0.5, values.shape[0] - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def words_below(axes: Axes, words: Sequence[str]) -> None:
    """Write a word under each column, vertically."""
    axes.set_xticks(range(len(words)), [short(word) for word in words], rotation=90)


def word_room(words: Sequence[str]) -> float:
    """Return the inches that vertical words under a block need."""
    # Letters of scripts without blanks are twice as wide.
    widest = max(sum(1 if character < "\u2e80" else 2 for character in short(word)) for word in words)
    return 0.14 + 0.072 * widest


def short(word: str, longest: int = LONGEST) -> str:
    """Return a word, cut off at the end if it is long."""
    return word if len(word) <= longest else f"{word[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def scale(figure: Figure, image: Any, parts: int, left: float, label: str, bottom: float = 0.36) -> None:
    """Draw the scale of shades, `left` and `bottom` inches from the edges, with a tick at an even share."""
    width, height = figure.get_size_inches()
    left = min(left, 0.9)  # or the label would leave the page
    bar = figure.add_axes((left / width, bottom / height, 2.2 / width, 0.09 / height))
    colour_bar = figure.colorbar(image, cax=bar, orientation="horizontal")
    even = {1 / parts: f"1/{parts}"} if parts <= MOST_LABELLED else {}  # a smaller share lies under the 0
    ticks = {0.0: "0", **even, 1.0: "1"}
    colour_bar.set_ticks(list(ticks), labels=list(ticks.values()))
    colour_bar.outline.set_visible(False)
    bar.tick_params(length=0, pad=2)
    figure.text((left + 2.35) / width, bottom / height, label, size=8.5, color=GREY, va="bottom")
