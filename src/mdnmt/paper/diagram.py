"""Draw a method's architecture from its own model: stacks, what is exchanged, what the losses read and train."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from matplotlib.figure import Figure

from mdnmt.paper.diagram_canvas import Canvas, Panel
from mdnmt.paper.diagram_parts import Structure
from mdnmt.paper.diagram_words import structure_in_words
from mdnmt.paper.figure_specs import ArchitectureSpec, ArchitectureSystem
from mdnmt.paper.measures import Measure
from mdnmt.paper.style import DPI, WIDTH, empty, heading, more_room


def inputs(spec: ArchitectureSpec) -> list[Path]:
    """Return the files that the figure is made from: none, the model itself says everything."""
    return []


def measures(spec: ArchitectureSpec) -> Iterator[Measure]:
    """Yield the numbers of parameters that are shown: of each system and its blocks, embeddings left out."""
    for system in spec.systems:
        shown = structure_of(system)
        if shown is None:
            continue
        parts = {"all but embeddings": shown.parameters, "plain Transformer": shown.plain}
        parts |= {block.module: block.parameters for block in shown.blocks if block.parameters}
        for part, number in parts.items():
            yield Measure(system.method, system.label, None, "num_parameters", float(number), {"part": part})


def draw(spec: ArchitectureSpec) -> tuple[Figure, str]:
    """Return the figure, a panel a system, one below the other, and what it shows in words."""
    found = [(system.label, structure_of(system)) for system in spec.systems]
    panels = [Panel(label, shown) for label, shown in found if shown is not None]
    absent = [f"{label} is not shown: its weights come from elsewhere." for label, shown in found if shown is None]
    if not panels:
        return empty(spec.full_title, " ".join(absent)), f"Not drawn: {' '.join(absent)}"
    task = [f"{spec.task}."] if spec.task else []
    detail = " ".join([*task, "Read from the model itself; words enter from below.", *absent])
    head = 0.48 + more_room(detail)
    height = head + sum(panel.height for panel in panels) + Canvas.legend_height
    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    canvas, top = Canvas(figure.add_axes((0, 0, 1, 1)), height), height - head
    for panel in panels:
        canvas.panel(panel, top)
        top -= panel.height
    canvas.legend()
    heading(figure, spec.title, detail)
    return figure, " ".join([*(structure_in_words(panel.label, panel.shown) for panel in panels), *absent])


def structure_of(system: ArchitectureSystem) -> Structure | None:
    """Return the structure of a system; None of pretrained weights, whose model is not built here.

    Raises:
        ConfigError: an option that its builder does not know.
    """
    # Text, as a key: it is asked for to draw and to write down the numbers, and looking into a model takes seconds.
    return _structure(system.builder, json.dumps(system.architecture, sort_keys=True), system.num_domains)


@cache
def _structure(builder: str, architecture: str, num_domains: int) -> Structure | None:
    # Here, not above: no other figure has to wait for torch.
    from mdnmt.methods import BUILDERS
    from mdnmt.paper.diagram_structure import structure

    return structure(builder, json.loads(architecture), num_domains) if builder in BUILDERS else None
