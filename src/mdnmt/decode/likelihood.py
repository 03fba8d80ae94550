"""The likelihood of each reference of a test set under a model, stored in likelihood.json beside its translations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.fsio import read_json, write_text

LIKELIHOOD = "likelihood.json"
PLACES = 4  # decimals of a sentence's negative log-likelihood; more would double the file and change no printed score


@dataclass(frozen=True)
class Likelihood:
    """The likelihood of one domain's references; each token is predicted from the preceding tokens of the reference.

    Attributes:
        pieces: number of tokens of each reference, </s> included; 0 if the pair exceeds the model's positions.
        nll: sum of -ln p over the tokens of each reference, without label smoothing.
        correct: number of tokens of each reference to which the model gives the highest probability.
    """

    pieces: tuple[int, ...]
    nll: tuple[float, ...]
    correct: tuple[int, ...]

    @property
    def left_out(self) -> int:
        """Return the number of sentence pairs that were left out because they exceed the model's positions."""
        return self.pieces.count(0)


@dataclass(frozen=True)
class Likelihoods:
    """The likelihood of each domain's references, and the name of the target vocabulary (`Translator.vocabulary`)."""

    vocabulary: str
    domains: Mapping[str, Likelihood]


def write_likelihoods(folder: Path, found: Likelihoods) -> None:
    """Write likelihood.json: {"vocabulary": ..., "domains": {domain: {"pieces", "nll", "correct"}}}, `nll` rounded.

    Raises:
        DataError: a likelihood is NaN or infinite.
    """
    for name, each in found.domains.items():
        if wrong := [number for number, value in enumerate(each.nll, start=1) if not math.isfinite(value)]:
            raise DataError(
                f"line {wrong[0]} of {name}: the likelihood of its reference is not a finite number; the model's "
                "weights are damaged or have diverged"
            )
    value = {
        "vocabulary": found.vocabulary,
        "domains": {
            name: asdict(each) | {"nll": [round(value, PLACES) for value in each.nll]}
            for name, each in found.domains.items()
        },
    }
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    write_text(folder / LIKELIHOOD, f"{text}\n")


def read_likelihoods(folder: Path) -> Likelihoods | None:
    """Return what `write_likelihoods` wrote; None if the file is missing, as for translations by other programs.

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
