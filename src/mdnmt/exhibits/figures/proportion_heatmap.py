"""Draw the domain proportions of one sentence: words across, layers up (Jiang et al. 2020, Fig. 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from mdnmt.exhibits import analysis_files, proportion_measures, shading
from mdnmt.exhibits.analysis_files import SentenceWords
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import INK, detail_height, font_note, heading, new_figure
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import AnalysedRun, Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

ROW, GAP = 0.16, 0.09  # inches: height of a layer, space between two domains


@register
class HeatmapSpec(FigureSpec):
    """Domain proportions of one sentence, word by layer, of both sides (Jiang et al. 2020, Fig. 8)."""

    options: ClassVar = ("domain",)
    own_domain_alone: ClassVar = False  # True: only the proportion of the sentence's own domain, in the encoder
    kind: str = "proportion_heatmap"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()  # labels; empty: the names in meta.json
    sentence: int | None = Field(default=None, ge=0)  # index in sentences.json; None: chosen by a fixed rule
    domain: str | None = None  # choose among sentences of this domain
    max_words: int = Field(default=22, ge=2, le=60)

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        return request.make(cls, run=request.analysed()[0], domains=request.domains, domain=request.domain_of_sentence)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return analysis_files.files(self.run, "meta.json", "sentences.json", "proportions.npz", "lexicon.json")

    def measures(self) -> Iterator[Measure]:
        """Yield the measures of the system's proportions, for all its seeds (see `proportion_measures`)."""
        return proportion_measures.measures(self.run)

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: the analysis is invalid, or has no such sentence.
        """
        if self.run.analysis is None:
            return self.not_drawn(self.run.missing or "the run was not analysed")
        sentence = analysis_files.find_sentence(self.run.analysis, self.sentence, self.domain, self.max_words)
        if sentence is None:
            return self.not_drawn("the analysis holds no sentence")
        keys = analysis_files.domain_names(self.run.analysis)
        names = analysis_files.labels(keys, self.domains)
        gold = analysis_files.labels([sentence["domain"]], self.domains)[0]
        blocks = _blocks(sentence, both_sides=not self.own_domain_alone)
        if not blocks:
            return self.not_drawn(f"{self.run.name} mixes no domains")
        cut = max(len(words.words) for _, words in blocks) > self.max_words
        blocks = [(side, words.first(self.max_words)) for side, words in blocks]
        means = _described(self, gold, names, blocks)
        if self.own_domain_alone:
            own = keys.index(sentence["domain"])
            blocks = [
                (side, SentenceWords(words.words, words.proportions[:, :, own : own + 1])) for side, words in blocks
            ]
            names = [gold]
        detail = f"{self.run.name}: a sentence of {gold} (bold). Each row is a layer, the first at the bottom."
        detail = self.task_first + detail + (f" First {self.max_words} words." if cut else "")
        detail += font_note(word for _, words in blocks for word in words.words)
        figure = _figure(blocks, names, gold, len(keys), detail_height(detail))
        heading(figure, self.title, detail)
        return figure, means


def _block(axes: list[Axes], words: SentenceWords, names: list[str], gold: str, side: str) -> Any:
    """Draw one side of the sentence, a strip of layers per domain, and return the image for the colour bar."""
    layers = words.proportions.shape[0]
    image = None
    for panel, (domain, name) in zip(axes, enumerate(names), strict=True):
        image = shading.shade(panel, words.proportions[:, :, domain], lowest_below=True)
        shown = range(layers) if len(names) == 1 else sorted({0, layers - 1})
        panel.set_yticks(shown, [str(layer + 1) for layer in shown])
        weight = "bold" if name == gold else "normal"
        panel.annotate(
            name, (0, 0.5), (-17, 0), xycoords="axes fraction", textcoords="offset points",
            ha="right", va="center", weight=weight, color=INK,
        )  # fmt: skip
    shading.words_below(axes[-1], words.words)
    axes[0].set_title(side, pad=4)
    return image


def _axes(figure: Figure, top: float, layers: int, domains: int, left: float, right: float) -> tuple[list[Axes], float]:
    """Add the strips of a block whose upper edge is `top` inches above the bottom; return them and the lower edge."""
    width, height = figure.get_size_inches()
    axes = []
    for _ in range(domains):
        top -= layers * ROW
        axes.append(
            figure.add_axes((left / width, top / height, (width - left - right) / width, layers * ROW / height))
        )
        top -= GAP
    return axes, top + GAP


def _blocks(sentence: dict[str, Any], *, both_sides: bool) -> list[tuple[str, SentenceWords]]:
    sides = (("Decoder layers", "decoder", "target_tokens"), ("Encoder layers", "encoder", "source_tokens"))
    return [
        (title, analysis_files.whole_words(sentence[tokens], sentence[side]))
        for title, side, tokens in (sides if both_sides else sides[1:])
        if sentence.get(side) is not None
    ]


def _figure(
    blocks: list[tuple[str, SentenceWords]], names: list[str], gold: str, num_domains: int, more: float
) -> Figure:
    head, foot, title_room = 0.52 + more, 0.58, 0.36
    tall = [len(names) * words.proportions.shape[0] * ROW + (len(names) - 1) * GAP for _, words in blocks]
    below = [shading.word_room(words.words) for _, words in blocks]
    figure = new_figure(head + foot + sum(tall) + sum(below) + len(blocks) * title_room)
    left = 0.42 + 0.085 * max(map(len, names))
    top, image = float(figure.get_size_inches()[1]) - head, None
    for (side, words), room in zip(blocks, below, strict=True):
        axes, low = _axes(figure, top - 0.26, words.proportions.shape[0], len(names), left, 0.1)
        image = _block(axes, words, names, gold, side)
        top = low - room - 0.1
    shading.scale(figure, image, num_domains, left, "proportion of the domain")
    return figure


def _described(spec: HeatmapSpec, gold: str, names: list[str], blocks: list[tuple[str, SentenceWords]]) -> str:
    parts = [f"Heat map of {spec.run.name} for one sentence of {gold}."]
    for side, words in blocks:
        means = words.proportions.mean(axis=(0, 1))
        shares = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, means, strict=True))
        parts.append(f"{side}, mean proportion over words and layers: {shares}.")
    return " ".join(parts)
