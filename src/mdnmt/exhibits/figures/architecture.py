"""Draw a method's architecture, read from its own model, with a table of its blocks."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import COLOURS, GREY, INK, WIDTH, detail_height, heading, new_figure
from mdnmt.exhibits.registry import FigureSpec, register

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest
    from mdnmt.exhibits.model_structure import Block, Structure

# In inches: a line of text, a box of the drawing, the space between boxes, the width of a stack.
LINE, BOX, GAP, STACK = 0.135, 0.2, 0.06, 1.9
CHARACTERS = 84  # on a line of text as wide as the figure
BESIDE = ("decoder.memory_conditioner", "classifiers.encoder")  # they read the encoder's output but do not change it
FILLS = {"plain": "#f3f4f6", "exchanged": "#dbe9f4", "added": "#fde8da"}
EDGES = {"plain": "#9aa3ad", "exchanged": COLOURS[0], "added": COLOURS[1]}


class ArchitectureSystem(Frozen):
    """A method with everything that its model depends on, except the vocabulary."""

    label: str
    method: str
    builder: str  # a module of mdnmt.methods, or a plug-in
    architecture: dict[str, Any]  # all options of the builder
    code: dict[str, str] = Field({})  # of a plug-in: an edit draws the figure again
    num_domains: int = Field(ge=1)


@register
class ArchitectureSpec(FigureSpec):
    """The parts that a method exchanges in the Transformer or adds to it (Jiang et al. 2020, Fig. 3 to 5)."""

    depends_on_task: ClassVar = False
    kind: Literal["architecture"] = "architecture"
    systems: tuple[ArchitectureSystem, ...] = Field(min_length=1)

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        systems = tuple(
            ArchitectureSystem(
                label=runs[0].label,
                method=runs[0].directory,
                builder=runs[0].planned.builder,
                architecture=runs[0].planned.architecture,
                code=runs[0].planned.code,
                num_domains=len(request.domains),
            )
            for runs in request.systems
        )
        return request.make(cls, systems=systems)

    def inputs(self) -> list[Path]:
        """Return no files: only the model is needed."""
        return []

    def measures(self) -> Iterator[Measure]:
        """Yield the numbers of parameters of each system and its blocks, without word embeddings."""
        for system in self.systems:
            found = structure_of(system)
            if found is None:
                continue
            numbers = {"all but embeddings": found.parameters, "plain Transformer": found.plain}
            numbers |= {part.module: part.parameters for part in found.parts if part.parameters}
            for part, number in numbers.items():
                yield Measure(system.method, system.label, None, "num_parameters", float(number), {"part": part})

    def draw(self) -> tuple[Figure, str]:
        """Return the figure, one system below the other, and a description in words."""
        found = [(system.label, structure_of(system)) for system in self.systems]
        panels = [_Panel(label, shown) for label, shown in found if shown is not None]
        absent = [f"{label} is not shown: its weights come from elsewhere." for label, shown in found if shown is None]
        if not panels:
            return self.not_drawn(" ".join(absent))
        detail = self.task_first + " ".join(
            [
                "Drawn from the models, upwards. Grey: as in the plain Transformer; blue: exchanged; orange: added.",
                "Parameters are summed over layers, without word embeddings and layer norms; shared ones count once.",
                *absent,
            ]
        )
        head = 0.5 + detail_height(detail)
        height = head + sum(panel.height for panel in panels)
        figure = new_figure(height)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(0, height))
        axes.axis("off")
        top = height - head
        for panel in panels:
            panel.draw(axes, top)
            top -= panel.height
        heading(figure, self.title, detail)
        return figure, " ".join([*(panel.in_words for panel in panels), *absent])


class _Panel:
    """The drawing and the table of one system."""

    def __init__(self, label: str, shown: Structure) -> None:
        self.label, self.shown = label, shown
        kinds = dict.fromkeys(sentence for part in shown.parts for sentence in part.what)
        self.marks = {sentence: "abcdefghijklmnop"[number] for number, sentence in enumerate(kinds)}
        self.summary = textwrap.wrap(_summary(shown), CHARACTERS)
        notes = [f"{mark}: {sentence}." for sentence, mark in self.marks.items()]
        notes += [f"Loss {name}: {sentence}." for name, sentence in shown.losses.items()]
        self.notes = [line for note in notes for line in textwrap.wrap(note, CHARACTERS, subsequent_indent="    ")]
        self.rows = [(part, textwrap.wrap(_trained(part), 25) or [""]) for part in shown.parts]

    @property
    def height(self) -> float:
        """Return the height in inches."""
        lines = len(self.summary) + 1 + sum(len(losses) for _, losses in self.rows) + len(self.notes)
        return 0.3 + self.drawing_height + 0.25 + LINE * lines + 0.25

    @property
    def drawing_height(self) -> float:
        """Return the height of the taller stack in inches."""
        return max(_stack_height(parts) for _, parts in groupby(self.shown.parts, key=lambda part: part.stack))

    @property
    def in_words(self) -> str:
        """Return the table as sentences."""
        rows = [
            f"{part.stack}, {part.title}{f' in {part.layers} layers' if part.layers else ''}: {part.status}"
            f"{''.join(f'; {what}' for what in part.what)}; {millions(part.parameters) or 'no'} parameters; "
            f"trained by: {_trained(part) or 'nothing'}."
            for part in self.shown.parts
        ]
        losses = [f"Loss {name}: {says}." for name, says in self.shown.losses.items()]
        return " ".join([f"{self.label}: {_summary(self.shown)}", *rows, *losses])

    def draw(self, axes: Axes, top: float) -> None:
        """Draw the panel below the height `top`."""
        _text(axes, 0.06, top - 0.05, self.label, size=9.5, weight="bold")
        y = top - 0.22
        for line in self.summary:
            _text(axes, 0.06, y, line, colour=GREY)
            y -= LINE
        y -= 0.08 + self.drawing_height
        ends = {
            stack: self._stack(axes, list(parts), 0.3 if stack == "Encoder" else WIDTH - 0.3 - STACK, y)
            for stack, parts in groupby(self.shown.parts, key=lambda part: part.stack)
        }
        (start, _), (_, level) = ends["Encoder"], ends["Decoder"]
        middle = WIDTH / 2
        axes.plot([0.3 + STACK, middle, middle], [start, start, level], color=INK, linewidth=1.0)
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=(WIDTH - 0.3 - STACK, level), xytext=(middle, level), arrowprops=arrow)
        self._table(axes, y - 0.2)

    def _stack(self, axes: Axes, parts: list[Block], x: float, y: float) -> tuple[float, float]:
        """Draw a stack from the bottom up; return the heights of its output and of its cross-attention."""
        from matplotlib.patches import Rectangle

        output = cross = y
        _text(axes, x + STACK / 2, y, parts[0].stack, weight="bold", ha="center", va="bottom")
        y += LINE + GAP
        for layers, group in groupby(parts, key=lambda part: part.layers):
            inside = list(group)
            if layers:
                size = len(inside) * (BOX + GAP) + GAP
                frame = Rectangle((x, y), STACK, size, facecolor="none", edgecolor=GREY, linewidth=0.8)
                axes.add_patch(frame)
                outside, side = (x - 0.04, "right") if x < WIDTH / 2 else (x + STACK + 0.04, "left")
                _text(axes, outside, y + size / 2, f"{layers} \N{MULTIPLICATION SIGN}", ha=side, va="center")
                y += GAP
            for part in inside:
                inset = 0.07 if layers else 0.0
                box = Rectangle(
                    (x + inset, y),
                    STACK - 2 * inset,
                    BOX,
                    facecolor=FILLS[part.status],
                    edgecolor=EDGES[part.status],
                    linewidth=0.7 if part.status == "plain" else 1.3,
                )
                axes.add_patch(box)
                _text(axes, x + STACK / 2, y + BOX / 2, part.title, ha="center", va="center")
                cross = y + BOX / 2 if part.title == "Cross-attention" else cross
                if part.module not in BESIDE:
                    output = y + BOX / 2
                y += BOX + GAP
            y += GAP if layers else 0
        return output, cross

    def _table(self, axes: Axes, y: float) -> None:
        columns = ((0.06, "left"), (1.95, "left"), (3.3, "right"), (3.42, "left"))
        cells = ("Block", "Status", "Parameters", "Trained by")
        for (x, side), words in zip(columns, cells, strict=True):
            _text(axes, x, y, words, weight="bold", ha=side, va="baseline")
        for part, losses in self.rows:
            y -= LINE
            marks = ", ".join(self.marks[sentence] for sentence in part.what)
            status = f"{part.status} ({marks})" if marks else part.status
            cells = (f"{part.stack}: {part.title}", status, millions(part.parameters), losses[0])
            colour = INK if part.status == "plain" else EDGES[part.status]
            for (x, side), words in zip(columns, cells, strict=True):
                _text(axes, x, y, words, ha=side, va="baseline", colour=colour)
            for line in losses[1:]:
                y -= LINE
                _text(axes, columns[-1][0], y, line, va="baseline", colour=colour)
        y -= 0.06
        for line in self.notes:
            y -= LINE
            _text(axes, 0.06, y, line, va="baseline", colour=GREY)


def _stack_height(parts: Iterator[Block]) -> float:
    groups = [(layers, len(list(group))) for layers, group in groupby(parts, key=lambda part: part.layers)]
    return LINE + GAP + sum(number * (BOX + GAP) + (2 * GAP if layers else 0) for layers, number in groups)


def _text(
    axes: Axes, x: float, y: float, text: str, *, size: float = 7.6, weight: str = "normal", colour: str = INK,
    ha: str = "left", va: str = "top",
) -> None:  # fmt: skip
    axes.text(x, y, text, size=size, weight=weight, color=colour, ha=ha, va=va)


def _trained(part: Block) -> str:
    """Return the losses that train a block; empty if it has no parameters of its own."""
    if part.losses:
        return ", ".join(part.losses)
    return "no loss" if part.parameters else ""


def _summary(shown: Structure) -> str:
    same = shown.parameters == shown.plain
    beside = "as the plain Transformer" if same else f"{shown.parameters / shown.plain:.2f} times the plain Transformer"
    gold = " Needs the gold domain to translate." if shown.needs_domain else ""
    return f"{shown.sizes.capitalize()}. {millions(shown.parameters)} parameters without embeddings, {beside}.{gold}"


def millions(parameters: int) -> str:
    """Return a number of parameters as text (1.05 M, 1.5 k), empty for 0."""
    if parameters >= 10**5:
        return f"{parameters / 1e6:.2f} M"
    return f"{parameters / 1e3:.1f} k" if parameters >= 1000 else str(parameters or "")


def structure_of(system: ArchitectureSystem) -> Structure | None:
    """Return the structure of a system; None for pretrained weights, whose model is not built here.

    Raises:
        ConfigError: its builder does not know an option.
    """
    # JSON, so that it can be a cache key: building the model takes seconds.
    return _structure(system.builder, json.dumps(system.architecture, sort_keys=True), system.num_domains)


@cache
def _structure(builder: str, architecture: str, num_domains: int) -> Structure | None:
    # Imported here, so that other figures do not wait for torch.
    from mdnmt.exhibits.model_structure import structure
    from mdnmt.methods import pretrained

    return None if pretrained(builder) else structure(builder, json.loads(architecture), num_domains)
