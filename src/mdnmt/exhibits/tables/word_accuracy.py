"""Table of right words in generated text, beside the best that a method can do with what it knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from mdnmt.exhibits.generated_words import KINDS, Column, Numbers, WordTable, accuracy
from mdnmt.exhibits.grid import Cell, GridRow, Header
from mdnmt.exhibits.registry import register
from mdnmt.exhibits.rows import WordRow
from mdnmt.numbers.rounding import half_up, mean

CEILING_GROUP = "The best there is"
CEILINGS = {
    "nothing": "without any knowledge of the domain",
    "context": "from the sentence alone",
    "label": "with the domain's label",
}
# Points that a number may differ from its ceiling; the second one is for ceilings that guesses reach.
TOLERANCE, GUESS_TOLERANCE = 5.0, 10.0


def ceiling(knows: str, num_domains: int) -> dict[str, float]:
    """Return the highest percentage of right words of each kind that is possible with this knowledge.

    Domains have equally many sentences, and ambiguous words are equally frequent in each, so any guess among k domains
    is right once in k times.
    """
    guess = 100.0 / num_domains
    by_context = guess if knows == "nothing" else 100.0
    return {"common": 100.0, "cue": 100.0, "context": by_context, "label": 100.0 if knows == "label" else guess}


@register
class WordAccuracyTable(WordTable):
    """How many words of generated text are right, by kind of word."""

    part: ClassVar = "domains"
    explained: ClassVar = (
        "By context: ambiguous words with a word of one domain alone beside them; by label: ambiguous words with none.",
        f"Reached: every number is within {TOLERANCE:g} points ({GUESS_TOLERANCE:g} for guesses) of the best there is "
        "for what the method knows.",
    )
    kind: Literal["word_accuracy"] = "word_accuracy"

    def numbers(self, words: dict[str, Any]) -> Numbers:
        """Return the percentage of right words of each kind."""
        return {("Right words (%)", kind): number for kind, number in accuracy(words).items()}

    def label(self, key: str) -> str:
        """Return the name of a kind of word."""
        return KINDS[key]

    def first_rows(self, columns: Sequence[Column]) -> list[GridRow]:
        """Return a row for each kind of knowledge, with the best there is."""
        rows = []
        for knows, label in CEILINGS.items():
            best = ceiling(knows, self.num_domains)
            cells = [Cell(text=half_up(best[kind], 1), mean=best[kind]) for _, kind in columns]
            rows.append(GridRow(group=CEILING_GROUP, label=label, method=f"ceiling-{knows}", cells=(*cells, Cell())))
        return rows

    def last_headers(self) -> list[Header]:
        """Return the column that says whether a row reaches its ceiling."""
        return [Header(key="reached", label="Reached?", metric="reached", group="Its ceiling")]

    def last_cells(self, row: WordRow, found: Sequence[Numbers]) -> list[Cell]:
        """Return whether a row reaches its ceiling."""
        if not found or row.knows is None:
            return [Cell()]
        best = ceiling(row.knows, self.num_domains)
        gaps = [_gap(mean([numbers[key] for numbers in found]), best[key[1]]) for key in found[0]]
        text = "above" if max(gaps) > 1 else "below" if min(gaps) < -1 else "yes"
        return [Cell(text=text, mean=float(text == "yes"), num_seeds=len(found))]


def _gap(value: float, best: float) -> float:
    """Return how far a number is from its ceiling, as a multiple of its tolerance."""
    return (value - best) / (TOLERANCE if best == 100.0 else GUESS_TOLERANCE)
