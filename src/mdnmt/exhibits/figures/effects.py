"""Draw how far systems are from their baseline: ours with an interval over seeds, beside the printed difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from mdnmt.exhibits.baseline_differences import ComparedSystems, Effect, Intervals, effects, trained_effects
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import COLOURS, WIDTH, detail_height, heading, label_differences, new_figure
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import files_of
from mdnmt.numbers.rounding import signed
from mdnmt.numbers.verdicts import MIN_SEEDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

ROW, LETTER = 0.17, 0.06  # inches: height of a row, width of a letter of its label
OURS, PRINTED = COLOURS[0], COLOURS[1]
CALLED: dict[Intervals, str] = {"welch": "Welch", "dunnett": "Dunnett, all systems of a table together"}


@register
class EffectsSpec(FigureSpec):
    """Differences in mean BLEU from the baseline of each table, with 95 % intervals, beside the printed ones."""

    options: ClassVar = ("tables", "intervals")
    kind: Literal["effects"] = "effects"
    intervals: Intervals = "welch"
    tables: tuple[ComparedSystems, ...] = ()

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study, from those tables in the option `tables` that the study shows for the task."""
        return request.make(cls, tables=request.compared_systems)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return list(dict.fromkeys(files_of(row for one in self.tables for row in one.rows)))

    def measures(self) -> Iterator[Measure]:
        """Yield the numbers of each system of each table.

        `difference`: from the baseline, of the means over all seeds. `half_width`: of its 95 % interval. `printed`: the
        difference in the paper.
        """
        for one in self.tables:
            for effect in effects(one, self.intervals):
                numbers = {"difference": effect.ours, "half_width": effect.reach, "printed": effect.printed}
                for name, value in numbers.items():
                    if value is not None:
                        yield Measure(effect.row.method, effect.row.label, None, name, value, {"table": one.label})

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: scores are invalid.
        """
        sections = [(one.label, trained_effects(effects(one, self.intervals))) for one in self.tables]
        sections = [(label, found) for label, found in sections if found]
        if not sections:
            return self.not_drawn("no system with its baseline was scored on all domains")
        shown = [effect for _, found in sections for effect in found]
        seeds = max(effect.num_seeds for effect in shown)
        detail = f"{self.task_first}Mean BLEU over domains, less that of the baseline."
        if any(effect.reach is not None for effect in shown):
            detail += f" Bars: 95 % intervals ({CALLED[self.intervals]}), up to {seeds} seeds."
        if any(effect.reach is None for effect in shown):
            detail += f" Hollow: fewer than {MIN_SEEDS} seeds."
        if any(effect.printed is not None for effect in shown):
            detail += " Printed: on the papers' own text."
        rows = sum(len(found) + 1 for _, found in sections)
        head, foot = 0.5 + detail_height(detail), 0.6
        height = head + ROW * rows + foot
        figure = new_figure(height)
        axes = figure.subplots()
        _rows(axes, sections)
        longest = max(len(name) for label, found in sections for name in (label, *(one.row.label for one in found)))
        figure.subplots_adjust(
            left=min(0.6, 0.07 + LETTER * longest / WIDTH), right=0.97, bottom=foot / height, top=1 - head / height
        )
        figure.legend(loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=2, handles=axes.get_legend_handles_labels()[0])
        heading(figure, self.title, detail)
        return figure, _described(sections)


def _rows(axes: Axes, sections: list[tuple[str, list[Effect]]]) -> None:
    names: list[str] = []
    left = axes.get_yaxis_transform()
    for label, found in sections:
        axes.text(-0.02, -len(names), label, transform=left, ha="right", va="center", weight="bold", size=8)
        names.append("")
        for effect in found:
            _mark(axes, -len(names), effect)
            names.append(effect.row.label)
    label_differences(axes, names)
    axes.plot([], [], color=OURS, marker="o", markersize=4, linestyle="-", label="ours")
    if any(effect.printed is not None for _, found in sections for effect in found):
        axes.plot([], [], color=PRINTED, marker="D", markersize=3, linestyle="", label="printed")


def _mark(axes: Axes, place: float, effect: Effect) -> None:
    assert effect.ours is not None
    filled = OURS if effect.reach is not None else "white"
    if effect.reach is not None:
        axes.plot([effect.ours - effect.reach, effect.ours + effect.reach], [place, place], color=OURS, linewidth=1.4)
    axes.plot([effect.ours], [place], color=OURS, marker="o", markersize=4.5, markerfacecolor=filled, linestyle="")
    if effect.printed is not None:
        # Small and in front, so that both marks show where the two differences are equal.
        axes.plot([effect.printed], [place], color=PRINTED, marker="D", markersize=2.8, linestyle="", zorder=3)


def _described(sections: list[tuple[str, list[Effect]]]) -> str:
    parts = []
    for label, found in sections:
        values = []
        for effect in found:
            text = f"{effect.row.label} {signed(effect.ours or 0.0, 2)}"
            if effect.reach is not None:
                text += f" \N{PLUS-MINUS SIGN}{effect.reach:.2f}"
            values.append(text + (f" (printed {signed(effect.printed, 2)})" if effect.printed is not None else ""))
        parts.append(f"{label}: {', '.join(values)}.")
    return f"Differences in mean BLEU from the baseline. {' '.join(parts)}"
