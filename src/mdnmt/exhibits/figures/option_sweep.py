"""Draw BLEU, and how evenly domains share words, against the proportion's smoothing (Jiang et al. 2020, sec. 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from mdnmt.config.base import Frozen
from mdnmt.errors import DataError
from mdnmt.exhibits import word_values
from mdnmt.exhibits.figure_numbers import Measure, entropy
from mdnmt.exhibits.figure_style import COLOURS, GREY, MARKERS, detail_height, heading, new_figure, remove_frame
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import ScoreRun
from mdnmt.numbers.rounding import half_up, mean
from mdnmt.numbers.score_file import read_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

PANELS = {"bleu": "Mean BLEU", "entropy": "Evenness", "prediction": "Domain found (%)"}


class SweepRun(ScoreRun):
    """The scores of one run and its analysis."""

    analysis: Path | None = None


class SweepPoint(Frozen):
    """One value of an option: the runs of the method that has it, or the reason why there is none."""

    value: float
    label: str
    method: str = ""
    runs: tuple[SweepRun, ...] = ()
    missing: str | None = None


@register
class OptionSweepSpec(FigureSpec):
    """BLEU, and how evenly words are shared among domains, against the smoothing of WALDM's proportion (sec. 3.1)."""

    kind: Literal["option_sweep"] = "option_sweep"
    points: tuple[SweepPoint, ...]
    baseline: SweepPoint | None = None  # a system without the option, drawn as a line; its `value` is ignored

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        points, baseline = [], None
        for runs in request.systems:
            found = request.files(runs, lambda run: f"{request.places.test(run)}/scores.json")
            made = tuple(
                SweepRun(scores=path, seed=run.seed, analysis=request.file(request.places.analysis(run)))
                for run, path in found
            )
            missing = request.why_missing(made, runs[0])
            value = runs[0].planned.architecture.get("proportion_smoothing")
            point = SweepPoint(
                value=value or 0.0, label=runs[0].label, method=runs[0].directory, runs=made, missing=missing
            )
            if value is not None:
                points.append(point)
            else:
                baseline = baseline or point
        return request.make(cls, points=tuple(points), baseline=baseline)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        points = [*self.points, *([self.baseline] if self.baseline else [])]
        runs = [run for point in points for run in point.runs]
        names = ("proportions.npz", "lexicon.json")
        return [run.scores for run in runs] + [run.analysis / n for run in runs if run.analysis for n in names]

    def measures(self) -> Iterator[Measure]:
        """Yield the measures of each value of the option and each seed.

        `bleu`: mean over domains. `entropy`: of the proportion as the layers use it, smoothed: mean over words, layers
        and sides, from 0 to 1. `prediction`: share of words whose largest proportion is that of their sentence's
        domain, mean over layers and sides, 0 to 1. The baseline has only BLEU, and no value.
        """
        for point in self.points:
            for run in point.runs:
                for name, value in _of(run, point.value).items():
                    yield Measure(point.method, point.label, run.seed, name, value, {"value": point.value})
        if self.baseline:
            for run in self.baseline.runs:
                yield Measure(self.baseline.method, self.baseline.label, run.seed, "bleu", _bleu(run.scores))

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: scores or an analysis are invalid.
        """
        made = [point for point in sorted(self.points, key=lambda point: point.value) if point.runs]
        absent = [f"{point.label}: {point.missing or 'no run'}" for point in self.points if not point.runs]
        if not made:
            return self.not_drawn("; ".join(absent) or "the study has none of its methods")
        lines = {name: _Line({}) for name in PANELS}
        for point in made:
            for run in point.runs:
                for name, value in _of(run, point.value).items():
                    lines[name].at.setdefault(point.value, []).append(100 * value if name == "prediction" else value)
        seeds = max(len(point.runs) for point in made)
        detail = f"{self.task_first}{_seeds(seeds)} Evenness: entropy of the smoothed proportions, "
        detail += "1 where domains share a word equally. Domain found: words whose largest proportion is the right one."
        head, foot = 0.5 + detail_height(detail), 0.62 + 0.15 * len(absent)
        height = head + 1.9 + foot
        figure = new_figure(height)
        grid = figure.subplots(1, len(PANELS))
        for number, (axes, (name, title)) in enumerate(zip(grid, PANELS.items(), strict=True)):
            _panel(axes, lines[name], number, title)
            axes.set_xlim(-0.04, 1.04)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        if self.baseline and self.baseline.runs:
            _baseline(grid[0], self.baseline)
        figure.subplots_adjust(
            left=0.085, right=0.975, bottom=foot / height, top=1 - (head + 0.22) / height, wspace=0.28
        )
        figure.text(0.53, (foot - 0.38) / height, "smoothing of the proportion", ha="center")
        for row, text in enumerate(reversed(absent)):
            figure.text(0.012, (0.04 + 0.15 * row) / height, f"Not drawn: {text}", size=8, color=GREY)
        heading(figure, self.title, detail)
        return figure, _described(lines)


@dataclass(frozen=True)
class _Line:
    """A quantity at each value of the option: value -> one number per seed."""

    at: dict[float, list[float]]


def _of(run: SweepRun, smoothing: float) -> dict[str, float]:
    found = {"bleu": _bleu(run.scores)}
    sides = word_values.read(run.analysis, "proportions") if run.analysis else {}
    even, right = [], []
    for words in sides.values():
        p_LMK = words.values_LMK[:, words.is_word_M]
        # Analyses store proportions without smoothing.
        even += entropy((1 - smoothing) * p_LMK + smoothing / p_LMK.shape[-1]).mean(axis=1).tolist()
        right += (p_LMK.argmax(axis=-1) == words.domain_M[words.is_word_M]).mean(axis=1).tolist()
    return found | ({"entropy": mean(even), "prediction": mean(right)} if even else {})


def _bleu(path: Path) -> float:
    if (found := read_scores(path).mean.get("bleu")) is None:
        raise DataError(f"{path}: has no mean BLEU; score the run again")
    return found


def _seeds(count: int) -> str:
    return "One seed." if count == 1 else "Each mark is a seed; the line is their mean."


def _panel(axes: Axes, line: _Line, number: int, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    remove_frame(axes)
    axes.set_title(title, pad=5, size=8.5)
    if not line.at:
        axes.text(0.5, 0.5, "not analysed", transform=axes.transAxes, ha="center", va="center", color=GREY)
        axes.set_yticks([])
        return
    colour, marker = COLOURS[number], MARKERS[number]
    for value, found in line.at.items():
        axes.plot([value] * len(found), found, color=colour, marker=marker, markersize=4, linestyle="", clip_on=False)
    axes.plot(list(line.at), [mean(found) for found in line.at.values()], color=colour)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    lowest, highest = axes.get_ylim()
    if number:
        axes.set_ylim(0, max(highest, 1.02 if number == 1 else 102))
    else:
        axes.set_ylim(lowest - 0.15 * (highest - lowest), highest)


def _baseline(axes: Axes, baseline: SweepPoint) -> None:
    height = mean([_bleu(run.scores) for run in baseline.runs])
    axes.axhline(height, color=GREY, linewidth=0.9, linestyle=(0, (2, 2)))
    axes.annotate(baseline.label, (1.0, height), (0, 2), textcoords="offset points", ha="right", size=8, color=GREY)
    lowest, highest = axes.get_ylim()
    room = 0.1 * float(np.ptp([lowest, highest, height]))
    axes.set_ylim(min(lowest, height - room), max(highest, height + 2 * room))


def _described(lines: dict[str, _Line]) -> str:
    parts = []
    for name, title in PANELS.items():
        values = ", ".join(f"{half_up(mean(f), 2)} at {value:g}" for value, f in lines[name].at.items())
        parts.append(f"{title}: {values or 'not analysed'}.")
    return f"Against the smoothing of the proportion. {' '.join(parts)}"
