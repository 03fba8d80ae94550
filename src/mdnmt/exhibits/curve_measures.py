"""Measure curves of training: where they end, how fast they get there, whether they have come to rest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mdnmt.exhibits.figure_numbers import Measure, rank_correlation

Series = Mapping[int, float]  # update -> value
MARGIN = 1.05  # of the first system's final perplexity: what counts as having reached it
LAST = 0.1  # of all updates
EARLY = 1.5  # times the last perplexity: what is above it belongs to the early part of training
SLOWER = 0.5  # times the mean slope that follows: a slope below it is a plateau


@dataclass(frozen=True)
class Curves:
    """The curves of one run, by (split, column)."""

    method: str
    label: str
    seed: int | None
    series: Mapping[tuple[str, str], Series]


def measures(runs: Sequence[Curves], places: Mapping[str, tuple[str, str]]) -> Iterator[Measure]:
    """Yield the measures of each run.

    `final_<panel>`: the last value (accuracy: 0 to 1). `updates`: how many the run was measured for.
    `updates_to`: updates at which validation perplexity first is within 5 % of the first system's final one, of the
    same seed where there is one; a system that never gets there has none. `slope_last_tenth`: by what part validation
    perplexity changes over the last tenth of updates (negative: it still falls). `plateau`: the share of all updates
    on plateaus of the early part of training (`_plateau`). `accuracy_bleu_correlation`: Spearman's, of validation
    accuracy and BLEU over the validations of a run; and, without method or seed, at the end of each run over all runs.

    Args:
        runs: all runs; those with the first one's method and label are the first system.
        places: panel -> (split, column).
    """
    first = {run.seed: _perplexity(run) for run in runs if (run.method, run.label) == (runs[0].method, runs[0].label)}
    ends = []
    for run in runs:
        for name, value in _of(run, places, first):
            yield Measure(run.method, run.label, run.seed, name, value)
        accuracy, bleu = (run.series.get(("valid", column), {}) for column in ("accuracy", "bleu"))
        if accuracy and bleu:
            ends.append((accuracy[max(accuracy)], bleu[max(bleu)]))
    if ends:
        yield Measure("", "", None, "accuracy_bleu_correlation", rank_correlation(*zip(*ends, strict=True)))


def _perplexity(run: Curves) -> Series:
    return run.series.get(("valid", "ppl"), {})


def _of(
    run: Curves, places: Mapping[str, tuple[str, str]], first: Mapping[int | None, Series]
) -> Iterator[tuple[str, float]]:
    for panel, place in places.items():
        if series := run.series.get(place):
            yield f"final_{panel}", series[max(series)]
    accuracy, bleu = (run.series.get(("valid", column), {}) for column in ("accuracy", "bleu"))
    common = sorted(accuracy.keys() & bleu.keys())
    yield "accuracy_bleu_correlation", rank_correlation([accuracy[u] for u in common], [bleu[u] for u in common])
    if not (perplexity := _perplexity(run)):
        return
    yield "updates", float(max(perplexity))
    yield "slope_last_tenth", _slope(perplexity)
    yield "plateau", _plateau(perplexity)
    goal = first.get(run.seed) or next((series for series in first.values() if series), None)
    if goal:
        reached = [update for update in sorted(perplexity) if perplexity[update] <= MARGIN * goal[max(goal)]]
        yield "updates_to", float(reached[0]) if reached else math.nan


def _slope(series: Series) -> float:
    """Return the relative change over the last tenth of updates; between measurements the curve counts as straight."""
    updates = sorted(series)
    values = [series[update] for update in updates]
    if len(updates) < 2:
        return math.nan
    before = float(np.interp((1 - LAST) * updates[-1], updates, values))
    return values[-1] / before - 1


def _plateau(series: Series) -> float:
    """Return the share of all updates on which perplexity stays on a plateau before it falls faster again.

    The interval between two validations is on a plateau if perplexity is more than 1.5 times its last value at the end
    of it, and its logarithm falls in it, an update, less than half as fast as on average from there until perplexity is
    within 5 % of its last value. A curve that only ever falls more slowly has no plateau: 0.
    """
    updates = sorted(series)
    values = [math.log(series[update]) for update in updates]
    if len(updates) < 3:
        return math.nan
    goal = values[-1] + math.log(MARGIN)
    arrival = next(update for update, value in zip(updates, values, strict=True) if value <= goal)
    on_plateau = 0
    for here in range(len(updates) - 1):
        start, end = updates[here], updates[here + 1]
        if values[here + 1] <= values[-1] + math.log(EARLY) or end >= arrival:
            continue
        slope = (values[here] - values[here + 1]) / (end - start)
        if slope < SLOWER * (values[here + 1] - goal) / (arrival - end):
            on_plateau += end - start
    return on_plateau / updates[-1]
