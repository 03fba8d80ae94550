"""Draw training curves: loss, perplexity, accuracy and BLEU against updates or epochs (Song et al. 2026, Fig. 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.exhibits import curve_measures
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import (
    GREY,
    LEGEND_ROW,
    detail_height,
    heading,
    legend_grid,
    new_figure,
    remove_frame,
    series_legend,
    stroke,
)
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.numbers.curve_points import curve_points
from mdnmt.numbers.rounding import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

CurveAxis = Literal["updates", "epochs"]
Panel = Literal["train_loss", "train_accuracy", "valid_loss", "valid_ppl", "valid_accuracy", "valid_bleu"]
# title, split, column, factor
PANELS: dict[Panel, tuple[str, str, str, float]] = {
    "train_loss": ("Training loss", "train", "loss", 1.0),
    "train_accuracy": ("Training token accuracy (%)", "train-sample", "accuracy", 100.0),
    "valid_loss": ("Validation loss", "valid", "loss", 1.0),
    "valid_ppl": ("Validation perplexity (log scale)", "valid", "ppl", 1.0),
    "valid_accuracy": ("Validation token accuracy (%)", "valid", "accuracy", 100.0),
    "valid_bleu": ("Validation BLEU", "valid", "bleu", 1.0),
}
EPOCH = "epoch"
Series = dict[int, float]  # update -> value


class CurveRun(Frozen):
    """The curves of one run."""

    curves: Path  # curves.tsv
    seed: int


class CurveSystem(Frozen):
    """One system's runs, one per seed, or the reason why there is none."""

    label: str
    method: str = ""
    runs: tuple[CurveRun, ...] = ()
    missing: str | None = None


@register
class CurvesSpec(FigureSpec):
    """Training curves over updates or epochs: a panel per quantity, a line per system (Song et al. 2026, Fig. 3)."""

    options: ClassVar = ("x", "panels")
    kind: Literal["curves"] = "curves"
    systems: tuple[CurveSystem, ...]
    x: CurveAxis = "updates"
    panels: tuple[Panel, ...] = Field(default=("train_loss", "valid_ppl", "valid_accuracy", "valid_bleu"), min_length=1)

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        systems = []
        for runs in request.systems:
            found = request.files(runs, lambda run: f"{request.places.run(run)}/curves.tsv")
            made = tuple(CurveRun(curves=path, seed=run.seed) for run, path in found)
            missing = request.why_missing(made, runs[0])
            systems.append(CurveSystem(label=runs[0].label, method=runs[0].directory, runs=made, missing=missing))
        return request.make(cls, systems=tuple(systems))

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return [run.curves for system in self.systems for run in system.runs]

    def measures(self) -> Iterator[Measure]:
        """Yield the measures of each seed's curves (see `curve_measures`)."""
        read = [
            curve_measures.Curves(system.method, system.label, run.seed, read_curves(run.curves))
            for system in self.systems
            for run in system.runs
        ]
        places = {panel: (split, column) for panel, (_, split, column, _) in PANELS.items()}
        return curve_measures.measures(read, {panel: places[panel] for panel in (*self.panels, *places)})

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: a curves.tsv is damaged.
        """
        systems = [system for system in self.systems if system.runs]
        absent = [f"{s.label}: {s.missing or 'no run'}" for s in self.systems if not s.runs]
        if not systems:
            return self.not_drawn("; ".join(absent) or "there is no run")
        lines = _lines(systems, self.x)
        labels = [system.label for system in systems]
        legend_columns, legend_rows = legend_grid(labels, 0.55, most=3)
        seeds = max(len(system.runs) for system in systems)
        detail = "One seed." if seeds == 1 else "Mean over seeds; the band goes from the lowest to the highest."
        detail = self.task_first + detail
        room = detail_height(detail)
        columns = min(2, len(self.panels))
        rows = -(-len(self.panels) // columns)
        head, foot = 0.58 + room + LEGEND_ROW + legend_rows, 0.42 + 0.15 * len(absent)
        height = head + foot + (2.0 * rows if columns == 2 else 2.6)
        figure = new_figure(height)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat[len(self.panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid.flat, self.panels, strict=False):
            title, split, column, factor = PANELS[panel]
            _panel(axes, title, (split, column), factor, [lines[s.label].get((split, column)) for s in systems])
        figure.subplots_adjust(
            left=0.085,
            right=0.97,
            bottom=(foot + 0.02) / height,
            top=1 - (head + 0.24) / height,
            hspace=0.34,
            wspace=0.2,
        )
        figure.text(0.53, (foot - 0.36) / height, self.x, ha="center")
        series_legend(figure, labels, 1 - (0.46 + room) / height, legend_columns, line=2.6)
        for row, text in enumerate(reversed(absent)):
            figure.text(0.012, (0.04 + 0.15 * row) / height, f"Not drawn: {text}", size=8, color=GREY)
        heading(figure, self.title, detail)
        return figure, _describe(systems, lines)


@dataclass(frozen=True)
class Line:
    """One system in one panel: mean, lowest and highest over seeds; `places` are positions on the horizontal axis."""

    updates: list[int]
    places: list[float]
    middle: list[float]
    low: list[float]
    high: list[float]


def read_curves(path: Path) -> dict[tuple[str, str], Series]:
    """Return the values of curves.tsv over all domains, by (split, column).

    Raises:
        DataError: the file is damaged.
    """
    found: dict[tuple[str, str], Series] = {}
    for point in curve_points(path):
        for column, value in point.values.items() if point.domain == "all" else ():
            found.setdefault((point.split, column), {})[point.update] = value
    return found


def combine(series: list[Series], epochs: list[Series] | None = None) -> Line:
    """Return mean, lowest and highest over seeds, at the updates that all seeds have measured.

    Otherwise, seeds that stop early would drop out of the mean and bend the line.

    Args:
        series: the values of each seed.
        epochs: the epoch at each update, for each seed; its mean is the position on the horizontal axis. None: the
            update is.
    """
    common = set(series[0]).intersection(*series[1:], *(epochs or ())) if series else set()
    updates = sorted(common)
    values = [[one[update] for one in series] for update in updates]
    places = [mean([one[update] for one in epochs]) for update in updates] if epochs else [float(u) for u in updates]
    return Line(updates, places, [mean(v) for v in values], [min(v) for v in values], [max(v) for v in values])


def _lines(systems: list[CurveSystem], x: CurveAxis) -> dict[str, dict[tuple[str, str], Line]]:
    result: dict[str, dict[tuple[str, str], Line]] = {}
    for system in systems:
        runs = [read_curves(run.curves) for run in system.runs]
        result[system.label] = {}
        for key in {key for run in runs for key in run if key[1] != EPOCH}:
            measured = [run for run in runs if key in run]
            epochs = [run.get((key[0], EPOCH), {}) for run in measured] if x == "epochs" else None
            result[system.label][key] = combine([run[key] for run in measured], epochs)
    return result


def _panel(axes: Axes, title: str, key: tuple[str, str], factor: float, lines: list[Line | None]) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    drawn = False
    for index, line in enumerate(lines):
        if line is None or not line.updates:
            continue
        drawn = True
        colour, dashes = stroke(index)
        marker = "o" if len(line.updates) == 1 else ""
        scaled = [[factor * value for value in values] for values in (line.middle, line.low, line.high)]
        axes.plot(line.places, scaled[0], color=colour, linestyle=dashes, marker=marker, markersize=3)
        axes.fill_between(line.places, scaled[1], scaled[2], color=colour, alpha=0.18, linewidth=0)
    remove_frame(axes)
    axes.set_title(title, pad=5, size=8.5)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    if key[1] == "ppl" and drawn:
        # It falls from thousands to tens: on a linear scale, all but the first updates would look flat.
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    if key[1] == "bleu":
        axes.set_ylim(bottom=0)
    if not drawn:
        axes.text(0.5, 0.5, "not recorded", transform=axes.transAxes, ha="center", va="center", color=GREY)
        axes.set_xticks([])
        axes.set_yticks([])


def _describe(systems: list[CurveSystem], lines: dict[str, dict[tuple[str, str], Line]]) -> str:
    parts = []
    for system in systems:
        line = lines[system.label].get(("valid", "ppl"))
        if line and line.updates:
            parts.append(f"{system.label} {line.middle[-1]:.2f} after {line.updates[-1]} updates")
    return "Training curves. Validation perplexity at the end: " + ("; ".join(parts) or "not measured") + "."
