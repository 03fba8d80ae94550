"""Draw the encoder's sentence vectors in two dimensions, a panel per system (Song et al. 2026, Fig. 5)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field

from mdnmt.exhibits import analysis_files
from mdnmt.exhibits.analysis_files import Floats, Ints
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
from mdnmt.exhibits.rows import AnalysedRun, Column
from mdnmt.numbers.rounding import half_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

FOLDS = 5
CHARACTER = 0.098  # inches per character of a title, a little more than its average width


@register
class TsneSpec(FigureSpec):
    """Encoder sentence vectors in two dimensions, a panel per system (Song et al. 2026, Fig. 5)."""

    kind: Literal["tsne"] = "tsne"
    systems: tuple[AnalysedRun, ...]
    domains: tuple[Column, ...] = ()
    perplexity: float = Field(default=30.0, gt=0)
    seed: int = 1
    max_sentences: int = Field(default=250, ge=5)  # per domain

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        return request.make(cls, systems=request.analysed(), domains=request.domains)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return [path for system in self.systems for path in analysis_files.files(system, "meta.json", "vectors.npz")]

    def measures(self) -> Iterator[Measure]:
        """Yield how well the vectors themselves, not their projections, separate the domains, for each seed.

        `silhouette`: -1 to 1. `probe_accuracy`: of a linear classifier on sentences that it was not trained on, 0 to 1.
        """
        for system in self.systems:
            for seed in system.seeds:
                stored = analysis_files.arrays(seed.analysis / "vectors.npz")
                kept = subsample(stored["domain"], self.max_sentences, self.seed)
                vectors, domain = stored["vectors"][kept].astype(np.float64), stored["domain"][kept]
                with _one_thread():
                    found = separation(vectors, domain, self.seed)
                for name, value in zip(("silhouette", "probe_accuracy"), found, strict=True):
                    if value is not None:
                        yield Measure(system.method, system.label, seed.seed, name, value)

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: an analysis is invalid.
        """
        systems, absent, names = _projected(self)
        if not systems:
            return self.not_drawn("; ".join(absent) or "no system was analysed")
        if reason := too_many("domains", len(names)):
            return self.not_drawn(reason)
        columns = len(systems) if len(systems) <= 3 else 2
        rows = -(-len(systems) // columns)
        panel = {1: 3.4, 2: 2.25, 3: 1.7}[columns]
        wide = (WIDTH - 0.1 * (columns + 1)) / columns
        titles = [textwrap.fill(system.label, int(wide / CHARACTER)) for system in systems]
        title_room = 0.17 * max(title.count("\n") for title in titles)
        chance = half_up(100 * max(float(np.mean(systems[0].domain == k)) for k in np.unique(systems[0].domain)), 0)
        used = " and ".join(f"{value:.3g}" for value in sorted({system.perplexity for system in systems}))
        seed = _only_seed(self)
        models = "" if seed is None else f" of the model of seed {seed}"
        detail = f"t-SNE, perplexity {used}; a mark is a sentence vector{models}. Majority class: {chance}%."
        detail = self.task_first + detail
        room = detail_height(detail)
        legend_columns, rows_room = legend_grid(names, 0.38)
        head, foot = 0.86 + room + rows_room + title_room, 0.42 + 0.15 * len(absent)
        between = 0.62 + title_room
        height = head + rows * panel + (rows - 1) * between + foot
        figure = new_figure(height)
        for position, system in enumerate(systems):
            row, column = divmod(position, columns)
            bottom = height - head - (row + 1) * panel - row * between
            place = (0.1 + column * (wide + 0.1), bottom, wide, panel - 0.28)
            axes = figure.add_axes((place[0] / WIDTH, place[1] / height, place[2] / WIDTH, place[3] / height))
            _scatter(axes, system, self.seed)
            axes.set_xticks([])
            axes.set_yticks([])
            for spine in axes.spines.values():
                spine.set_visible(True)
                spine.set_color(FAINT)
            axes.set_title(titles[position], pad=4)
            axes.set_xlabel(_measures(system), size=8.5, color=GREY, labelpad=4, loc="left")
        series_legend(figure, names, 1 - (0.46 + room) / height, legend_columns)
        for line, text in enumerate(reversed(absent)):
            figure.text(0.02, (0.05 + 0.15 * line) / height, f"Not drawn: {text}", size=8, color=GREY)
        heading(figure, self.title, detail)
        return figure, f"{_describe(systems)} {detail}"


@dataclass(frozen=True)
class Projected:
    """A system's sentences: their place in the picture, their domain, and how well the domains separate."""

    label: str
    points: Floats  # [N, 2]
    domain: Ints  # [N]
    perplexity: float  # that was used; less than the option if there are few sentences
    silhouette: float | None  # of the vectors themselves, -1 to 1
    probe: float | None  # accuracy of a linear classifier, cross-validated


def _one_thread() -> AbstractContextManager[object]:
    """Return a context in which sums are computed in a fixed order; another order would move the points."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limited: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limited


def subsample(domain_N: Ints, most: int, seed: int) -> Ints:
    """Return at most `most` positions of each domain, drawn with `seed`: domain by domain, in ascending order."""
    generator = np.random.default_rng(seed)
    kept = []
    for domain in np.unique(domain_N):
        positions = np.flatnonzero(domain_N == domain)
        if len(positions) > most:
            positions = np.sort(generator.choice(positions, most, replace=False))
        kept.append(positions)
    return np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)


def separation(vectors_ND: Floats, domain_N: Ints, seed: int) -> tuple[float | None, float | None]:
    """Return (silhouette, accuracy of a linear probe in 5-fold cross-validation); None if undefined."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import silhouette_score
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts = np.unique(domain_N, return_counts=True)[1]
    if len(counts) < 2 or len(domain_N) <= len(counts):
        return None, None
    silhouette = float(silhouette_score(vectors_ND, domain_N))
    if counts.min() < FOLDS:
        return silhouette, None
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return silhouette, float(cross_val_score(probe, vectors_ND, domain_N, cv=folds).mean())


def project(label: str, vectors_ND: Floats, domain_N: Ints, spec: TsneSpec) -> Projected:
    """Return the projection of one system; the same vectors and seed give the same projection."""
    from sklearn.manifold import TSNE

    kept = subsample(domain_N, spec.max_sentences, spec.seed)
    vectors, domain = vectors_ND[kept].astype(np.float64), domain_N[kept]
    perplexity = min(spec.perplexity, max(1.0, (len(kept) - 1) / 3))
    with _one_thread():
        points = TSNE(perplexity=perplexity, init="pca", random_state=spec.seed, max_iter=500).fit_transform(vectors)
        silhouette, probe = separation(vectors, domain, spec.seed)
    return Projected(label, np.asarray(points, dtype=np.float64), domain, perplexity, silhouette, probe)


def _only_seed(spec: TsneSpec) -> int | None:
    """Return the seed that all shown runs share; None if they differ."""
    seeds = {system.seed for system in spec.systems if system.analysis is not None}
    return seeds.pop() if len(seeds) == 1 else None


def _projected(spec: TsneSpec) -> tuple[list[Projected], list[str], list[str]]:
    done, absent, keys = [], [], list[str]()
    for system in spec.systems:
        if system.analysis is None:
            absent.append(f"{system.label}: {system.missing or 'not analysed'}")
            continue
        stored = analysis_files.arrays(system.analysis / "vectors.npz")
        keys = keys or analysis_files.domain_names(system.analysis)
        if len(stored["domain"]) < 4:
            absent.append(f"{system.label}: fewer than 4 sentences")
            continue
        label = system.name if _only_seed(spec) is None else system.label
        done.append(project(label, stored["vectors"], stored["domain"], spec))
    return done, absent, analysis_files.labels(keys, spec.domains)


def _scatter(axes: Axes, system: Projected, seed: int) -> None:
    """Draw the sentences in random order, so that the last domain does not hide the others."""
    order = np.random.default_rng(seed).permutation(len(system.domain))
    for some in np.array_split(order, 12):
        for domain in np.unique(system.domain[some]):
            at = some[system.domain[some] == domain]
            colour, marker = mark(int(domain))
            axes.plot(
                system.points[at, 0], system.points[at, 1], marker=marker, markersize=3.2,
                alpha=0.65, color=colour, markeredgewidth=0, linestyle="",
            )  # fmt: skip


def _measures(system: Projected) -> str:
    parts = []
    if system.silhouette is not None:
        parts.append(f"silhouette {half_up(system.silhouette, 2)}")
    if system.probe is not None:
        parts.append(f"linear probe {half_up(100 * system.probe, 1)}%")
    return "\n".join(parts)


def _describe(systems: list[Projected]) -> str:
    parts = [f"{system.label}: {_measures(system).replace(chr(10), ', ')}" for system in systems]
    return "t-SNE pictures of encoder sentence vectors, coloured by domain. " + "; ".join(parts) + "."
