"""The counters of a run."""

from __future__ import annotations

import json
from dataclasses import asdict

from mdnmt.config.training import Training
from mdnmt.train.progress import Progress


def validated(values: list[float], every: int = 10) -> Progress:
    progress = Progress()
    for value in values:
        progress.update += every
        progress.note_validation(value)
    return progress


def test_best_is_the_smallest_and_the_first_of_equals() -> None:
    progress = validated([3.0, 2.0, 2.0, 2.5])
    assert (progress.best_value, progress.best_update, progress.without_better) == (2.0, 20, 2)
    assert progress.validated == [10, 20, 30, 40]


def test_patience_ends_a_run() -> None:
    progress = validated([3.0, 2.0, 2.5, 2.5])
    assert not progress.is_over(Training(patience=3, max_updates=1000))
    assert progress.is_over(Training(patience=2, max_updates=1000))
    assert not progress.is_over(Training(patience=0, max_updates=1000))
    assert progress.is_over(Training(patience=0, max_updates=40))


def test_which_checkpoints_make_the_weights() -> None:
    progress = validated([3.0, 2.0, 2.5, 2.5])
    average, best = Training(average_checkpoints=3), Training(average_checkpoints=3, final_weights="best")
    assert (progress.final(average), progress.alternative(average)) == ([20, 30, 40], [20])
    assert (progress.final(best), progress.alternative(best)) == ([20], [20, 30, 40])
    assert progress.newest(average) == progress.newest(best) == [20, 30, 40]  # kept on disk for both
    assert validated([2.0, 3.0, 2.5]).weights_needed(Training(average_checkpoints=2)) == {10, 20, 30}
    assert Progress().weights_needed(Training()) == set()
    assert progress.final(Training(average_checkpoints=9)) == [10, 20, 30, 40]
    none = Training(average_checkpoints=0)
    assert (progress.final(none), progress.alternative(none), progress.newest(none)) == ([20], [20], [])
    assert Progress().final(Training()) == []


def test_it_comes_back_from_json() -> None:
    progress = validated([0.1 + 0.2])
    progress.epoch, progress.position, progress.window = 3, 7, {"words": 5.0, "generation": 1 / 3}
    assert Progress(**json.loads(json.dumps(asdict(progress)))) == progress
