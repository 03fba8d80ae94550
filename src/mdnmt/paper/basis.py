"""What a published number's verdict rests on: the split, and how the metric cuts text."""

from __future__ import annotations

from collections.abc import Collection

_SPLITS = {"test": "test set", "valid": "validation set"}
_TOKENS = {
    "13a": "13a tokenisation",
    "zh": "tokenised by Chinese characters (zh)",
    "char": "tokenised by characters",
    "none": "tokenised words",
}


def basis(signatures: Collection[str], split: str) -> str:
    """Return in words which split was scored and how the text was cut: "test set, tokenised words without smoothing".

    Args:
        signatures: of the metric in all rows of a table, such as "nrefs:1|case:mixed|tok:13a|smooth:exp".
        split: test or valid.
    """
    ways = {_cutting(signature) for signature in signatures}
    cutting = "scored in different ways" if len(ways) > 1 else next(iter(ways), "")
    return ", ".join(text for text in (_SPLITS.get(split, split), cutting) if text)


def _cutting(signature: str) -> str:
    """Return how the metric with this signature cuts text; metrics that cut nothing say nothing."""
    fields = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    if "tok" not in fields:
        return "untokenised text" if "nc" in fields or "model" in fields else ""
    text = _TOKENS.get(fields["tok"], f"tokenisation {fields['tok']}")
    if "words" in fields:
        text += f" by {fields['words']}"
    return text + (" without smoothing" if fields.get("smooth") == "none" else "")
