"""Measure the energy that a device uses, if possible: from an NVIDIA GPU's power or a CPU's counters (RAPL)."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

POWERCAP = Path("/sys/class/powercap")
SAMPLE_MS = 100  # between two readings of a GPU's power


@dataclass
class Energy:
    """The energy used by a `with` block; None until it ends, or if the machine does not report it."""

    joules: float | None = None


@contextmanager
def energy_of(device: torch.device, powercap: Path = POWERCAP) -> Iterator[Energy]:
    """Measure the energy that a device takes while the block runs.

    For a GPU it is the mean power that `nvidia-smi` reads every 0.1 s, times the duration. For a CPU it is the
    difference of the counters of all packages, including the use by other processes.
    """
    found = Energy()
    with _gpu(device, found) if device.type == "cuda" else _cpu(powercap, found):
        yield found


def processes_on(device: torch.device) -> int | None:
    """Return how many processes compute on a GPU, this one included; None if unknown."""
    program = shutil.which("nvidia-smi")
    if program is None or device.type != "cuda":
        return None
    command = [program, "-i", _card(device), "--query-compute-apps=pid", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return sum(line.strip().isdecimal() for line in done.stdout.splitlines())


def _card(device: torch.device) -> str:
    """Return the name of a GPU for nvidia-smi, whose numbers differ from CUDA's if some GPUs are hidden."""
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    number = device.index or 0
    return visible[number] if number < len(visible) else str(number)


@contextmanager
def _gpu(device: torch.device, found: Energy) -> Iterator[None]:
    program = shutil.which("nvidia-smi")
    if program is None:
        yield
        return
    command = [program, "-i", _card(device), "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
    with subprocess.Popen(
        [*command, f"--loop-ms={SAMPLE_MS}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as reader:
        assert reader.stdout is not None
        try:
            first = reader.stdout.readline()  # it takes its time to start
            started = time.perf_counter()
            yield
            seconds = time.perf_counter() - started
        finally:
            reader.terminate()
        lines = reader.stdout.read().splitlines()
    watts = [value for line in lines or [first] if (value := _number(line)) is not None]
    found.joules = statistics.fmean(watts) * seconds if watts else None


@contextmanager
def _cpu(powercap: Path, found: Energy) -> Iterator[None]:
    before = _counters(powercap)
    yield
    after = _counters(powercap)
    if before and before.keys() == after.keys():
        # A counter wraps around at the end of its range.
        used = [(after[zone][0] - count) % size for zone, (count, size) in before.items()]
        found.joules = sum(used) / 1e6


def _counters(powercap: Path) -> dict[str, tuple[int, int]]:
    """Return the counter and its range, in microjoules, of each package of the CPU; empty if they are not readable."""
    found = {}
    for zone in sorted(powercap.glob("intel-rapl:*")):  # AMD's have this name too
        try:
            if (zone / "name").read_text().startswith("package"):
                count, largest = (int((zone / name).read_text()) for name in ("energy_uj", "max_energy_range_uj"))
                found[zone.name] = (count, largest + 1)
        except (OSError, ValueError):
            return {}
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # [N/A]
        return None
