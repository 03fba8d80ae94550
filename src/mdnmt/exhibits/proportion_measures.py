"""Measure domain proportions of words: evenness, variance and correlations (Jiang et al. 2020, sec. 4.5, 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mdnmt.exhibits import word_values
from mdnmt.exhibits.analysis_files import Floats
from mdnmt.exhibits.figure_numbers import Measure, entropy, rank_correlation
from mdnmt.exhibits.rows import AnalysedRun
from mdnmt.exhibits.word_values import END, MIN_COUNT, AnalysedWords

LEAST = 3  # fewest occurrences in the analysed text of a word that counts for `frequency_correlation`


def measures(run: AnalysedRun) -> Iterator[Measure]:
    """Yield all measures of a system, for each seed that was analysed.

    Measures are by side and layer (from 1) unless stated otherwise. A word's share is its proportion of the domain of
    its sentence. `entropy`: mean over words, from 0 to 1. `entropy_end`: of the end of the source sentence.
    `proportion`: mean share over words. `variance_words`: of the share, between words in sentences of one domain.
    `variance_layers` (by side): of a word's share, between layers. `variance_seeds`: of a word's share, between seeds,
    if there are several. `frequency_correlation`: over words in sentences of one domain, Spearman's correlation of the
    mean share with the domain's part of the word's use in the training text. `variance_positions`: of a word's mean
    share at a position, between positions, in sentences of one domain. `proportion_function`, `proportion_shared`,
    `proportion_specific`: the mean share of the words of each class (`AnalysedWords.classes`).
    """
    by_side: dict[str, list[AnalysedWords]] = {}
    for seed in run.seeds:
        for side, words in word_values.read(seed.analysis, "proportions").items():
            by_side.setdefault(side, []).append(words)
            for name, at, value in _of(words):
                yield Measure(run.method, run.label, seed.seed, name, value, {"side": side, **at})
    for side, seeds in by_side.items():
        # The same sentences are analysed with every seed, in the same order.
        if len(seeds) > 1 and len({len(words.word_M) for words in seeds}) == 1:
            spread_L = np.var([words.own_share_LM()[:, words.is_word_M] for words in seeds], axis=0).mean(axis=1)
            for layer, value in enumerate(spread_L, start=1):
                at = {"side": side, "layer": layer}
                yield Measure(run.method, run.label, None, "variance_seeds", float(value), at)


def _of(words: AnalysedWords) -> Iterator[tuple[str, dict[str, Any], float]]:
    real, own_LM = words.is_word_M, words.own_share_LM()
    if not real.any():
        return
    entropy_LM = entropy(words.values_LMK)
    by_layer = {
        "entropy": entropy_LM[:, real].mean(axis=1),
        "proportion": own_LM[:, real].mean(axis=1),
        "variance_words": _over_domains(words, lambda chosen: own_LM[:, chosen].var(axis=1)),
        "frequency_correlation": _over_domains(words, lambda chosen: _frequency(words, own_LM, chosen)),
        "variance_positions": _over_domains(words, lambda chosen: _positions(words, own_LM, chosen)),
    }
    if (end := words.word_M == END).any():
        by_layer["entropy_end"] = entropy_LM[:, end].mean(axis=1)
    for name, numbers in words.classes().items():
        if (chosen := np.isin(words.word_M, numbers)).any():
            by_layer[f"proportion_{name}"] = own_LM[:, chosen].mean(axis=1)
    for name, value_L in by_layer.items():
        for layer, value in enumerate(value_L, start=1):
            yield name, {"layer": layer}, float(value)
    if len(own_LM) > 1:
        yield "variance_layers", {}, float(own_LM[:, real].var(axis=0).mean())


def _over_domains(words: AnalysedWords, measure: Any) -> Floats:
    """Return the mean over domains of a measure on the words of each domain's sentences, [L]."""
    found = []
    for domain in np.unique(words.domain_M):
        value_L = measure(words.is_word_M & (words.domain_M == domain))
        if np.isfinite(value_L).all():
            found.append(value_L)
    mean_L: Floats = np.mean(found, axis=0) if found else np.full(len(words.values_LMK), np.nan)
    return mean_L


def _frequency(words: AnalysedWords, own_LM: Floats, chosen: Any) -> Floats:
    """Return the correlation of share and use for each layer.

    It is computed within the sentences of one domain: over all sentences, even a layer that knows only the sentence's
    domain would show a correlation.
    """
    domain = int(words.domain_M[chosen][0])
    numbers, mean_LW = words.mean_by_word(own_LM, chosen, LEAST)
    known = words.counts_WK[numbers].sum(axis=1) >= MIN_COUNT
    use = words.share_WK[numbers, domain]
    return np.array([rank_correlation(row[known], use[known]) for row in mean_LW])


def _positions(words: AnalysedWords, own_LM: Floats, chosen: Any) -> Floats:
    """Return the variance of a word's mean between its positions, averaged over words that occur at two or more."""
    places = np.flatnonzero(chosen)
    keys = np.stack([words.word_M[places], words.position_M[places]], axis=1)
    pairs, place, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(place.ravel(), row[places], len(pairs)) / count for row in own_LM])
    _, first, times = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    several = times > 1
    if not several.any():
        return np.full(len(own_LM), np.nan)
    sums, squares = (np.add.reduceat(values, first, axis=1)[:, several] for values in (means, means**2))
    variance: Floats = (squares / times[several] - (sums / times[several]) ** 2).mean(axis=1)
    return np.maximum(variance, 0.0)
