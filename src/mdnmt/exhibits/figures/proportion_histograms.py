"""Draw histograms of the proportion of the right domain, layer by layer (Jiang et al. 2020, Fig. 9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import Field

from mdnmt.exhibits import analysis_files, proportion_measures
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import (
    GREY,
    detail_height,
    heading,
    legend_grid,
    new_figure,
    remove_frame,
    series_legend,
    stroke,
    too_many,
)
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import AnalysedRun, Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

ROW = 0.95  # inches per layer


@register
class HistogramsSpec(FigureSpec):
    """Distribution over tokens of the proportion of the right domain, layer by layer (Jiang et al. 2020, Fig. 9)."""

    kind: Literal["proportion_histograms"] = "proportion_histograms"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()
    bins: int = Field(default=20, ge=2, le=100)

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        return request.make(cls, run=request.analysed()[0], domains=request.domains)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return analysis_files.files(self.run, "meta.json", "proportions.npz", "lexicon.json")

    def measures(self) -> Iterator[Measure]:
        """Yield the measures of the system's proportions, for all its seeds (see `proportion_measures`)."""
        return proportion_measures.measures(self.run)

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: the analysis is damaged or lacks a value.
        """
        if self.run.analysis is None:
            return self.not_drawn(self.run.missing or "the run was not analysed")
        stored = analysis_files.arrays(self.run.analysis / "proportions.npz")
        names = analysis_files.labels(analysis_files.domain_names(self.run.analysis), self.domains)
        sides = [
            (title, stored[key], stored[f"{key}_domain"])
            for title, key in (("Encoder", "encoder"), ("Decoder", "decoder"))
            if key in stored and stored[key].shape[1]
        ]
        if not sides:
            return self.not_drawn(f"{self.run.name} mixes no domains")
        if reason := too_many("domains", len(names)):
            return self.not_drawn(reason)
        layers = max(p_LNK.shape[0] for _, p_LNK, _ in sides)
        detail = f"{self.task_first}{self.run.name}. Last layer on top. Dashed: no preference."
        series = [f"{name} tokens" for name in names]
        columns, rows_room = legend_grid(series, 0.48)
        above = 0.44 + detail_height(detail)
        head = above + rows_room
        figure = new_figure(head + 0.88 + layers * ROW)
        grid = figure.subplots(layers, len(sides), sharex=True, sharey=True, squeeze=False)
        for column, (title, p_LNK, domain_N) in enumerate(sides):
            for layer in range(layers):
                axes = grid[layers - 1 - layer][column]
                if layer >= p_LNK.shape[0]:
                    axes.set_axis_off()
                    continue
                _panel(axes, p_LNK, domain_N, layer, self)
                axes.set_title(f"{title}, layer {layer + 1}", pad=3)
        height = float(figure.get_size_inches()[1])
        figure.subplots_adjust(
            left=0.115, right=0.985, bottom=0.42 / height, top=1 - (head + 0.45) / height, hspace=0.42, wspace=0.1
        )
        figure.supxlabel("proportion of the right domain", size=9, y=0.06 / height, va="bottom")
        figure.supylabel("% of tokens", size=9, x=0.008)
        heading(figure, self.title, detail)
        series_legend(figure, series, 1 - above / height, columns, line=2.2)
        return figure, _describe(self, names, sides)


def gold_proportions(p_LNK: Any, domain_N: Any, domain: int) -> Any:
    """Return the proportion that each layer gives to the right domain, for the tokens of that domain: [L, N]."""
    return p_LNK[:, domain_N == domain, domain]


def _panel(axes: Axes, p_LNK: Any, domain_N: Any, layer: int, spec: HistogramsSpec) -> None:
    edges = np.linspace(0, 1, spec.bins + 1)
    for domain in range(p_LNK.shape[2]):
        values = gold_proportions(p_LNK, domain_N, domain)[layer]
        if not len(values):
            continue
        shares = np.histogram(np.clip(values, 0, 1), bins=edges)[0] / len(values) * 100
        colour, dashes = stroke(domain)
        axes.stairs(shares, edges, color=colour, linewidth=1.4, linestyle=dashes)
        axes.stairs(shares, edges, color=colour, alpha=0.13, fill=True)
    axes.axvline(1 / p_LNK.shape[2], color=GREY, linewidth=0.9, linestyle=(0, (2, 2)))
    remove_frame(axes)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])


def _describe(spec: HistogramsSpec, names: list[str], sides: list[tuple[str, Any, Any]]) -> str:
    parts = [f"Histograms of {spec.run.name}: the proportion given to the right domain."]
    for title, p_LNK, domain_N in sides:
        means = []
        for domain, name in enumerate(names):
            values = gold_proportions(p_LNK, domain_N, domain)
            if values.size:
                means.append(f"{name} {float(values[-1].mean()):.2f}")
        parts.append(
            f"Mean in the last {title.lower()} layer: {', '.join(means)} (no preference: {1 / len(names):.2f})."
        )
    return " ".join(parts)
