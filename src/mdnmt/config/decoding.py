"""How a test set is translated: part of the identity of the hypotheses."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, ValidationInfo, field_validator

from mdnmt.config.base import Frozen

Labels = Literal["given", "wrong", "missing", "predicted"]
LABELS: tuple[Labels, ...] = get_args(Labels)
Split = Literal["test", "valid"]  # which held-out text is translated and scored
SPLITS: tuple[Split, ...] = get_args(Split)
Weights = Literal["final", "alternative"]
Precision = Literal["fp32", "bf16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


class Decoding(Frozen):
    """Beam search as in Jiang et al. 2020 (beam 5, length penalty 1) unless a study says otherwise."""

    beam_size: int = Field(5, gt=0, le=1000, description="prefixes kept at each step; 1: greedy search")
    length_penalty: float = Field(1.0, ge=0, description="the exponent of what scores are divided by")
    length_penalty_form: Literal["power", "gnmt"] = Field(
        "power", description="power: length; gnmt: (5 + length) / 6 (Wu et al. 2016, eq. 14); to that exponent"
    )
    max_length_ratio: float = Field(1.5, gt=0, description="longest output: ratio x source pieces + extra")
    max_length_extra: int = Field(20, ge=0, description="BPE pieces; see max_length_ratio")
    nbest: int = Field(1, gt=0, le=1000, description="above 1 the n best are written beside the hypotheses")
    max_sentences: int | None = Field(None, gt=0, description="largest number of test sentences per domain")
    batch_tokens: int = Field(2000, gt=0, description="source pieces of a batch; changes no result but float rounding")
    precision: Precision = Field(
        "fp32", description="of the matrix products of beam search: bf16 and int8 (CPU) are faster and less exact"
    )
    weights: Weights = Field(
        "final", description="final: by the recipe's `final_weights`; alternative: the other of average and best"
    )
    labels: Labels = Field(
        "given",
        description="domain label at translation time: gold (given), wrong, missing, or predicted by a classifier",
    )

    @field_validator("nbest")
    @classmethod
    def _within_the_beam(cls, nbest: int, info: ValidationInfo) -> int:
        beam_size = info.data.get("beam_size", nbest)  # absent if it is itself invalid
        if nbest > beam_size:
            raise ValueError(f"a beam of {beam_size} (beam_size) gives no more than {beam_size} translations")
        return nbest
