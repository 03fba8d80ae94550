"""Estimate times from measured ones: a range, and the source of the estimate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Any

from mdnmt.config.run import RunSpec
from mdnmt.operations.plan.run_records import TrainingRecord

# Assumed operations per second of one CPU thread or one GPU, if nothing was measured.
RULE_TRAINING = {"cpu": 4e10, "cuda": 4e13}
RULE_DECODING = {"cpu": 1e10, "cuda": 2e12}
# Seconds that an update, or the translation of a sentence, takes at least, however small the model is.
LEAST_UPDATE = {"cpu": 0.005, "cuda": 0.03}
LEAST_SENTENCE = {"cpu": 0.001, "cuda": 0.005}
# Factors by which an estimate may be wrong in either direction.
RULE_FACTOR = 4.0  # a rule of thumb
SAME_FACTOR = 1.3  # the same run with another seed, or its own first part
SCALED_FACTOR = 1.5  # another run of the same amount of work
MAX_SCALED_FACTOR = 5.0  # upper bound for work of another amount
EARLIEST_END = 0.3  # share of all updates after which `patience` may end a run


@dataclass(frozen=True)
class Estimate:
    """Seconds of one CPU thread or one GPU, from low to high, and the source of the estimate."""

    low: float
    high: float
    source: str

    def with_early_end(self) -> Estimate:
        """Return the estimate for a run that may end before its last update."""
        return Estimate(self.low * EARLIEST_END, self.high, f"{self.source}; patience may end it earlier")


NOTHING = Estimate(0.0, 0.0, "")


def within_factor(seconds: float, factor: float, source: str) -> Estimate:
    """Return an estimate that may be wrong by a factor in either direction."""
    return Estimate(seconds / factor, seconds * factor, source)


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Return the sum. Both ends are added, because estimates tend to be wrong in the same direction."""
    found = list(estimates)
    return Estimate(sum(one.low for one in found), sum(one.high for one in found), "")


def training(
    spec: RunSpec, task: str, operations: float, records: list[TrainingRecord], device: str, updates: int
) -> Estimate:
    """Return the time of `updates` updates of a run that has not begun.

    Args:
        spec: the run.
        task: its task's name.
        operations: operations of one of its updates.
        records: finished trainings on this kind of device.
        device: "cpu" or "cuda".
        updates: number of updates left.
    """
    if not records:
        rate = RULE_TRAINING[device]
        source = f"rule of thumb: {rate / 1e9:,.0f} GFLOP/s per {_device_unit(device)}, no record here"
        return within_factor((operations / rate + LEAST_UPDATE[device]) * updates, RULE_FACTOR, source)
    alike = [record for record in records if _without_seed(record.spec) == _without_seed(spec)]
    if alike:
        nearest = alike[0]
        source = f"measured: seed {nearest.spec.seed} of the same run on {nearest.hardware} ({nearest.kept_in})"
        return within_factor(nearest.seconds_per_update * updates, SAME_FACTOR, source)
    nearest = min(records, key=lambda record: _distance(record, spec, task, operations))
    ratio = operations / nearest.operations
    where = "the same task" if nearest.task == task else f"task {nearest.task}"
    source = f"scaled from {nearest.directory} of {where} on {nearest.hardware} ({nearest.kept_in})"
    seconds = nearest.seconds_per_update * ratio
    if device == "cuda":
        # A smaller model launches as many kernels, and their launches take time.
        seconds = max(seconds, min(nearest.seconds_per_update, LEAST_UPDATE[device]))
    return within_factor(seconds * updates, scaling_uncertainty(ratio), source)


def scaling_uncertainty(ratio: float) -> float:
    """Return the factor by which a time scaled by `ratio` may be wrong; it grows as `ratio` moves away from 1."""
    return float(min(MAX_SCALED_FACTOR, SCALED_FACTOR * max(ratio, 1 / ratio) ** 0.25))


def decoding(operations: float, sentences: int, records: dict[str, tuple[float, float]], device: str) -> Estimate:
    """Return the time of translating.

    Args:
        operations: operations of all translations that are left.
        sentences: number of sentences to translate.
        records: name of a run of the study -> operations and measured seconds of its translation.
        device: "cpu" or "cuda".
    """
    if not records:
        rate = RULE_DECODING[device]
        source = f"translating: rule of thumb, {rate / 1e9:,.0f} GFLOP/s per {_device_unit(device)}, no record here"
        return within_factor(operations / rate + LEAST_SENTENCE[device] * sentences, RULE_FACTOR, source)
    name = min(records, key=lambda one: (abs(log(operations / records[one][0])), one))
    done, seconds = records[name]
    ratio = operations / done
    return within_factor(
        seconds * ratio, scaling_uncertainty(ratio), f"translating: scaled from that of {name} (benchmark record)"
    )


def kept_sizes(parameters: int, average: int) -> tuple[int, int]:
    """Return the least and the most bytes of a finished run: its weights, and its newest checkpoint.

    A checkpoint has the weights and Adam's two moments. If the recipe averages checkpoints, a run may keep both sets of
    weights, `best` and `average`.
    """
    weights, checkpoint = 4 * parameters, 3 * 4 * parameters
    return weights + checkpoint, (2 if average else 1) * weights + checkpoint


def _device_unit(device: str) -> str:
    return "GPU" if device == "cuda" else "CPU thread"


def _without_seed(spec: RunSpec) -> dict[str, Any]:
    return spec.model_dump(exclude={"seed", "initial_run"})


def _distance(record: TrainingRecord, spec: RunSpec, task: str, operations: float) -> tuple[bool, bool, float, str]:
    other_task, other_builder = record.task != task, record.spec.builder != spec.builder
    return other_task, other_builder, abs(log(operations / record.operations)), record.directory
