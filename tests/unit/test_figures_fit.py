"""The check of texts in figures finds each kind of offence, and nothing else."""

from __future__ import annotations

from figures_fit import offences
from matplotlib.figure import Figure


def figure(title: str = "Short", note: float = 0.02) -> Figure:
    made = Figure(figsize=(4, 3), dpi=100)
    axes = made.add_axes((0.2, 0.2, 0.6, 0.6))
    axes.plot([0, 1], [0, 1])
    axes.set_xlim(0, 0.5)  # labels of ticks beyond this are not drawn
    axes.set_title(title)
    made.text(0.7, note, "a note")
    return made


def test_texts_that_fit() -> None:
    assert offences(figure()) == []


def test_a_text_that_leaves_the_figure() -> None:
    title = "A title that is far too long for so small a figure as this"
    assert offences(figure(title)) == [f"leaves the figure: {title!r}"]


def test_a_text_that_covers_another() -> None:
    (line,) = offences(figure("A title that is rather long, for a note", note=0.83))
    assert line.startswith("covers another: ") and "'a note'" in line
