"""Draw the domain proportions of one sentence: words across, layers up (Jiang et al. 2020, Fig. 7 and 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdnmt.errors import DataError
from mdnmt.paper import analysis
from mdnmt.paper.analysis import Words
from mdnmt.paper.specs import HeatmapSpec
from mdnmt.paper.style import DPI, GREY, INK, SHADES, WIDTH, empty, heading, more_room

MEDIUM = 14  # words: long enough to say something, short enough to read
ROW, GAP = 0.16, 0.09  # inches: one layer, between two domains


def choose(sentences: list[dict[str, Any]], domain: str | None, max_words: int) -> int | None:
    """Return the sentence to show: of `domain` if it is given, nearest to 14 words, the first of equals.

    A fixed rule, so that nobody picks the sentence that looks best. None where there is no sentence.
    """
    best, distance = None, None
    for index, sentence in enumerate(sentences):
        if domain is not None and sentence["domain"] != domain:
            continue
        length = sum(not piece.endswith("@@") for piece in sentence["source_tokens"])
        away = abs(length - min(MEDIUM, max_words))
        if distance is None or away < distance:
            best, distance = index, away
    return best


def _block(axes: list[Axes], words: Words, names: list[str], gold: str, side: str, max_words: int) -> Any:
    """Draw one side of the sentence, a strip of layers a domain, and return the image for the colour bar."""
    shown = words.words[:max_words]
    layers = words.proportions.shape[0]
    image = None
    for domain, (panel, name) in enumerate(zip(axes, names, strict=True)):
        image = panel.imshow(
            words.proportions[:, : len(shown), domain], cmap=SHADES, vmin=0, vmax=1, aspect="auto", origin="lower"
        )
        panel.set_xticks(np.arange(0.5, len(shown) - 1), minor=True)
        panel.set_yticks(np.arange(0.5, layers - 1), minor=True)
        panel.grid(which="minor", color="white", linewidth=0.8)
        panel.tick_params(which="both", length=0)
        panel.set_yticks(sorted({0, layers - 1}), [str(n + 1) for n in sorted({0, layers - 1})])
        panel.set_xticks([])
        for spine in panel.spines.values():
            spine.set_visible(False)
        weight = "bold" if name == gold else "normal"
        panel.annotate(
            name, (0, 0.5), (-17, 0), xycoords="axes fraction", textcoords="offset points",
            ha="right", va="center", weight=weight, color=INK,
        )  # fmt: skip
    last = axes[-1]
    last.set_xticks(range(len(shown)), [_short(word) for word in shown], rotation=90)
    axes[0].set_title(side, pad=4)
    return image


def _word_room(words: Words, most: int) -> float:
    """Return the inches that the words under a block need, standing upright."""
    return 0.16 + 0.082 * max(len(_short(word)) for word in words.words[:most])


def _short(word: str) -> str:
    return word if len(word) <= 14 else f"{word[:13]}\N{HORIZONTAL ELLIPSIS}"


def _axes(figure: Figure, top: float, layers: int, domains: int, left: float, right: float) -> tuple[list[Axes], float]:
    """Add the strips of a block whose upper edge is `top` inches from the bottom; return them and the lower edge."""
    width, height = figure.get_size_inches()
    axes = []
    for _ in range(domains):
        top -= layers * ROW
        axes.append(
            figure.add_axes((left / width, top / height, (width - left - right) / width, layers * ROW / height))
        )
        top -= GAP
    return axes, top + GAP


def draw(spec: HeatmapSpec) -> tuple[Figure, str]:
    """Return the figure and what it shows in words.

    Raises:
        DataError: the analysis is not what it should be, or has no such sentence.
    """
    if spec.run.analysis is None:
        reason = spec.run.missing or "the run was not analysed"
        return empty(spec.full_title, reason), f"Not drawn: {reason}"
    sentences = analysis.read(spec.run.analysis / "sentences.json")
    index = spec.sentence if spec.sentence is not None else choose(sentences, spec.domain, spec.max_words)
    if index is None:
        return empty(spec.full_title, "the analysis holds no sentence"), "Not drawn: the analysis holds no sentence"
    if index >= len(sentences):
        raise DataError(f"{spec.run.analysis}/sentences.json: {len(sentences)} sentences, number {index} was asked for")
    sentence = sentences[index]
    keys = analysis.domain_names(spec.run.analysis)
    names = analysis.labels(keys, spec.domains)
    gold = analysis.labels([sentence["domain"]], spec.domains)[0]
    blocks: list[tuple[str, Words]] = []
    if sentence.get("decoder") is not None:
        blocks.append(("Decoder layers", analysis.whole_words(sentence["target_tokens"], sentence["decoder"])))
    if sentence.get("encoder") is not None:
        blocks.append(("Encoder layers", analysis.whole_words(sentence["source_tokens"], sentence["encoder"])))
    if not blocks:
        reason = f"{spec.run.name} mixes no domains"
        return empty(spec.full_title, reason), f"Not drawn: {reason}"
    cut = max(len(words.words) for _, words in blocks) > spec.max_words
    detail = f"{spec.run.name}: a sentence of {gold} (bold). A row is a layer, the first below."
    detail = (f"{spec.task}. " if spec.task else "") + detail + (f" First {spec.max_words} words." if cut else "")
    head, foot, title_room = 0.52 + more_room(detail), 0.58, 0.36
    tall = [len(names) * words.proportions.shape[0] * ROW + (len(names) - 1) * GAP for _, words in blocks]
    below = [_word_room(words, spec.max_words) for _, words in blocks]
    figure = Figure(figsize=(WIDTH, head + foot + sum(tall) + sum(below) + len(blocks) * title_room), dpi=DPI)
    left = 0.42 + 0.085 * max(map(len, names))
    top, image = float(figure.get_size_inches()[1]) - head, None
    for (side, words), room in zip(blocks, below, strict=True):
        axes, low = _axes(figure, top - 0.26, words.proportions.shape[0], len(names), left, 0.1)
        image = _block(axes, words, names, gold, side, spec.max_words)
        top = low - room - 0.1
    _scale(figure, image, len(names), left)
    heading(figure, spec.title, detail)
    return figure, _describe(spec, gold, names, blocks)


def _scale(figure: Figure, image: Any, domains: int, left: float) -> None:
    width, height = figure.get_size_inches()
    bar = figure.add_axes((left / width, 0.36 / height, 2.2 / width, 0.09 / height))
    colour_bar = figure.colorbar(image, cax=bar, orientation="horizontal")
    colour_bar.set_ticks([0, 1 / domains, 1], labels=["0", f"1/{domains}", "1"])
    colour_bar.outline.set_visible(False)
    bar.tick_params(length=0, pad=2)
    figure.text((left + 2.35) / width, 0.36 / height, "proportion of the domain", size=8.5, color=GREY, va="bottom")


def _describe(spec: HeatmapSpec, gold: str, names: list[str], blocks: list[tuple[str, Words]]) -> str:
    parts = [f"Heat map of {spec.run.name} for one sentence of {gold}."]
    for side, words in blocks:
        means = words.proportions.mean(axis=(0, 1))
        shares = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, means, strict=True))
        parts.append(f"{side}, mean proportion over words and layers: {shares}.")
    return " ".join(parts)
