"""Table of how much a mixture of experts uses its experts on generated text."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from mdnmt.exhibits.generated_words import Numbers, WordTable, gate_use
from mdnmt.exhibits.registry import register

_LABELS = {"experts": "Experts in use", "largest": "Largest (%)", "apart": "Domains apart (%)"}


@register
class GateUseTable(WordTable):
    """How many experts each layer uses, and whether domains use different ones."""

    part: ClassVar = "gates"
    explained: ClassVar = (
        "Experts in use: the exponential of the entropy of the mean gate; 1 where one expert does everything.",
        "Domains apart: how far each domain's mean gate is from that of all; 0 where all use the same experts.",
    )
    kind: Literal["gate_use"] = "gate_use"

    def numbers(self, words: dict[str, Any]) -> Numbers:
        """Return how each layer uses its experts."""
        layers = gate_use(words["gates"]) if words["gates"] else []
        return {(f"Layer {n}", key): number for n, layer in enumerate(layers, start=1) for key, number in layer.items()}

    def label(self, key: str) -> str:
        """Return the head of a column."""
        return _LABELS[key]

    def places(self, key: str) -> int:
        """Return the number of decimals of a column."""
        return 2 if key == "experts" else 1
