"""Draw how often ambiguous words get their domain's translation, one row per system (Jiang et al. 2020, sec. 5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from mdnmt.config.base import Frozen
from mdnmt.exhibits import analysis_files
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import (
    FAINT,
    GREY,
    WIDTH,
    detail_height,
    heading,
    legend_grid,
    mark,
    new_figure,
    series_legend,
    too_many,
)
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import Column
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

ROW = 0.3  # inches per system

Counts = dict[str, dict[str, int]]  # domain -> {"words", "right", "confused"}


class NamedSystem(Frozen):
    """A system by its key in a file of several systems, or the reason why the file lacks it."""

    label: str
    method: str
    missing: str | None = None


@register
class AmbiguitySpec(FigureSpec):
    """How often ambiguous words get their domain's translation, one row per system (Jiang et al. 2020, sec. 5)."""

    reads_ambiguous_words: ClassVar = True
    kind: Literal["ambiguity"] = "ambiguity"
    ambiguity: Path | None = None  # ambiguity.json, written by `mdnmt ambiguity`
    systems: tuple[NamedSystem, ...]
    domains: tuple[Column, ...] = ()
    missing: str | None = None

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        systems = tuple(
            NamedSystem(label=runs[0].label, method=runs[0].directory, missing=runs[0].missing)
            for runs in request.systems
        )
        return request.make(cls, systems=systems, domains=request.domains, **request.ambiguous_words())

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return [self.ambiguity] if self.ambiguity else []

    def measures(self) -> Iterator[Measure]:
        """Yield how each system and seed translates ambiguous words, by domain.

        `num_words`: number of ambiguous words in the test sentences. `accuracy`: share with the translation of their
        domain, 0 to 1. `confused`: share with the translation of another domain instead.
        """
        runs = _runs(self)
        for system in self.systems:
            for seed, counts in runs.get(system.method, {}).items():
                for domain, values in counts.items():
                    at = {"domain": domain}
                    yield Measure(system.method, system.label, seed, "num_words", float(values["words"]), at)
                    if values["words"]:
                        for name, key in (("accuracy", "right"), ("confused", "confused")):
                            yield Measure(system.method, system.label, seed, name, values[key] / values["words"], at)

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words; with several seeds it shows the mean of their shares.

        Raises:
            DataError: the file is damaged.
        """
        runs = _runs(self)
        made = [system for system in self.systems if system.method in runs]
        absent = [
            f"{system.label}: {system.missing or 'no translations'}" for system in self.systems if system not in made
        ]
        cases: Counts = next(iter(runs[made[0].method].values())) if made else {}
        names = [column.name for column in self.domains if column.name in cases] or list(cases)
        names = [name for name in names if cases[name]["words"]]
        if not names:
            no_words = "no test sentence has an ambiguous word whose translation is known"
            return self.not_drawn(self.missing or (no_words if made else "; ".join(absent) or "no system was judged"))
        if reason := too_many("domains", len(names)):
            return self.not_drawn(reason)
        labels = analysis_files.labels(names, self.domains)
        detail = f"{self.task_first}{_seeds_note(runs, made)} In brackets: number of words."
        text_height = detail_height(detail)
        counted = [f"{label} ({cases[name]['words']})" for name, label in zip(names, labels, strict=True)]
        columns, legend_height = legend_grid(counted, 0.38)
        head, foot = 0.76 + text_height + legend_height, 0.5 + 0.15 * len(absent)
        height = head + ROW * len(made) + foot
        figure = new_figure(height)
        axes = figure.subplots()
        shares = [_shares(list(runs[system.method].values()), names) for system in made]
        _dots(axes, [system.label for system in made], shares)
        left = 0.25 + 0.075 * max(len(system.label) for system in made)
        figure.subplots_adjust(left=left / WIDTH, right=0.97, bottom=foot / height, top=1 - (head + 0.02) / height)
        figure.text(0.5 + left / WIDTH / 2, (foot - 0.4) / height, "% translated as the domain does", ha="center")
        series_legend(figure, counted, 1 - (0.46 + text_height) / height, columns)
        for row, text in enumerate(reversed(absent)):
            figure.text(0.012, (0.03 + 0.15 * row) / height, f"Not drawn: {text}", size=8, color=GREY)
        heading(figure, self.title, detail)
        return figure, _described(made, shares, labels)


def _runs(spec: AmbiguitySpec) -> dict[str, dict[int | None, Counts]]:
    """Return method -> seed -> counts."""
    found: dict[str, dict[int | None, Counts]] = {}
    for system in read_json(spec.ambiguity)["systems"] if spec.ambiguity else ():
        found.setdefault(system["method"], {})[system["seed"]] = system["domains"]
    return found


def _seeds_note(runs: dict[str, dict[int | None, Counts]], made: list[NamedSystem]) -> str:
    most = max(len(runs[system.method]) for system in made)
    return "One seed." if most == 1 else "Mean over seeds."


def _shares(seeds: list[Counts], names: list[str]) -> list[float]:
    return [mean([100 * counts[name]["right"] / counts[name]["words"] for counts in seeds]) for name in names]


def _dots(axes: Axes, labels: list[str], shares: list[list[float]]) -> None:
    places = range(len(labels))
    for place, values in zip(places, shares, strict=True):
        axes.plot([min(values), max(values)], [place, place], color=FAINT, linewidth=2, zorder=1)
    for domain, of_systems in enumerate(zip(*shares, strict=True)):
        colour, marker = mark(domain)
        axes.plot(of_systems, places, marker=marker, color=colour, linestyle="", markersize=6, alpha=0.9, clip_on=False)
    axes.set_yticks(places, labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)


def _described(made: list[NamedSystem], shares: list[list[float]], labels: list[str]) -> str:
    parts: list[Any] = [
        f"{system.label}: "
        + ", ".join(f"{label} {half_up(value, 1)} %" for label, value in zip(labels, values, strict=True))
        for system, values in zip(made, shares, strict=True)
    ]
    return f"Ambiguous words translated as their domain does. {'; '.join(parts)}."
