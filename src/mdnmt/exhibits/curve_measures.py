"""Measure training curves: where they end, how fast they get there, and whether they have levelled off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mdnmt.exhibits.figure_numbers import Measure, rank_correlation

Series = Mapping[int, float]  # update -> value
MARGIN = 1.05  # up to this multiple of a final perplexity, the perplexity counts as reached
LAST = 0.1  # share of all updates over which the last slope is measured
EARLY = 1.5  # perplexities above this multiple of the last one belong to the early part of training
SLOWER = 0.5  # a slope below this share of the mean slope that follows is a plateau


@dataclass(frozen=True)
class Curves:
    """The curves of one run, by (split, column)."""

    method: str
    label: str
    seed: int | None
    series: Mapping[tuple[str, str], Series]


def measures(runs: Sequence[Curves], places: Mapping[str, tuple[str, str]]) -> Iterator[Measure]:
    """Yield the measures of each run.

    `final_<panel>`: the last value (accuracy: 0 to 1). `updates`: the last update with a validation perplexity.
    `updates_to`: the first update at which validation perplexity is at most 5 % above the final one of the first
    system, with the same seed if it has one; left out if that never happens. `slope_last_tenth`: the relative change of
    validation perplexity over the last tenth of updates (negative: it still falls). `plateau`: the share of all updates
    on plateaus in the early part of training (`_plateau`). `accuracy_bleu_correlation`: Spearman's correlation of
    validation accuracy and BLEU over the validations of a run; the one without method and seed is over the final values
    of all runs.

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
    """Return the relative change over the last tenth of updates, interpolated linearly between measurements."""
    updates = sorted(series)
    values = [series[update] for update in updates]
    if len(updates) < 2:
        return math.nan
    before = float(np.interp((1 - LAST) * updates[-1], updates, values))
    return values[-1] / before - 1


def _plateau(series: Series) -> float:
    """Return the share of all updates on plateaus, after which perplexity falls faster again.

    An interval between two validations is on a plateau if perplexity at its end is more than 1.5 times the last value,
    and log perplexity falls less than half as fast per update as on average from there until perplexity is within 5 %
    of its last value. A curve that only ever falls more slowly has no plateau: 0.
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
