"""Where the boxes and arrows of an architecture stand, in inches, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from mdnmt.paper.diagram_parts import Block, Layers, Link, Stack, Status, Structure
from mdnmt.paper.diagram_words import millions, summary, trains
from mdnmt.paper.style import COLOURS, GREY, INK, WIDTH

MARGIN, COLUMN, INSET = 0.32, 2.05, 0.07  # outside the stacks, of a stack, of a block in its layer
GAP, PAD = 0.11, 0.055  # between boxes, between a box and its text
TITLE, TEXT = 8.2, 7.6  # points
LEADING = 0.128  # inches of a line
RAIL = 0.075  # between the lines of two losses
LANE = 0.16  # beside a block that words pass by
HEAD_OF_FRAME = 0.2
FULL = WIDTH - 2 * MARGIN
FILLS: dict[Status, str] = {"plain": "#f3f4f6", "exchanged": "#dbe9f4", "added": "#fde8da"}
EDGES: dict[Status, str] = {"plain": "#9aa3ad", "exchanged": COLOURS[0], "added": COLOURS[1]}
SIGNS: dict[Status, str] = {"plain": "", "exchanged": "\N{NOT EQUAL TO} ", "added": "+ "}
LOSS_COLOURS = (COLOURS[6], COLOURS[2], COLOURS[3], COLOURS[5])


@cache
def _width(text: str, size: float, weight: str) -> float:
    """Return the width of a text in inches."""
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight=weight, size=size)
    # Letters as they are drawn stand a little wider than the font says.
    return 1.06 * float(text_to_path.get_text_width_height_descent(text, font, False)[0]) / 72


def wrapped(text: str, width: float, size: float = TEXT, weight: str = "normal") -> list[str]:
    """Return the lines of a text that is to be no wider than so many inches."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _width(longer, size, weight) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


@dataclass(frozen=True)
class Box:
    """A block with its text broken into lines."""

    block: Block
    width: float

    @property
    def title(self) -> str:
        """Return the title with its sign."""
        return f"{SIGNS[self.block.status]}{self.block.title}"

    @property
    def number(self) -> str:
        """Return the number of parameters."""
        return millions(self.block.parameters) if self.block.parameters else ""

    @property
    def has_room(self) -> bool:
        """Return whether the number stands beside the title."""
        taken = _width(self.title, TITLE, "bold") + _width(self.number, TEXT, "normal")
        return taken + 0.08 <= self.width - 2 * PAD or not self.number

    @property
    def lines(self) -> list[str]:
        """Return the lines below the title; the first is empty where the title leaves no room for the number."""
        return [""] * (not self.has_room) + [
            line for text in self.block.lines for line in wrapped(text, self.width - 2 * PAD - 0.02)
        ]

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return 2 * PAD + LEADING * (1.1 + len(self.lines))


@dataclass(frozen=True)
class LossBox:
    """A loss with its text broken into lines."""

    loss: Link
    trains: str

    @property
    def lines(self) -> list[str]:
        """Return the lines below the name."""
        return [line for text in (self.loss.says, self.trains) for line in wrapped(text, FULL - 2 * PAD)]

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return 2 * PAD + LEADING * (1.1 + len(self.lines))


@dataclass(frozen=True)
class Panel:
    """One system's part of the figure."""

    label: str
    shown: Structure

    @property
    def head(self) -> list[str]:
        """Return the lines below the system's name."""
        return wrapped(summary(self.shown), WIDTH - 0.1)

    @property
    def losses(self) -> list[LossBox]:
        """Return the losses, the generation loss first."""
        return [LossBox(loss, trains(self.shown, loss)) for loss in self.shown.losses]

    @property
    def stacks_height(self) -> float:
        """Return the height of the higher one of the stacks."""
        return max(_stack_height(self.shown.encoder), _stack_height(self.shown.decoder))

    @property
    def height(self) -> float:
        """Return the height in inches."""
        before = sum(Box(block, FULL).height + GAP for block in self.shown.before)
        losses = sum(box.height + GAP for box in self.losses)
        return 0.32 + LEADING * len(self.head) + losses + self.stacks_height + before + 0.24


def _stack_height(stack: Stack) -> float:
    return LEADING + sum(
        GAP + (_frame_height(item) if isinstance(item, Layers) else _box(item, COLUMN).height) for item in stack.items
    )


def _foot(layers: Layers) -> float:
    """Return the height of what stands below the first block in its frame: words, and their way past the block."""
    return HEAD_OF_FRAME + GAP * layers.blocks[0].beside


def _frame_height(layers: Layers) -> float:
    boxes = [_box(block, COLUMN - 2 * INSET) for block in layers.blocks]
    return _foot(layers) + sum(box.height + GAP for box in boxes) - GAP + INSET


def _box(block: Block, width: float) -> Box:
    """Return the box of a block in a column so wide, narrower where words pass it by."""
    return Box(block, width - LANE if block.beside else width)


class Canvas:
    """Draws panels on axes that cover the whole figure; one unit is one inch."""

    legend_height = 0.92

    def __init__(self, axes: Axes, height: float) -> None:
        self.axes = axes
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(0, height)
        axes.axis("off")
        self.places: dict[str, tuple[float, float, float]] = {}  # module -> left, right, middle
        self.memory_from = self.memory_to = (0.0, 0.0)

    def panel(self, panel: Panel, top: float) -> None:
        """Draw one system below the height `top`."""
        self.places = {}
        self._text(0.06, top - 0.1, panel.label, size=9.5, weight="bold")
        for number, line in enumerate(panel.head):
            self._text(0.06, top - 0.26 - LEADING * number, line, colour=GREY)
        bottom = top - panel.height + 0.12
        for block in panel.shown.before:
            box = Box(block, FULL)
            self._box(box, MARGIN, bottom)
            bottom += box.height + GAP
        self._stack(panel.shown.encoder, MARGIN, bottom)
        end = self._stack(panel.shown.decoder, WIDTH - MARGIN - COLUMN, bottom)
        self._memory()
        y = bottom + panel.stacks_height + GAP
        self._arrow((WIDTH - MARGIN - COLUMN / 2, end), (WIDTH - MARGIN - COLUMN / 2, y))
        for number, loss in enumerate(panel.losses):
            self._loss(loss, y, number)
            y += loss.height + GAP

    def legend(self) -> None:
        """Say at the foot what colours and lines mean."""
        y = self.legend_height - 0.14
        for number, (status, says) in enumerate(
            (("plain", "as in the Transformer"), ("exchanged", "exchanged"), ("added", "added"))
        ):
            x = 0.1 + (0, 1.85, 3.1)[number]
            self._patch(x, y - 0.05, 0.2, 0.12, status)  # type: ignore[arg-type]
            self._text(x + 0.27, y + 0.01, f"{SIGNS[status]}{says}", va="center")  # type: ignore[index]
        for dashed, says in (
            (False, "read by a loss; its gradient goes on into what stands below"),
            (True, "read by a loss; no gradient goes on from there"),
        ):
            y -= 0.19
            self.axes.plot([0.1, 0.3], [y, y], color=LOSS_COLOURS[1], linestyle=_dashes(dashed), linewidth=1.2)
            self._text(0.37, y, says, va="center")
        says = "Numbers: parameters; those that several parts share, and layer norms, are left out."
        self._text(0.1, y - 0.19, says, colour=GREY, va="center")

    def _stack(self, stack: Stack, x: float, bottom: float) -> float:
        """Draw a stack and return the height of its upper end."""
        self._text(x + COLUMN / 2, bottom + 0.02, stack.name, weight="bold", size=TITLE, ha="center", va="bottom")
        passed = self._column(stack.items, x, COLUMN, bottom + LEADING + GAP, None)
        if stack.name == "Encoder":
            self.memory_from = (x + COLUMN / 2, passed)
        return bottom + _stack_height(stack)

    def _column(self, items: Sequence[Block | Layers], x: float, width: float, y: float, passed: float | None) -> float:
        """Draw boxes and frames from below, and the way of the words through them.

        Args:
            items: what stands in the column.
            x: its left edge.
            width: its width.
            y: lower edge of the first item.
            passed: where the words come from; None: they enter with the first item.

        Returns:
            The upper edge of the last item that the words went through.
        """
        by_the_lane = False
        for item in items:
            beside = isinstance(item, Block) and item.beside
            if passed is not None and not beside:
                self._way(x, width, passed, y, by_the_lane)
            if isinstance(item, Layers):
                height = self._frame(item, x, y)
            else:
                box = _box(item, width)
                self._box(box, x + width - box.width, y)
                height = box.height
            if beside:
                # It reads the words that pass.
                self._lane(x, width, passed if passed is not None else y, y + height / 4)
                self._arrow((x + LANE / 2, y + height / 4), (x + LANE, y + height / 4))
            else:
                passed = y + height
            by_the_lane = beside
            y += height + GAP
        return passed if passed is not None else y

    def _way(self, x: float, width: float, start: float, end: float, by_the_lane: bool) -> None:
        """Lead words from the height `start` to `end`, past what stands beside them if need be."""
        centre = x + width / 2
        if by_the_lane:
            self._lane(x, width, start, end - GAP / 2)
            self._line([x + LANE / 2, centre], [end - GAP / 2, end - GAP / 2])
            start = end - GAP / 2
        self._arrow((centre, start), (centre, end))

    def _lane(self, x: float, width: float, start: float, end: float) -> None:
        """Lead words from a column's middle to its left edge, and up there."""
        centre, level = x + width / 2, start + GAP / 2
        self._line([centre, centre, x + LANE / 2, x + LANE / 2], [start, level, level, end])

    def _line(self, xs: list[float], ys: list[float], colour: str = GREY) -> None:
        self.axes.plot(xs, ys, color=colour, linewidth=1.0, solid_joinstyle="round")

    def _frame(self, layers: Layers, x: float, y: float) -> float:
        """Draw layers that are alike and return their height."""
        height = _frame_height(layers)
        frame = FancyBboxPatch((x, y), COLUMN, height, boxstyle="round,pad=0,rounding_size=0.06", facecolor="white",
                               edgecolor=GREY, linewidth=0.8)  # fmt: skip
        self.axes.add_patch(frame)
        sign, exchanged = SIGNS[layers.residual_status], layers.residual_status != "plain"
        self._text(x + INSET, y + 0.05, f"{layers.count} \N{MULTIPLICATION SIGN}", weight="bold", va="bottom")
        self._text(
            x + COLUMN - INSET, y + 0.05, f"{sign}each: {layers.residual}", va="bottom", ha="right",
            colour=EDGES["exchanged"] if exchanged else GREY, weight="bold" if exchanged else "normal",
        )  # fmt: skip
        inside = y + _foot(layers)
        width = COLUMN - 2 * INSET
        self._column(layers.blocks, x + INSET, width, inside, inside - GAP if layers.blocks[0].beside else None)
        for below, above in pairwise(layers.blocks):
            inside += _box(below, width).height + GAP
            if below.beside:
                # What it finds goes to the blocks above.
                self._arrow((x + COLUMN * 0.7, inside - GAP), (x + COLUMN * 0.7, inside), EDGES["added"])
            if above.title == "Cross-attention":
                self.memory_to = (x + INSET, inside + _box(above, width).height / 2)
        return height

    def _box(self, box: Box, x: float, y: float) -> None:
        block = box.block
        self._patch(x, y, box.width, box.height, block.status)
        top = y + box.height - PAD
        self._text(x + PAD, top, box.title, weight="bold", size=TITLE)
        level = top - 0.005 - LEADING * 1.1 * (not box.has_room)
        self._text(x + box.width - PAD, level, box.number, colour=GREY, ha="right")
        for number, line in enumerate(box.lines):
            self._text(x + PAD, top - LEADING * (1.1 + number), line)
        self.places[block.module] = (x, x + box.width, y + box.height / 2)

    def _loss(self, box: LossBox, y: float, number: int) -> None:
        colour = LOSS_COLOURS[number % len(LOSS_COLOURS)]
        patch = FancyBboxPatch((MARGIN, y), FULL, box.height, boxstyle="round,pad=0,rounding_size=0.1",
                               facecolor="white", edgecolor=colour, linewidth=1.2)  # fmt: skip
        self.axes.add_patch(patch)
        top = y + box.height - PAD
        name = f"{box.loss.name.replace('_', ' ').capitalize()} loss"
        self._text(MARGIN + PAD + 0.03, top, name, weight="bold", size=TITLE)
        for line_number, line in enumerate(box.lines):
            self._text(MARGIN + PAD + 0.03, top - LEADING * (1.1 + line_number), line)
        self._rails(box.loss, y + box.height / 2, number, colour)

    def _rails(self, loss: Link, y: float, number: int, colour: str) -> None:
        """Draw lines from what a loss reads, along the margin, to the loss."""
        sides: dict[bool, list[tuple[float, float, bool]]] = {}
        for read in loss.reads:
            place = self._place(read.module)
            if place is not None:
                left, right, middle = place
                on_left = left < WIDTH / 2
                sides.setdefault(on_left, []).append((left if on_left else right, middle + 0.03 * number, read.goes_on))
        for on_left, reads in sides.items():
            distance = MARGIN - 0.06 - RAIL * number
            rail, end = (distance, MARGIN) if on_left else (WIDTH - distance, WIDTH - MARGIN)
            for x, middle, goes_on in reads:
                self.axes.plot([x, rail], [middle, middle], color=colour, linestyle=_dashes(not goes_on), linewidth=1.2)
            dashes = _dashes(not any(goes_on for *_, goes_on in reads))
            lowest = min(middle for _, middle, _ in reads)
            self.axes.plot([rail, rail], [lowest, y], color=colour, linestyle=dashes, linewidth=1.2)
            self._arrow((rail, y), (end, y), colour)

    def _place(self, module: str) -> tuple[float, float, float] | None:
        """Return the place of the box that a module is in; None of a layer that is not drawn because it is alike."""
        inside = [name for name in self.places if module == name or module.startswith(f"{name}.")]
        return self.places[max(inside, key=len)] if inside else None

    def _memory(self) -> None:
        """Lead the encoder's output to the decoder's cross-attention, and its domain shares where there are any."""
        (x, y), (end, level) = self.memory_from, self.memory_to
        middle = WIDTH / 2 - 0.04
        self._line([x, x, middle, middle], [y, y + GAP / 2, y + GAP / 2, level], INK)
        self._arrow((middle, level), (end, level), INK)
        place = self.places.get("decoder.memory_conditioner")
        if place is not None:
            aside, above = middle + 0.07, level + 0.07
            self._line([place[1], aside, aside], [place[2], place[2], above], EDGES["added"])
            self._arrow((aside, above), (end, above), EDGES["added"])

    def _patch(self, x: float, y: float, width: float, height: float, status: Status) -> None:
        patch = FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.04", facecolor=FILLS[status],
            edgecolor=EDGES[status], linewidth=0.7 if status == "plain" else 1.3,
        )  # fmt: skip
        self.axes.add_patch(patch)

    def _arrow(self, start: tuple[float, float], end: tuple[float, float], colour: str = GREY) -> None:
        style = {"arrowstyle": "-|>,head_width=0.14,head_length=0.22", "color": colour, "linewidth": 1.0,
                 "shrinkA": 0, "shrinkB": 0}  # fmt: skip
        self.axes.annotate("", xy=end, xytext=start, arrowprops=style)

    def _text(
        self, x: float, y: float, text: str, *, size: float = TEXT, weight: str = "normal", colour: str = INK,
        ha: str = "left", va: str = "top",
    ) -> None:  # fmt: skip
        self.axes.text(x, y, text, size=size, weight=weight, color=colour, ha=ha, va=va)


def _dashes(dashed: bool) -> object:
    return (0, (3, 1.6)) if dashed else "-"
