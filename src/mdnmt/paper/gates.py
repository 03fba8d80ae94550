"""Draw how much each domain uses each expert, layer by layer (Song et al. 2026, Fig. 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mdnmt.paper import analysis
from mdnmt.paper.numbers import half_up
from mdnmt.paper.specs import GateUseSpec
from mdnmt.paper.style import DPI, SHADES, WIDTH, empty, heading, more_room
from mdnmt.paper.words_table import gate_use, read_words

CELL, HEAD, ROW_GAP = 0.17, 0.22, 0.1  # inches: a domain, a panel's title, between two systems


def draw(spec: GateUseSpec) -> tuple[Figure, str]:
    """Return the figure and what it shows in words; of several seeds the first is drawn.

    Raises:
        DataError: a words.json is not what it should be.
    """
    gates = {s.label: found for s in spec.systems if s.runs and (found := read_words(s.runs[0].scores)["gates"])}
    if not gates:
        reason = next((system.missing for system in spec.systems if system.missing), "no method of the study has gates")
        return empty(spec.full_title, reason), f"Not drawn: {reason}"
    measured = next(iter(gates.values()))
    names = [column.name for column in spec.domains if column.name in measured] or list(measured)
    num_layers = max(len(layers) for found in gates.values() for layers in found.values())
    task = f"{spec.task}. " if spec.task else ""
    detail = f"{task}Mean gate of each domain: darker, more use."
    head, panel = 0.44 + more_room(detail), HEAD + CELL * len(names) + ROW_GAP
    figure = Figure(figsize=(WIDTH, head + panel * len(gates) + 0.5), dpi=DPI)
    grid = figure.subplots(len(gates), num_layers, squeeze=False)
    image: Any = None
    for row, (label, found) in enumerate(gates.items()):
        for layer in range(num_layers):
            image = _panel(grid[row][layer], np.array([found[name][layer] for name in names]))
            grid[row][layer].set_title(label if layer == 0 else "", pad=3)
            grid[row][layer].set_yticks(
                range(len(names)), analysis.labels(names, spec.domains) if layer == 0 else [""] * len(names)
            )
            if row == len(gates) - 1:
                grid[row][layer].set_xlabel(f"experts of layer {layer + 1}")
    height = float(figure.get_size_inches()[1])
    figure.subplots_adjust(
        left=0.14, right=0.88, bottom=0.42 / height, top=1 - (head + 0.2) / height, wspace=0.08,
        hspace=(HEAD + ROW_GAP) / (CELL * len(names)),
    )  # fmt: skip
    bar = figure.add_axes((0.91, 0.42 / height, 0.02, min(1.2, height - head - 0.7) / height))
    figure.colorbar(image, cax=bar)
    heading(figure, spec.title, detail)
    return figure, " ".join(_described(label, found) for label, found in gates.items())


def _panel(axes: Any, g_DN: Any) -> Any:
    image = axes.imshow(g_DN, cmap=SHADES, vmin=0, vmax=1, aspect="auto")
    axes.set_xticks([])
    axes.set_xticks(np.arange(0.5, g_DN.shape[1] - 1), minor=True)
    axes.set_yticks(np.arange(0.5, g_DN.shape[0] - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _described(label: str, found: dict[str, Any]) -> str:
    layers = [f"{half_up(layer['experts'], 2)} in layer {n}" for n, layer in enumerate(gate_use(found), start=1)]
    return f"{label}: experts in use {', '.join(layers)}."
