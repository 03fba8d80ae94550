"""Energy from made-up counters of a CPU and a made-up NVML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mdnmt import gpu
from mdnmt.energy import attempts_energy
from mdnmt.extras.energy import EnergyMeter


def zone(folder: Path, number: str, name: str, count: int, largest: int = 9_999_999) -> Path:
    made = folder / f"intel-rapl:{number}"
    made.mkdir(exist_ok=True)
    for file, value in (("name", name), ("energy_uj", count), ("max_energy_range_uj", largest)):
        (made / file).write_text(f"{value}\n")
    return made / "energy_uj"


def test_counters_of_all_packages_of_a_cpu_also_when_one_starts_anew(tmp_path: Path) -> None:
    largest = 10**12  # so large that no machine is too slow for it
    one = zone(tmp_path, "0", "package-0", 1_000_000, largest)
    two = zone(tmp_path, "1", "package-1", largest + 1 - 1_000_000, largest)
    part = zone(tmp_path, "0:0", "core", 5)  # part of package-0
    meter = EnergyMeter("cpu", powercap=tmp_path)
    one.write_text("3500000\n")
    two.write_text("500000\n")
    part.write_text("900000\n")
    assert meter.joules("cpu") == pytest.approx(2.5 + 1.5)
    assert meter.joules("gpu") is None


def test_a_meter_adds_up_a_counter_that_starts_anew_again_and_again(tmp_path: Path) -> None:
    counter, seconds = zone(tmp_path, "0", "package-0", 9_000_000), [0.0]
    meter = EnergyMeter("cpu", powercap=tmp_path, clock=lambda: seconds[0])
    for count, expected in ((9_500_000, 0.5), (2_000_000, 3.0), (1_000_000, 12.0)):
        seconds[0] += 0.019  # a range of 10 J takes 0.02 s at 500 W
        counter.write_text(f"{count}\n")
        assert meter.read() == {"cpu": {"joules": pytest.approx(expected)}}


def test_a_meter_says_why_a_cpu_is_not_measured(tmp_path: Path) -> None:
    def reason(meter: EnergyMeter) -> str:
        [(part, said)] = meter.read().items()
        assert part == "cpu"
        return str(said["not_measured"])

    assert reason(EnergyMeter("cpu", powercap=tmp_path)) == "the system shows no energy counters of the CPU (RAPL)"
    counter, seconds = zone(tmp_path, "0", "package-0", 1), [0.0]
    meters = [EnergyMeter("cpu", powercap=tmp_path, clock=lambda: seconds[0]) for _ in range(2)]
    seconds[0] = 0.021
    assert reason(meters[0]) == "0 s between two readings are too many for the CPU's counter"
    seconds[0] = 0.0
    assert reason(meters[0]).startswith("0 s between")  # what was lost is not found again
    assert meters[0].joules("cpu") is None
    counter.unlink()
    counter.mkdir()
    assert reason(meters[1]) == "the CPU's counter intel-rapl:0 cannot be read: Is a directory"


class Nvml:
    """NVIDIA's library with two GPUs, of which `GPU-old` has no energy counter."""

    def __init__(self) -> None:
        self.millijoules = {"GPU-7": 5_000, "1": 700}
        self.begun = False

    def nvmlInit_v2(self) -> int:
        self.begun = True
        return 0

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        handle._obj.value = {b"GPU-7": 70, b"GPU-old": 80}.get(uuid, 0)
        return 0 if handle._obj.value else 2

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        handle._obj.value = 10 + index.value
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, used: Any) -> int:
        assert self.begun
        if handle.value == 80:
            return 3
        used._obj.value = self.millijoules[{70: "GPU-7", 11: "1"}[handle.value]]
        return 0


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    library = Nvml()
    monkeypatch.setattr("ctypes.CDLL", {"libnvidia-ml.so.1": library}.__getitem__)
    monkeypatch.setenv("MDNMT_GPU_HELD", "GPU-7")
    return library


def of_gpus(meter: EnergyMeter) -> object:
    return meter.read()["gpu"]


def test_counters_of_all_gpus_of_a_job(nvml: Nvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    meter = EnergyMeter("cuda:0", powercap=tmp_path)
    nvml.millijoules["GPU-7"] += 2_500
    assert of_gpus(meter) == {"joules": 2.5}
    monkeypatch.setenv("MDNMT_GPU_HELD", "GPU-7,1")
    both = EnergyMeter("cuda", 2, powercap=tmp_path)
    nvml.millijoules = {"GPU-7": 8_000, "1": 800}
    assert of_gpus(both) == {"joules": 0.6} and of_gpus(meter) == {"joules": 3.0}
    nvml.millijoules["1"] = 0
    assert of_gpus(both) == {"not_measured": "the GPU's driver was loaded again meanwhile"}


def test_a_meter_says_why_a_gpu_is_not_measured(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    def reason(workers: int = 1) -> str:
        return str(EnergyMeter("cuda:1", workers).read()["gpu"]["not_measured"])

    assert reason(workers=2) == "this process knows 1 of the 2 GPUs that train"
    monkeypatch.setenv("MDNMT_GPU_HELD", "GPU-old")
    assert reason() == "the GPU, or this part of one, has no energy counter"
    monkeypatch.setenv("MDNMT_GPU_HELD", "GPU-8")
    assert reason() == "nvmlDeviceGetHandleByUUID of NVIDIA's library failed with status 2"
    monkeypatch.undo()
    monkeypatch.setattr("ctypes.CDLL", broken)
    monkeypatch.setenv("MDNMT_GPU_HELD", "GPU-7")
    assert reason() == "NVIDIA's library libnvidia-ml.so.1 is not there"


def broken(name: str) -> None:
    raise OSError(name)


def test_without_held_cards_the_device_counts(nvml: Nvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MDNMT_GPU_HELD")
    monkeypatch.setattr(gpu, "visible_cards", lambda: [gpu.Card("0", "GPU 0"), gpu.Card("1", "GPU 1")])
    meter = EnergyMeter("cuda:1", powercap=tmp_path)
    nvml.millijoules["1"] += 300
    assert of_gpus(meter) == {"joules": 0.3}


def said(*attempts: dict[str, Any]) -> str:
    return attempts_energy({"attempts": [{"energy": one} if one else {} for one in attempts]})


def test_the_energy_of_all_attempts_in_words() -> None:
    cpu, gpu_too = {"cpu": {"joules": 3600.0}}, {"cpu": {"joules": 1800.0}, "gpu": {"joules": 7.2e6}}
    unknown = {"cpu": {"not_measured": "why"}}
    assert said(cpu, cpu) == "CPU: 2 Wh, other programs included."
    assert said(gpu_too) == "GPUs: 2.00 kWh. CPU: 0.5 Wh, other programs included."
    partly = "CPU: at least 1 Wh, other programs included; 1 of 2 attempts were measured."
    assert said({}, cpu) == said(cpu, unknown) == partly
    assert said({"cpu": {"not_measured": "old"}}, unknown) == "CPU: not measured (why)."
    assert said({}, {}) == attempts_energy({}) == "Not measured: the run was trained before energy was recorded."
