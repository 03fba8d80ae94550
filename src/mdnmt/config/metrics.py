"""The metrics that a table may name: what each is called, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Metric = Literal["bleu", "bleu_tok", "chrf", "ter", "comet", "perplexity", "accuracy"]


@dataclass(frozen=True)
class About:
    """What a reader is told of a metric.

    Attributes:
        label: above its columns.
        lower_is_better: as of an error rate.
        caution: what its numbers cannot be used for; said under each table that has them.
        file: beside scores.json, where it is not in there: too slow to be computed unasked, or by a model of its own.
    """

    label: str
    lower_is_better: bool = False
    caution: str = ""
    file: str = "scores.json"


METRICS: Mapping[str, About] = {
    "bleu": About("BLEU"),
    "bleu_tok": About("BLEU (tokenised)"),
    "chrf": About("chrF"),
    "ter": About("TER", lower_is_better=True, file="ter.json"),
    "comet": About("COMET", file="comet.json"),
    "perplexity": About(
        "Perplexity",
        lower_is_better=True,
        caution="Perplexity is of a piece: over different vocabularies it cannot be compared.",
    ),
    "accuracy": About(
        "Accuracy",
        caution="Accuracy is the share of pieces, in percent, that are predicted rightly after the reference's own: "
        "over different vocabularies it cannot be compared.",
    ),
}
