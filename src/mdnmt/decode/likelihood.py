"""How well a model predicts each reference of a test set; stored in likelihood.json beside its translations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.fsio import read_json, write_text

LIKELIHOOD = "likelihood.json"


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of one domain's references, each token predicted from the reference's tokens before it.

    Attributes:
        pieces: tokens of each sentence, </s> included; 0 if the sentence exceeds the model's positions.
        nll: sum of -ln p over the tokens of each sentence, without label smoothing.
        correct: number of tokens of each sentence that are the model's most probable ones.
    """

    pieces: tuple[int, ...]
    nll: tuple[float, ...]
    correct: tuple[int, ...]

    @property
    def left_out(self) -> int:
        """Return the number of sentences that are longer than the model's positions."""
        return self.pieces.count(0)


@dataclass(frozen=True)
class Likelihoods:
    """The likelihood of each domain's references, and the vocabulary whose tokens were counted."""

    vocabulary: str
    domains: Mapping[str, Likelihood]


def write_likelihoods(folder: Path, found: Likelihoods) -> None:
    """Write likelihood.json: {"vocabulary": ..., "domains": {domain: {"pieces", "nll", "correct"}}}.

    Raises:
        DataError: a sum is not a finite number.
    """
    for name, each in found.domains.items():
        if wrong := [number for number, value in enumerate(each.nll, start=1) if not math.isfinite(value)]:
            raise DataError(
                f"line {wrong[0]} of {name}: the likelihood of its reference is not a finite number; the model's "
                "weights are damaged or have diverged"
            )
    value = {"vocabulary": found.vocabulary, "domains": {name: asdict(each) for name, each in found.domains.items()}}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    write_text(folder / LIKELIHOOD, f"{text}\n")


def read_likelihoods(folder: Path) -> Likelihoods | None:
    """Return what `write_likelihoods` wrote; None if the translations were not made by our models.

    Raises:
        DataError: the file is damaged.
    """
    path = folder / LIKELIHOOD
    try:
        value = read_json(path)
        domains = {name: _checked(**entry) for name, entry in value["domains"].items()}
        return Likelihoods(str(value["vocabulary"]), domains)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: cannot be used ({error}); decode the test set again") from None


def _checked(pieces: list[int], nll: list[float], correct: list[int]) -> Likelihood:
    if not len(pieces) == len(nll) == len(correct):
        raise ValueError(f"{len(pieces)} counts of pieces, {len(nll)} sums, {len(correct)} counts of right pieces")
    if not all(math.isfinite(value) for value in nll):
        raise ValueError("a sum is not a finite number")
    return Likelihood(tuple(pieces), tuple(nll), tuple(correct))
