"""The options of a task's `cleaning`, and the papers' cleaning recipes, which set several of them by one name."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen

Count = Annotated[int, Field(gt=0, strict=True)]

_EVERYTHING: dict[str, Any] = {
    "max_tokens": None,
    "max_length_ratio": None,
    "drop_identical": False,
    "require_letters": False,
    "deduplicate": False,
}
# name -> the values that it sets. Keys written beside the recipe override them. `ours` has the defaults of the keys.
RECIPES: dict[str, dict[str, Any]] = {
    "ours": {},
    "none": _EVERYTHING,
    # Jiang et al. (2020), News: fairseq's script for WMT14, Moses' clean-corpus-n.perl after BPE.
    "jiang": {
        **_EVERYTHING,
        "max_tokens": 250,
        "max_length_ratio": 1.5,
        "unit": "pieces",
        "normalise_punctuation": True,
    },
    # The same paper, TED: fairseq's script for IWSLT14, clean-corpus-n.perl before BPE.
    "jiang-ted": {**_EVERYTHING, "max_tokens": 175, "max_length_ratio": 1.5, "unit": "tokens", "lowercase": True},
    # Song et al. (2026): duplicates removed.
    "song": {**_EVERYTHING, "deduplicate": True},
    # Zhang et al. (2021): by the printed numbers of lines, nothing was removed.
    "zhang": _EVERYTHING,
}


class CleaningConfig(Frozen):
    """Which sentence pairs are kept, before held-out ones are drawn from them."""

    recipe: Literal["ours", "none", "jiang", "jiang-ted", "song", "zhang"] = Field(
        "ours", description="sets those of the keys below that are not given"
    )
    unit: Literal["words", "tokens", "pieces"] = Field(
        "words", description="unit of lengths: split at spaces, by the tokenizer, or by BPE (after the split)"
    )
    min_tokens: Count = Field(1, description="on each side")
    max_tokens: Count | None = Field(100, description="on each side; null: no limit")
    max_length_ratio: float | None = Field(
        4.0, ge=1.0, allow_inf_nan=False, description="length of the longer side / the shorter side; null: no limit"
    )
    max_characters: Count | None = Field(None, description="on each side, blanks included; null: no limit")
    max_pieces: Count | None = Field(
        None, description="BPE pieces on each side, counted after the split; null: no limit of its own"
    )
    drop_identical: bool = Field(True, strict=True, description="drop a pair whose sides are the same")
    require_letters: bool = Field(True, strict=True, description="drop a pair with a side that has no letter")
    max_copied_share: float = Field(
        1.0,
        ge=0.0,
        le=1.0,
        allow_inf_nan=False,
        description="largest share of the shorter side's words that the other side may contain",
    )
    deduplicate: bool = Field(True, strict=True, description="keep one of several pairs that are equal except for case")
    lowercase: bool = Field(False, strict=True, description="lower-case all text, held-out text as well")
    normalise_punctuation: bool = Field(
        False, strict=True, description="Moses' normalize-punctuation, held-out text as well"
    )

    unescape: bool = Field(
        False, strict=True, description="decode HTML entities and remove HTML tags, held-out text as well"
    )
    detokenise: bool = Field(
        False, strict=True, description="join text that was tokenised by Moses' rules, held-out text as well"
    )

    @property
    def limits_pieces(self) -> bool:
        """Say whether pairs are dropped by their number of BPE pieces, so that the text depends on the codes."""
        return self.unit == "pieces" or self.max_pieces is not None

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {**RECIPES.get(str(value.get("recipe")), {}), **value}

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise ValueError("min_tokens is above max_tokens")
        return self
