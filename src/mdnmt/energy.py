"""The energy of a training: the plug-in that measures it, and what run.json says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mdnmt.plugin_kinds import METER
from mdnmt.plugins import make

JOULES_PER_WATT_HOUR = 3600


class Meter(Protocol):
    """The energy that the parts of a machine have used since the meter was made."""

    def joules(self, part: str) -> float | None:
        """Return the energy of `cpu` or `gpu` so far; None if it is not measured."""

    def read(self) -> dict[str, dict[str, Any]]:
        """Return `cpu`, and `gpu` if the job uses GPUs: each with its `joules`, or the reason as `not_measured`."""


def energy_meter(device: str, workers: int = 1) -> Meter:
    """Return a meter for a job.

    Args:
        device: the job's device, such as `cpu` or `cuda:0`.
        workers: number of processes that work together, one per GPU.
    """
    meter: Meter = make(METER, "energy", device, workers)
    return meter


def attempts_energy(run: Mapping[str, Any]) -> str:
    """Describe the energy of a run's training, from the attempts in its run.json."""
    attempts = [one.get("energy") or {} for one in run.get("attempts") or []]
    if not any(attempts):
        return "Not measured: the run was trained before energy was recorded."
    sentences = []
    for part, label, note in (("gpu", "GPUs", ""), ("cpu", "CPU", ", other programs included")):
        found = [one.get(part) or {} for one in attempts]
        joules = [one["joules"] for one in found if "joules" in one]
        reasons = [one["not_measured"] for one in found if "not_measured" in one]
        if len(joules) == len(attempts):
            sentences.append(f"{label}: {_amount(sum(joules))}{note}.")
        elif joules:
            count = f"{len(joules)} of {len(attempts)} attempts were measured"
            sentences.append(f"{label}: at least {_amount(sum(joules))}{note}; {count}.")
        elif reasons:
            sentences.append(f"{label}: not measured ({reasons[-1]}).")
    return " ".join(sentences)


def _amount(joules: float) -> str:
    watt_hours = joules / JOULES_PER_WATT_HOUR
    return f"{watt_hours / 1000:,.2f} kWh" if watt_hours >= 1000 else f"{watt_hours:.3g} Wh"
