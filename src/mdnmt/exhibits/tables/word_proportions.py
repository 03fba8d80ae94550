"""Table of WALDM's proportions of words in generated text (Jiang et al. 2020, sec. 3.2)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from mdnmt.exhibits.generated_words import KINDS, Numbers, WordTable
from mdnmt.exhibits.registry import register


@register
class WordProportionsTable(WordTable):
    """The share that a sentence's own domain has in the proportions of its words."""

    part: ClassVar = "proportions"
    explained: ClassVar = (
        "The share that a sentence's own domain has in a word's proportion, before smoothing: a mean over words.",
    )
    kind: Literal["word_proportions"] = "word_proportions"

    def numbers(self, words: dict[str, Any]) -> Numbers:
        """Return the mean share in each layer of each kind of word, in percent."""
        return {
            (f"Layer {layer} (%)", kind): 100.0 * share
            for kind in KINDS
            for layer, share in enumerate(words["proportions"].get(kind, []), start=1)
        }

    def label(self, key: str) -> str:
        """Return the name of a kind of word."""
        return KINDS[key]
