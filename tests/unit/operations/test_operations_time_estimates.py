"""Estimates: what is nearest counts, the source is named, and no number claims more than is known."""

from __future__ import annotations

import pytest

from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.operations.plan import time_estimates
from mdnmt.operations.plan.plan_text import format_bytes, format_range, format_time, round_estimate
from mdnmt.operations.plan.run_records import TrainingRecord
from mdnmt.operations.plan.time_estimates import Estimate


def spec(builder: str = "transformer", seed: int = 1, updates: int = 100) -> RunSpec:
    return RunSpec(
        task_fingerprint="0" * 8,
        builder=builder,
        architecture={},
        training=Training(max_updates=updates),
        domains=("law",),
        seed=seed,
    )


def record(
    directory: str, of: RunSpec, *, task: str = "here", seconds: float = 200.0, work: float = 1e9
) -> TrainingRecord:
    return TrainingRecord(task, directory, of, 100, seconds, 1, work, "cpu", "a processor", "benchmark record")


def test_without_records_a_rule_of_thumb_with_its_number() -> None:
    found = time_estimates.training(spec(), "here", 1e9, [], "cpu", 100)
    assert found.source == "rule of thumb: 40 GFLOP/s per CPU thread, no record here"
    assert found.high / found.low == pytest.approx(time_estimates.RULE_FACTOR**2)


def test_small_models_do_not_run_at_full_speed() -> None:
    found = time_estimates.training(spec(), "here", 1.0, [], "cuda", 100)
    assert found.low >= 100 * time_estimates.LEAST_UPDATE["cuda"] / time_estimates.RULE_FACTOR


def test_another_seed_of_the_same_run_comes_first() -> None:
    records = [record("mixed", spec("waldm"), seconds=1.0), record("mixed", spec(seed=2))]
    found = time_estimates.training(spec(seed=1), "here", 1e9, records, "cpu", 50)
    assert found.source == "measured: seed 2 of the same run on a processor (benchmark record)"
    assert found.low < 100.0 < found.high  # half of its updates


def test_then_the_same_task_then_the_same_method_then_the_nearest_size() -> None:
    other_recipe = spec(updates=7)
    records = [
        record("far", spec("waldm"), work=1e12),
        record("near", spec("waldm"), work=2e9),
        record("elsewhere", other_recipe, task="there"),
    ]
    found = time_estimates.training(spec(), "here", 1e9, records, "cpu", 100)
    assert found.source == "scaled from near of the same task on a processor (benchmark record)"
    assert found.low < 100.0 < found.high  # half of the work of 200 seconds
    alike = [*records, record("alike", other_recipe, work=1e15)]
    assert "scaled from alike" in time_estimates.training(spec(), "here", 1e9, alike, "cpu", 100).source
    assert "of task there" in time_estimates.training(spec(), "here", 1e9, records[2:], "cpu", 100).source


def test_threads_are_counted() -> None:
    one, two = record("a", spec(seed=2)), record("a", spec(seed=2))
    doubled = TrainingRecord(**{**vars(two), "threads": 2})
    assert doubled.seconds_per_update == 2 * one.seconds_per_update


def test_doubt_grows_with_the_distance_and_ends() -> None:
    assert time_estimates.scaling_uncertainty(1.0) == time_estimates.SCALED_FACTOR
    assert (
        time_estimates.scaling_uncertainty(4.0)
        == time_estimates.scaling_uncertainty(0.25)
        > time_estimates.scaling_uncertainty(2.0)
    )
    assert time_estimates.scaling_uncertainty(1e12) == time_estimates.MAX_SCALED_FACTOR


def test_patience_may_end_a_run_earlier() -> None:
    found = Estimate(10.0, 20.0, "measured").with_early_end()
    assert (found.low, found.high) == (3.0, 20.0)
    assert "patience" in found.source


def test_sums_do_not_hide_doubt() -> None:
    found = time_estimates.total([Estimate(1, 2, "a"), Estimate(10, 20, "b")])
    assert (found.low, found.high) == (11, 22)


def test_translations_are_scaled_from_the_nearest_one() -> None:
    found = time_estimates.decoding(2e9, 100, {"far": (1e12, 5.0), "near": (1e9, 10.0)}, "cpu")
    assert found.source == "translating: scaled from that of near (benchmark record)"
    assert found.low < 20.0 < found.high
    assert "rule of thumb" in time_estimates.decoding(2e9, 100, {}, "cuda").source


def test_kept_checkpoints() -> None:
    # model, and two or three checkpoints of the model and the two moments of Adam, four bytes a number
    assert time_estimates.kept_sizes(1000, average=0) == (4000 + 12000, 4000 + 12000)
    assert time_estimates.kept_sizes(1000, average=10) == (4000 + 12000, 2 * 4000 + 12000)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.1349, "0.13"), (0.047, "0.05"), (1.44, "1.4"), (4.4, "4"), (12.3, "12"), (47, "50"), (1234, "1,200")],
)
def test_rough_numbers(value: float, text: str) -> None:
    assert round_estimate(value) == text


def test_ranges_with_their_units() -> None:
    assert format_range(1.01, 1.04) == "1"
    assert format_time(None) == "not known"
    assert format_time(Estimate(0, 0, "")) == "-"
    assert format_time(Estimate(10, 40, "")) == "10\N{EN DASH}40 s"
    assert format_time(Estimate(600, 1200, "")) == "10\N{EN DASH}20 min"
    assert format_time(Estimate(3600, 36000, "")) == "1\N{EN DASH}10 h"
    assert format_bytes(0, 0) == "-"
    assert format_bytes(5 * 10**9, 2 * 10**10) == "5\N{EN DASH}20 GB"
