"""Draw BLEU, and how evenly words are shared, against the smoothing of the proportion (Jiang et al. 2020, sec. 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.paper import analysed_words
from mdnmt.paper.measures import Measure, entropy
from mdnmt.paper.numbers import half_up, mean
from mdnmt.paper.specs import OptionSweepSpec, SweepPoint, SweepRun
from mdnmt.paper.style import COLOURS, DPI, GREY, MARKERS, WIDTH, empty, heading, more_room, quiet

PANELS = {"bleu": "Mean BLEU", "entropy": "Evenness", "prediction": "Domain found (%)"}


@dataclass(frozen=True)
class _Line:
    """A quantity at each value that has it: value -> one number a seed."""

    at: dict[float, list[float]]


def inputs(spec: OptionSweepSpec) -> list[Path]:
    """Return the files that the figure is made from."""
    points = [*spec.points, *([spec.baseline] if spec.baseline else [])]
    runs = [run for point in points for run in point.runs]
    names = ("proportions.npz", "lexicon.json")
    return [run.scores for run in runs] + [run.analysis / n for run in runs if run.analysis for n in names]


def measures(spec: OptionSweepSpec) -> Iterator[Measure]:
    """Yield the measures of each value of the option and each seed.

    `bleu`: mean over domains. `entropy`: of the proportion as the layers use it, smoothed: mean over words, layers and
    sides, from 0 to 1. `prediction`: share of words whose largest proportion is that of their sentence's domain, mean
    over layers and sides, 0 to 1. The baseline has BLEU alone, and no value.
    """
    for point in spec.points:
        for run in point.runs:
            for name, value in _of(run, point.value).items():
                yield Measure(point.method, point.label, run.seed, name, value, {"value": point.value})
    if spec.baseline:
        for run in spec.baseline.runs:
            yield Measure(spec.baseline.method, spec.baseline.label, run.seed, "bleu", _bleu(run.scores))


def _of(run: SweepRun, smoothing: float) -> dict[str, float]:
    found = {"bleu": _bleu(run.scores)}
    sides = analysed_words.read(run.analysis, "proportions") if run.analysis else {}
    even, right = [], []
    for words in sides.values():
        p_LMK = words.values_LMK[:, words.is_word_M]
        # What is analysed is not smoothed yet.
        even += entropy((1 - smoothing) * p_LMK + smoothing / p_LMK.shape[-1]).mean(axis=1).tolist()
        right += (p_LMK.argmax(axis=-1) == words.domain_M[words.is_word_M]).mean(axis=1).tolist()
    return found | ({"entropy": mean(even), "prediction": mean(right)} if even else {})


def _bleu(path: Path) -> float:
    try:
        return float(read_json(path)["mean"]["bleu"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: expected the scores of a run ({error}); score it again") from error


def draw(spec: OptionSweepSpec) -> tuple[Figure, str]:
    """Return the figure and what it shows in words.

    Raises:
        DataError: scores or an analysis are not what they should be.
    """
    made = [point for point in sorted(spec.points, key=lambda point: point.value) if point.runs]
    absent = [f"{point.label}: {point.missing or 'no run'}" for point in spec.points if not point.runs]
    if not made:
        reason = "; ".join(absent) or "the study has none of its methods"
        return empty(spec.full_title, reason), f"Not drawn: {reason}"
    lines = {name: _Line({}) for name in PANELS}
    for point in made:
        for run in point.runs:
            for name, value in _of(run, point.value).items():
                lines[name].at.setdefault(point.value, []).append(100 * value if name == "prediction" else value)
    seeds = max(len(point.runs) for point in made)
    detail = f"{f'{spec.task}. ' if spec.task else ''}{_seeds(seeds)} Evenness: entropy of the smoothed proportions, "
    detail += "1 where domains share a word equally. Domain found: words whose largest proportion is the right one."
    head, foot = 0.5 + more_room(detail), 0.62 + 0.15 * len(absent)
    height = head + 1.9 + foot
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    grid = figure.subplots(1, len(PANELS))
    for number, (axes, (name, title)) in enumerate(zip(grid, PANELS.items(), strict=True)):
        _panel(axes, lines[name], number, title)
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    if spec.baseline and spec.baseline.runs:
        _baseline(grid[0], spec.baseline)
    figure.subplots_adjust(left=0.085, right=0.975, bottom=foot / height, top=1 - (head + 0.22) / height, wspace=0.28)
    figure.text(0.53, (foot - 0.38) / height, "smoothing of the proportion", ha="center")
    for row, text in enumerate(reversed(absent)):
        figure.text(0.012, (0.04 + 0.15 * row) / height, f"Not drawn: {text}", size=8, color=GREY)
    heading(figure, spec.title, detail)
    return figure, _described(lines)


def _seeds(count: int) -> str:
    return "One seed." if count == 1 else "A mark is a seed, the line their mean."


def _panel(axes: Axes, line: _Line, number: int, title: str) -> None:
    quiet(axes)
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
