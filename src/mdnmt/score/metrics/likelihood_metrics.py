"""Perplexity, as fairseq prints it, and token accuracy from forced decoding, both with </s>, no label smoothing."""

from __future__ import annotations

import math

from mdnmt import __version__
from mdnmt.decode.likelihood import Likelihood
from mdnmt.errors import DataError
from mdnmt.score.metrics.score import Score


def perplexity(found: Likelihood, vocabulary: str) -> Score:
    """Return 2 ** (mean over tokens of -log2 p), which equals exp(mean of -ln p); 1 is best.

    Raises:
        DataError: no sentence was predicted, or the perplexity overflows.
    """
    pieces = _pieces(found)
    try:
        return Score(math.exp(math.fsum(found.nll) / pieces), _signature(found, vocabulary))
    except OverflowError:
        raise DataError(
            f"a perplexity of e to the {math.fsum(found.nll) / pieces:.0f}: the model has learnt nothing, or its "
            "weights are damaged"
        ) from None


def accuracy(found: Likelihood, vocabulary: str) -> Score:
    """Return the percentage of reference tokens that the model ranks first, given the preceding reference tokens.

    Raises:
        DataError: no sentence was predicted.
    """
    return Score(100 * sum(found.correct) / _pieces(found), _signature(found, vocabulary))


def _pieces(found: Likelihood) -> int:
    pieces = sum(found.pieces)
    if not pieces:
        raise DataError("no reference is short enough for the model; nothing was predicted")
    return pieces


def _signature(found: Likelihood, vocabulary: str) -> str:
    parts = ["nrefs:1", "unit:piece", "eos:yes", "smooth:none", f"vocab:{vocabulary}"]
    parts += [f"left-out:{found.left_out}"] if found.left_out else []
    return "|".join([*parts, f"version:{__version__}"])
