"""Energy from a made-up nvidia-smi and made-up counters of a CPU; who else computes on the GPU."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import torch

from mdnmt.analysis.energy import energy_of, processes_on

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)

# Prints 100 W, then 50 W and 150 W in turns; knows one GPU by its name.
SMI = """#!/bin/sh
[ "$1 $2" = "-i GPU-7" ] || exit 9
case "$3" in
  --query-gpu=power.draw) echo "$FIRST"; while :; do echo 50.0; echo 150.0; sleep 0.01; done ;;
  --query-compute-apps=pid) printf '11\\n12\\n' ;;
esac
"""


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-7")
    monkeypatch.setenv("FIRST", "100.0")


def busy(seconds: float) -> float:
    """Compute for so long and return how long it was."""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        torch.randn(20)
    return time.perf_counter() - started


def test_power_of_a_gpu_times_the_time_it_took(smi: None) -> None:
    with energy_of(GPU) as energy:
        assert energy.joules is None
        seconds = busy(0.1)
    assert energy.joules is not None
    assert 80 * seconds < energy.joules < 160 * (seconds + 0.1)


def test_a_gpu_that_does_not_tell_its_power(smi: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin" / "nvidia-smi").write_text('#!/bin/sh\necho "[N/A]"\n')
    with energy_of(GPU) as energy:
        busy(0.01)
    assert energy.joules is None
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with energy_of(GPU) as energy:
        busy(0.01)
    assert energy.joules is None and processes_on(GPU) is None


def test_all_processes_of_the_gpu_are_counted(smi: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes_on(GPU) == 2
    assert processes_on(CPU) is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8")
    assert processes_on(GPU) is None


def zone(folder: Path, number: str, name: str, count: int) -> Path:
    made = folder / f"intel-rapl:{number}"
    made.mkdir(exist_ok=True)
    for file, value in (("name", name), ("energy_uj", count), ("max_energy_range_uj", 9_999_999)):
        (made / file).write_text(f"{value}\n")
    return made / "energy_uj"


def test_counters_of_all_packages_of_a_cpu_also_when_one_starts_anew(tmp_path: Path) -> None:
    one, two = zone(tmp_path, "0", "package-0", 1_000_000), zone(tmp_path, "1", "package-1", 9_000_000)
    part = zone(tmp_path, "0:0", "core", 5)  # part of package-0
    with energy_of(CPU, tmp_path) as energy:
        one.write_text("3500000\n")
        two.write_text("500000\n")
        part.write_text("900000\n")
    assert energy.joules == pytest.approx(2.5 + 1.5)


def test_a_cpu_that_keeps_its_counters_to_itself(tmp_path: Path) -> None:
    with energy_of(CPU, tmp_path) as energy:
        pass
    assert energy.joules is None
    zone(tmp_path, "0", "package-0", 1).write_text("secret\n")
    with energy_of(CPU, tmp_path) as energy:
        pass
    assert energy.joules is None
