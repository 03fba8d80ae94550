"""Draw the percentage of right words in generated text as one option changes, a line per kind of word."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field

from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    detail_height,
    heading,
    new_figure,
    remove_frame,
    too_many,
)
from mdnmt.exhibits.generated_words import KINDS, accuracy
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import WordRow
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest


MOST_SYSTEMS = 8  # labels side by side


@register
class SweepSpec(FigureSpec):
    """Percentage of right words in generated text as an option changes: a point per system, a line per kind of word."""

    kind: Literal["word_sweep"] = "word_sweep"
    num_domains: int = Field(ge=1)
    systems: tuple[WordRow, ...]

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        return request.make(cls, systems=request.word_rows(), num_domains=len(request.domains))

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return [run.scores for system in self.systems for run in system.runs]

    def measures(self) -> Iterator[Measure]:
        """Yield `accuracy`, the percentage of right words, by kind of word and seed."""
        for system in self.systems:
            for run in system.runs:
                for kind, value in accuracy(read_json(run.scores)).items():
                    yield Measure(system.method, system.label, run.seed, "accuracy", value, {"kind": kind})

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: a words.json is damaged.
        """
        made = [system for system in self.systems if system.runs]
        if not made:
            reason = next(
                (system.missing for system in self.systems if system.missing), "the study has none of its methods"
            )
            return self.not_drawn(reason)
        if reason := too_many("systems", len(made), MOST_SYSTEMS):
            return self.not_drawn(reason)
        found = [[accuracy(read_json(run.scores)) for run in system.runs] for system in made]
        detail = f"{self.task_first}Right words in percent. Dashed: chance level."
        head = 0.44 + detail_height(detail)
        figure = new_figure(head + 2.6)
        axes = figure.subplots()
        sentences = []
        for number, (kind, label) in enumerate(KINDS.items()):
            heights = [mean([seed[kind] for seed in seeds]) for seeds in found]
            axes.plot(
                range(len(made)), heights, color=COLOURS[number], linestyle=DASHES[number % len(DASHES)],
                marker=MARKERS[number], markersize=9 - 2 * number, label=label, clip_on=False,
            )  # fmt: skip
            sentences.append(f"{label}: {', '.join(half_up(height, 1) for height in heights)}.")
        axes.axhline(100 / self.num_domains, color=GREY, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.set_ylim(0, 102)
        labels = [textwrap.fill(system.label, 66 // len(made)) for system in made]
        axes.set_xticks(range(len(made)), labels)
        lines = max(label.count("\n") for label in labels)
        remove_frame(axes)
        axes.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.12 - 0.08 * lines),
            ncols=len(KINDS),
            handlelength=2.4,
            columnspacing=1.2,
        )
        height = float(figure.get_size_inches()[1])
        figure.subplots_adjust(
            left=0.08, right=0.97, bottom=(0.62 + 0.15 * lines) / height, top=1 - (head + 0.1) / height
        )
        heading(figure, self.title, detail)
        return figure, f"Right words in percent for {', '.join(system.label for system in made)}. {' '.join(sentences)}"
