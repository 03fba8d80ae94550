"""Draw the domain proportions of one sentence: words across, layers up (Jiang et al. 2020, Fig. 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mdnmt.errors import DataError
from mdnmt.paper import analysis, cells, proportion_measures
from mdnmt.paper.analysis import Words
from mdnmt.paper.measures import Measure
from mdnmt.paper.specs import HeatmapSpec
from mdnmt.paper.style import DPI, INK, WIDTH, empty, font_note, heading, more_room

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


def find_sentence(directory: Path, number: int | None, domain: str | None, max_words: int) -> dict[str, Any] | None:
    """Return a sentence of an analysis by its number or by `choose`; None where there is none to choose.

    Raises:
        DataError: there is no sentence of that number.
    """
    sentences = analysis.read(directory / "sentences.json")
    index = choose(sentences, domain, max_words) if number is None else number
    if index is None:
        return None
    if index >= len(sentences):
        raise DataError(f"{directory}/sentences.json: {len(sentences)} sentences, number {index} was asked for")
    found: dict[str, Any] = sentences[index]
    return found


def _block(axes: list[Axes], words: Words, names: list[str], gold: str, side: str) -> Any:
    """Draw one side of the sentence, a strip of layers a domain, and return the image for the colour bar."""
    layers = words.proportions.shape[0]
    image = None
    for panel, (domain, name) in zip(axes, enumerate(names), strict=True):
        image = cells.shade(panel, words.proportions[:, :, domain], lowest_below=True)
        shown = range(layers) if len(names) == 1 else sorted({0, layers - 1})
        panel.set_yticks(shown, [str(layer + 1) for layer in shown])
        weight = "bold" if name == gold else "normal"
        panel.annotate(
            name, (0, 0.5), (-17, 0), xycoords="axes fraction", textcoords="offset points",
            ha="right", va="center", weight=weight, color=INK,
        )  # fmt: skip
    cells.words_below(axes[-1], words.words)
    axes[0].set_title(side, pad=4)
    return image


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


def inputs(spec: HeatmapSpec) -> list[Path]:
    """Return the files that the figure is made from."""
    return analysis.files(spec.run, "meta.json", "sentences.json", "proportions.npz", "lexicon.json")


def measures(spec: HeatmapSpec) -> Iterator[Measure]:
    """Yield the measures of the system's proportions, of all its seeds (`proportion_measures`)."""
    return proportion_measures.measures(spec.run)


def draw(spec: HeatmapSpec) -> tuple[Figure, str]:
    """Return the figure and what it shows in words.

    Raises:
        DataError: the analysis is not what it should be, or has no such sentence.
    """
    if spec.run.analysis is None:
        reason = spec.run.missing or "the run was not analysed"
        return empty(spec.full_title, reason), f"Not drawn: {reason}"
    sentence = find_sentence(spec.run.analysis, spec.sentence, spec.domain, spec.max_words)
    if sentence is None:
        return empty(spec.full_title, "the analysis holds no sentence"), "Not drawn: the analysis holds no sentence"
    keys = analysis.domain_names(spec.run.analysis)
    names = analysis.labels(keys, spec.domains)
    gold = analysis.labels([sentence["domain"]], spec.domains)[0]
    blocks = _blocks(sentence, both_sides=spec.kind == "proportion_heatmap")
    if not blocks:
        reason = f"{spec.run.name} mixes no domains"
        return empty(spec.full_title, reason), f"Not drawn: {reason}"
    cut = max(len(words.words) for _, words in blocks) > spec.max_words
    blocks = [(side, words.first(spec.max_words)) for side, words in blocks]
    means = _described(spec, gold, names, blocks)
    if spec.kind == "proportion_words":
        own = keys.index(sentence["domain"])
        blocks = [(side, Words(words.words, words.proportions[:, :, own : own + 1])) for side, words in blocks]
        names = [gold]
    detail = f"{spec.run.name}: a sentence of {gold} (bold). A row is a layer, the first below."
    detail = (f"{spec.task}. " if spec.task else "") + detail + (f" First {spec.max_words} words." if cut else "")
    detail += font_note(word for _, words in blocks for word in words.words)
    figure = _figure(blocks, names, gold, len(keys), more_room(detail))
    heading(figure, spec.title, detail)
    return figure, means


def _blocks(sentence: dict[str, Any], *, both_sides: bool) -> list[tuple[str, Words]]:
    sides = (("Decoder layers", "decoder", "target_tokens"), ("Encoder layers", "encoder", "source_tokens"))
    return [
        (title, analysis.whole_words(sentence[tokens], sentence[side]))
        for title, side, tokens in (sides if both_sides else sides[1:])
        if sentence.get(side) is not None
    ]


def _figure(blocks: list[tuple[str, Words]], names: list[str], gold: str, num_domains: int, more: float) -> Figure:
    head, foot, title_room = 0.52 + more, 0.58, 0.36
    tall = [len(names) * words.proportions.shape[0] * ROW + (len(names) - 1) * GAP for _, words in blocks]
    below = [cells.word_room(words.words) for _, words in blocks]
    figure = Figure(figsize=(WIDTH, head + foot + sum(tall) + sum(below) + len(blocks) * title_room), dpi=DPI)
    left = 0.42 + 0.085 * max(map(len, names))
    top, image = float(figure.get_size_inches()[1]) - head, None
    for (side, words), room in zip(blocks, below, strict=True):
        axes, low = _axes(figure, top - 0.26, words.proportions.shape[0], len(names), left, 0.1)
        image = _block(axes, words, names, gold, side)
        top = low - room - 0.1
    cells.scale(figure, image, num_domains, left, "proportion of the domain")
    return figure


def _described(spec: HeatmapSpec, gold: str, names: list[str], blocks: list[tuple[str, Words]]) -> str:
    parts = [f"Heat map of {spec.run.name} for one sentence of {gold}."]
    for side, words in blocks:
        means = words.proportions.mean(axis=(0, 1))
        shares = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, means, strict=True))
        parts.append(f"{side}, mean proportion over words and layers: {shares}.")
    return " ".join(parts)
