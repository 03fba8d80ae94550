"""Draw how words attend to domain vectors: one sentence, and each vector's top words (Zhang et al. 2021, Fig. 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from mdnmt.exhibits import analysis_files, shading, word_values
from mdnmt.exhibits.analysis_files import Floats
from mdnmt.exhibits.figure_numbers import Measure, entropy, rank_correlation
from mdnmt.exhibits.figure_style import GREY, INK, WIDTH, detail_height, font_note, heading, new_figure
from mdnmt.exhibits.registry import FigureSpec, register
from mdnmt.exhibits.rows import AnalysedRun, Column
from mdnmt.exhibits.word_values import MIN_COUNT, AnalysedWords
from mdnmt.fsio import read_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_request import FigureRequest

SPARE = "(spare)"
ROW, LINE = 0.2, 0.155  # inches: a domain vector, a line of the lists
COLUMNS = 4  # lists of top words side by side


@register
class DomainAttentionSpec(FigureSpec):
    """Attention of a sentence's words to domain vectors, and each vector's top words (Zhang et al. 2021, Fig. 4)."""

    options: ClassVar = ("domain",)
    kind: Literal["domain_attention"] = "domain_attention"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()
    sentence: int | None = Field(default=None, ge=0)  # as in HeatmapSpec
    domain: str | None = None
    max_words: int = Field(default=22, ge=2, le=60)
    top_words: int = Field(default=8, ge=1, le=30)
    min_count: int = Field(default=3, ge=1)  # fewest occurrences of a top word in the analysed text

    @classmethod
    def select(cls, request: FigureRequest) -> Self:
        """Return the figure of a study."""
        return request.make(cls, run=request.analysed()[0], domains=request.domains, domain=request.domain_of_sentence)

    def inputs(self) -> list[Path]:
        """Return the files that the figure is made from."""
        return analysis_files.files(self.run, "meta.json", "sentences.json", "attention.npz", "lexicon.json")

    def measures(self) -> Iterator[Measure]:
        """Yield measures of the attention of source words to the domain vectors, for each seed, as means over layers.

        `attention` (by domain of the sentence and slot, from 1): mean over words. `entropy`: mean over words, from 0
        to 1. For each class of words (`AnalysedWords.classes`: `function`, `shared`, `specific`): `entropy_function`;
        `largest_function`, the attention to the slot that a word attends to most; and, if training ties slots to
        domains, `own_slot_function`, the attention to the slot of the domain that uses the word most.
        `specificity_correlation`: Spearman's correlation over words between two values of one minus the entropy: that
        of the word's use over domains in the training text, and that of its attention.
        """
        for seed in self.run.seeds:
            if (words := _source_words(seed.analysis)) is None:
                continue
            domains = analysis_files.domain_names(seed.analysis)
            slots = list(read_json(seed.analysis / "meta.json").get("slots", ()))
            for name, at, value in _of(words, domains, slots):
                yield Measure(self.run.method, self.run.label, seed.seed, name, value, at)

    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words.

        Raises:
            DataError: the analysis is invalid, or has no such sentence.
        """
        if self.run.analysis is None:
            return self.not_drawn(self.run.missing or "the run was not analysed")
        words = _source_words(self.run.analysis)
        sentence = analysis_files.find_sentence(self.run.analysis, self.sentence, self.domain, self.max_words)
        if words is None or sentence is None or sentence.get("attention") is None:
            return self.not_drawn(f"{self.run.name} has no domain vectors")
        joined = analysis_files.whole_words(sentence["source_tokens"], sentence["attention"])
        cut = len(joined.words) > self.max_words
        joined = joined.first(self.max_words)
        a_NT = joined.proportions.mean(axis=0).T
        names = slot_names(self, a_NT.shape[0])
        gold = analysis_files.labels([sentence["domain"]], self.domains)[0]
        # Spare vectors get the same small share of every word, so they have no top words.
        tops = top_words(words, self.top_words, self.min_count)[: len(names) - names.count(SPARE)]
        detail = (
            f"{self.run.name}: source words of a sentence of {gold}, mean over layers; below: top words of all text."
        )
        detail = self.task_first + detail + (f" First {self.max_words} words." if cut else "")
        detail += font_note([*joined.words, *(word for top in tops for word in top)])
        figure = _figure(a_NT, joined.words, names, tops, gold, detail_height(detail))
        heading(figure, self.title, detail)
        listed = "; ".join(f"{name}: {', '.join(top)}" for name, top in zip(names, tops, strict=False))
        return (
            figure,
            f"Attention of {self.run.name} to domain vectors for one sentence of {gold}. Top words: {listed}.",
        )


def _source_words(directory: Path) -> AnalysedWords | None:
    """Return the source words with the encoder's attention, or else with the encoder-decoder attention."""
    found = word_values.read(directory, "attention")
    return found.get("encoder") or found.get("memory")


def _of(
    words: AnalysedWords, domains: Sequence[str], slots: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any], float]]:
    real, a_MN = words.is_word_M, words.values_LMK.mean(axis=0)
    for label, domain in enumerate(domains):
        if (chosen := real & (words.domain_M == label)).any():
            for slot, value in enumerate(a_MN[chosen].mean(axis=0), start=1):
                yield "attention", {"domain": domain, "slot": slot}, float(value)
    entropy_M = entropy(a_MN)
    yield "entropy", {}, float(entropy_M[real].mean()) if real.any() else math.nan
    for name, numbers in words.classes().items():
        if (chosen := np.isin(words.word_M, numbers)).any():
            yield f"entropy_{name}", {}, float(entropy_M[chosen].mean())
            yield f"largest_{name}", {}, float(a_MN[chosen].max(axis=1).mean())
            if slots:
                own_M = words.share_WK[words.word_M[chosen]].argmax(axis=1)
                slot_M = np.array([slots.index(domain) for domain in domains])[own_M]
                yield f"own_slot_{name}", {}, float(np.take_along_axis(a_MN[chosen], slot_M[:, None], axis=1).mean())
    numbers, mean_1W = words.mean_by_word(entropy_M[None], real)
    known = words.counts_WK[numbers].sum(axis=1) >= MIN_COUNT
    one_sided = 1 - entropy(words.share_WK[numbers])
    yield "specificity_correlation", {}, rank_correlation(one_sided[known], 1 - mean_1W[0, known])


def top_words(words: AnalysedWords, count: int, min_count: int) -> list[list[str]]:
    """Return, for each slot, the words with the highest mean attention over layers and occurrences (sec. 6.1).

    The paper divides by the sum over all words, which does not change the order. Words consist of letters and occur at
    least `min_count` times in the analysed text.
    """
    a_NM = words.values_LMK.mean(axis=0).T
    numbers, mean_NW = words.mean_by_word(a_NM, words.is_word_M, min_count)
    letters = np.array([words.words[number].isalpha() for number in numbers], dtype=bool)
    numbers, mean_NW = numbers[letters], mean_NW[:, letters]
    return [[words.words[numbers[at]] for at in np.argsort(-row, kind="stable")[:count]] for row in mean_NW]


def slot_names(spec: DomainAttentionSpec, count: int) -> list[str]:
    """Return the names of the domain vectors: the domains that training ties them to, or else numbers."""
    assert spec.run.analysis is not None
    tied = analysis_files.labels(read_json(spec.run.analysis / "meta.json").get("slots", ()), spec.domains)
    return [tied[slot] if slot < len(tied) else SPARE if tied else f"Vector {slot + 1}" for slot in range(count)]


def _figure(a_NT: Floats, words: list[str], names: list[str], tops: list[list[str]], gold: str, more: float) -> Figure:
    head, foot, between = 0.55 + more, 0.68, 0.42
    room, rows = shading.word_room(words), -(-len(tops) // COLUMNS)
    block = LINE * max(len(top) for top in tops) + LINE + 0.1  # the top words of a row of domains, and space below
    lists = block * rows - LINE - 0.1
    height = head + ROW * len(names) + room + between + lists + foot
    figure = new_figure(height)
    left = 0.3 + 0.085 * max(map(len, names))
    bottom = height - head - ROW * len(names)
    place = (left / WIDTH, bottom / height, (WIDTH - left - 0.1) / WIDTH, ROW * len(names) / height)
    axes = figure.add_axes(place)
    image = shading.shade(axes, a_NT)
    axes.set_yticks(range(len(names)), names)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        label.set_fontweight("bold" if name == gold else "normal")
    shading.words_below(axes, words)
    top = bottom - room - between + 0.2
    column = (WIDTH - 0.2) / min(len(tops), COLUMNS)
    figure.text(0.1 / WIDTH, (top + 0.06) / height, "Top words", weight="bold", va="bottom")
    for slot, (name, listed) in enumerate(zip(names, tops, strict=False)):
        at, low = (0.1 + slot % COLUMNS * column) / WIDTH, top - 0.04 - block * (slot // COLUMNS)
        figure.text(at, low / height, shading.short(name), color=GREY, va="top", size=8.5)
        for line, word in enumerate(listed, start=1):
            figure.text(at, (low - LINE * line) / height, shading.short(word), color=INK, va="top", size=8.5)
    shading.scale(figure, image, len(names), 0.1, "attention of the word")
    return figure
