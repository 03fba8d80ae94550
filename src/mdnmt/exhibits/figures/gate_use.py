"""Draw how much each domain uses each expert, a panel per domain, layers by experts (Song et al. 2026, Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from mdnmt.exhibits import analysis_files, shading
from mdnmt.exhibits.figure_numbers import Measure, divergence, entropy
from mdnmt.exhibits.figure_style import GREY, INK, WIDTH, detail_height, heading, new_figure, too_many
from mdnmt.exhibits.generated_words import gate_use
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import AnalysedRun, Column, WordRow
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

CELL, TITLE, GAP = 0.17, 0.2, 0.12  # inches: height of a layer and of a title, space between two systems
ACROSS, MOST_DOMAINS = 4, 12  # panels side by side, and in all
LETTER = 0.08  # inches per letter of a domain's name

Gates = dict[str, list[list[float]]]  # domain -> [L][N]


@register
class GateUseSpec(FigureSpec):
    """How much each domain uses each expert (Song et al. 2026, Fig. 4).

    `analysed` holds runs on real text, `systems` runs on generated text (words.json); one of the two is given.
    """

    options: ClassVar = ("generated",)
    kind: Literal["gate_use"] = "gate_use"
    analysed: tuple[AnalysedRun, ...] = ()
    systems: tuple[WordRow, ...] = ()
    domains: tuple[Column, ...] = ()

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        rows: dict[str, Any] = (
            {"systems": request.word_rows()}
            if request.figure.options.get("generated")
            else {"analysed": request.analysed()}
        )
        return request.make(cls, **rows, domains=request.domains)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        of_text = [path for system in self.analysed for path in analysis_files.files(system, "meta.json", "gates.json")]
        return of_text + [run.scores for system in self.systems for run in system.runs]

    def measures(self) -> Iterator[Measure]:
        """Yield how experts are used, for each seed, as means over tokens.

        `gate` (by layer, domain and expert; layers and experts from 1): mean weight. `domain_entropy` (by layer and
        domain): entropy of these weights, from 0 (one expert does everything) to 1. By layer, for the mean over
        domains: `use_entropy`, from 0 (one expert does everything) to 1 (all are used alike), and `largest`, the weight
        of the most used expert. `divergence` (by layer): mean Jensen-Shannon divergence of two domains' gates, in bits.
        """
        for run in _read(self):
            g_DLN = np.asarray(list(run.gates.values()), dtype=np.float64)
            for layer, g_DN in enumerate(g_DLN.swapaxes(0, 1), start=1):
                for domain, g_N in zip(run.gates, g_DN, strict=True):
                    for expert, value in enumerate(g_N, start=1):
                        at: dict[str, str | int | float] = {"layer": layer, "domain": domain, "expert": expert}
                        yield Measure(run.method, run.label, run.seed, "gate", float(value), at)
                    at = {"layer": layer, "domain": domain}
                    yield Measure(run.method, run.label, run.seed, "domain_entropy", float(entropy(g_N)), at)
                centre_N = g_DN.mean(axis=0)
                whole = {
                    "use_entropy": float(entropy(centre_N)),
                    "largest": float(centre_N.max()),
                    "divergence": divergence(g_DN),
                }
                for name, value in whole.items():
                    yield Measure(run.method, run.label, run.seed, name, value, {"layer": layer})

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words; with several seeds, the first is drawn.

        Raises:
            DataError: an analysis or a words.json is damaged.
        """
        systems: dict[str, _Read] = {}
        for run in _read(self):
            systems.setdefault(run.label, run)
        every = [(system.label, system.missing) for system in self.analysed]
        every += [(system.label, system.missing) for system in self.systems]
        absent = [f"{label}: {missing or 'has no gates'}" for label, missing in every if label not in systems]
        if not systems:
            return self.not_drawn(
                next((missing for _, missing in every if missing), "no method of the study has gates")
            )
        measured = next(iter(systems.values())).gates
        names = [column.name for column in self.domains if column.name in measured] or list(measured)
        if reason := too_many("domains", len(names), MOST_DOMAINS):
            return self.not_drawn(reason)
        seeds = {run.seed for run in systems.values()} - {None}
        detail = f"{self.task_first}Mean weight of each expert (E) in each layer (L); darker is more."
        detail += (
            " Beside a domain: entropy of its weights, 0 to 1, mean over layers;"
            " divergence: Jensen-Shannon, of two domains."
        )
        detail += f" Seed {min(seed for seed in seeds if seed is not None)}." if len(seeds) == 1 else ""
        figure = _figure(systems, names, analysis_files.labels(names, self.domains), detail_height(detail), absent)
        heading(figure, self.title, detail)
        return figure, " ".join(_described(label, run.gates) for label, run in systems.items())


class _Read(NamedTuple):
    """The gates of one run."""

    method: str
    label: str
    seed: int | None
    gates: Gates


def _read(spec: GateUseSpec) -> Iterator[_Read]:
    """Yield the gates of all runs that have any, the first seed of each system first."""
    for system in spec.analysed:
        for seed in system.seeds:
            if found := read_json(seed.analysis / "gates.json"):
                yield _Read(system.method, system.label, seed.seed, found)
    for row in spec.systems:
        for run in row.runs:
            if found := read_json(run.scores)["gates"]:
                yield _Read(row.method, row.label, run.seed, found)


def _figure(systems: dict[str, _Read], names: list[str], labels: list[str], more: float, absent: list[str]) -> Figure:
    depths = [len(next(iter(run.gates.values()))) for run in systems.values()]
    head, foot, below = 0.5 + more, 0.62 + 0.15 * len(absent), 0.2
    rows, across = -(-len(names) // ACROSS), min(len(names), ACROSS)
    panels = [TITLE + rows * (TITLE + CELL * depth + below) + GAP for depth in depths]
    height = head + sum(panels) + foot
    figure = new_figure(height)
    left, between = 0.34, 0.14
    width = (WIDTH - left - 0.1 - between * (across - 1)) / across
    top, image, num_experts = height - head, None, 1
    for (label, run), depth, room in zip(systems.items(), depths, panels, strict=True):
        figure.text(0.012, top / height, label, weight="bold", va="top", color=INK)
        figure.text(1 - 0.1 / WIDTH, top / height, _apart(run.gates), ha="right", va="top", color=GREY, size=8.5)
        for number, (name, shown) in enumerate(zip(names, labels, strict=True)):
            row, column = divmod(number, ACROSS)
            low = top - TITLE - row * (TITLE + CELL * depth + below) - TITLE - CELL * depth
            place = (left + column * (width + between), low, width, CELL * depth)
            axes = figure.add_axes((place[0] / WIDTH, place[1] / height, place[2] / WIDTH, place[3] / height))
            g_LN = np.asarray(run.gates[name], dtype=np.float64)
            image, num_experts = shading.shade(axes, g_LN), g_LN.shape[1]
            even = f" {half_up(float(entropy(g_LN).mean()), 2)}"
            axes.set_title(shading.short(shown, max(4, int(width / LETTER) - 5)) + even, pad=3, weight="normal")
            axes.set_yticks(range(depth), [f"L{layer + 1}" for layer in range(depth)] if column == 0 else [""] * depth)
            axes.set_xticks(range(num_experts), [f"E{expert + 1}" for expert in range(num_experts)])
        top -= room
    shading.scale(figure, image, num_experts, 0.14, "mean weight of the expert", 0.36 + 0.15 * len(absent))
    for row, text in enumerate(reversed(absent)):
        figure.text(0.012, (0.03 + 0.15 * row) / height, f"Not drawn: {text}", size=8, color=GREY)
    return figure


def _apart(gates: Gates) -> str:
    """Return the mean divergence of two domains' gates, as text."""
    g_LDN = np.asarray(list(gates.values()), dtype=np.float64).swapaxes(0, 1)
    bits = float(np.mean([divergence(g_DN) for g_DN in g_LDN])) if len(gates) > 1 else 0.0
    return f"divergence {half_up(bits, 3)} bits"


def _described(label: str, found: Gates) -> str:
    layers = [f"{half_up(layer['experts'], 2)} in layer {n}" for n, layer in enumerate(gate_use(found), start=1)]
    return f"{label}: experts in use {', '.join(layers)}; {_apart(found)}."
