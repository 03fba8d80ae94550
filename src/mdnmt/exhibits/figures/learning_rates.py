"""Draw the validation loss of each system under each learning rate of a sweep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from mdnmt.config.base import Frozen
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import INK, WIDTH, detail_height, heading, label_rows, mark, new_figure
from mdnmt.exhibits.registry import FigureSpec, register

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

ROW, LETTER = 0.17, 0.06  # inches: height of a row, width of a letter of its label


class SweptSystem(Frozen):
    """A system of a sweep: rate -> validation loss per token (None: training failed), and the rate that was chosen."""

    label: str
    method: str
    chosen: float
    losses: dict[float, float | None]


@register
class LearningRatesSpec(FigureSpec):
    """Validation loss under each learning rate of the sweep that a study takes its rates from."""

    kind: Literal["learning_rates"] = "learning_rates"
    systems: tuple[SweptSystem, ...] = ()

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study: all systems of the sweep, whether the study trains them or not."""
        table, known = request.study.learning_rates, request.study.methods
        systems = tuple(
            SweptSystem(
                label=known[name].label if name in known else name,
                method=name,
                chosen=swept.learning_rate,
                losses=swept.validation_loss,
            )
            for name, swept in (table.methods.items() if table else ())
        )
        return request.make(cls, systems=systems)

    def inputs(self) -> list[Path]:
        """Return no files: the losses are part of the configuration."""
        return []

    def measures(self) -> Iterator[Measure]:
        """Yield `validation_loss` of each system and rate, and `chosen`: 1 for the chosen rate, 0 for others."""
        for one in self.systems:
            for rate, loss in one.losses.items():
                if loss is not None:
                    yield Measure(one.method, one.label, None, "validation_loss", loss, {"learning_rate": rate})
                    yield Measure(one.method, one.label, None, "chosen", rate == one.chosen, {"learning_rate": rate})

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words."""
        if not self.systems:
            return self.not_drawn("the study takes its learning rates from no sweep")
        rates = sorted({rate for one in self.systems for rate in one.losses})
        detail = "Validation loss per token at the end of training, one run per rate. Ringed: the chosen rate."
        head, foot = 0.5 + detail_height(detail), 0.7
        height = head + ROW * len(self.systems) + foot
        figure = new_figure(height)
        axes = figure.subplots()
        places = [-number for number in range(len(self.systems))]
        for number, rate in enumerate(rates):
            found = [(loss, at) for one, at in zip(self.systems, places, strict=True) if (loss := one.losses.get(rate))]
            colour, marker = mark(number)
            axes.plot(
                [loss for loss, _ in found],
                [at for _, at in found],
                color=colour,
                marker=marker,
                markersize=4,
                linestyle="",
                label=f"rate {rate:g}",
            )
        chosen = [(one.losses[one.chosen], at) for one, at in zip(self.systems, places, strict=True)]
        axes.plot(*zip(*chosen, strict=True), color=INK, marker="o", markersize=8, markerfacecolor="none", linestyle="")
        label_rows(axes, [one.label for one in self.systems], "validation loss")
        longest = max(len(one.label) for one in self.systems)
        figure.subplots_adjust(
            left=min(0.6, 0.05 + LETTER * longest / WIDTH), right=0.97, bottom=foot / height, top=1 - head / height
        )
        figure.legend(loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=len(rates))
        heading(figure, self.title, detail)
        return figure, _described(self.systems)


def _described(systems: tuple[SweptSystem, ...]) -> str:
    parts = []
    for one in systems:
        losses = (
            f"{rate:g}: " + ("failed" if loss is None else f"{loss:.2f}") for rate, loss in sorted(one.losses.items())
        )
        parts.append(f"{one.label} {', '.join(losses)} (chosen: {one.chosen:g})")
    return f"Validation loss by learning rate. {'; '.join(parts)}."
