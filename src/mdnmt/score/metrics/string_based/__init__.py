"""Metrics that compare plain text with references, by sacreBLEU's classes: one module per metric, named after it.

Each module defines `metric(target_lang, references)`, which returns sacreBLEU's metric with cached references. A
plug-in also defines `INFO`; those here have an entry in `mdnmt.config.metrics`. See docs/your-own-metric.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from mdnmt.plugin_kinds import METRIC
from mdnmt.plugins import Table
from mdnmt.score.metrics.score import Score, corpus_score
from mdnmt.score.metrics.sentence_counts import Counts, counted

STRING_BASED: Mapping[str, ModuleType] = Table(
    METRIC,
    {found.name: import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)},
    lambda module: module,
)


def score(name: str, hypotheses: Sequence[str], references: Sequence[str], target_lang: str) -> Score:
    """Return the corpus score of detokenised `hypotheses` against one reference each.

    Args:
        name: a key of `STRING_BASED`.
        hypotheses: plain text, one sentence each.
        references: plain text, one sentence each.
        target_lang: language code of the target; selects the tokenisation.
    """
    metric = cached_metric(name, target_lang, tuple(references))
    return corpus_score(metric, sentence_counts(name, hypotheses, references, target_lang))


def sentence_counts(name: str, hypotheses: Sequence[str], references: Sequence[str], target_lang: str) -> Counts:
    """Return what sacreBLEU counts in each hypothesis, [N, C]; arguments as in `score`."""

    def count() -> Any:
        # A private method, but the only access to sentence statistics; tests compare the results with sacreBLEU's own.
        metric = cached_metric(name, target_lang, tuple(references))
        return metric._extract_corpus_statistics(list(hypotheses), None)

    return counted((name, target_lang), hypotheses, references, count)


@lru_cache(maxsize=8)  # two metrics of four domains; counting the n-grams of references takes half of a score's time
def cached_metric(name: str, target_lang: str, references: tuple[str, ...]) -> Any:
    """Return sacreBLEU's metric with references whose n-grams are counted once."""
    return STRING_BASED[name].metric(target_lang, references)
