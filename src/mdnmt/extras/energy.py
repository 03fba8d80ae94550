"""A meter of energy, from the counters of NVIDIA GPUs (NVML) and CPUs (RAPL).

Nothing here needs torch. The counters include the energy of other processes on the same GPU or CPU.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from mdnmt import gpu

POWERCAP = Path("/sys/class/powercap")
# No CPU package draws more. In the time in which this would fill its counter, the counter wraps around at most once.
_MOST_WATTS = 500.0
_NVML_NOT_SUPPORTED = 3
_NVML_LIBRARY = "libnvidia-ml.so.1"  # of NVIDIA's driver


class NotMeasured(Exception):
    """Says why the energy of a part of the machine cannot be read."""


class EnergyMeter:
    """The energy that the CPU and the GPUs of a job have used since this meter was made.

    Args:
        device: the job's device, such as `cpu` or `cuda:0`.
        workers: number of processes that work together, one per GPU.
        powercap: where Linux shows the counters of CPUs.
        clock: a clock in seconds.
    """

    def __init__(
        self,
        device: str,
        workers: int = 1,
        powercap: Path = POWERCAP,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._counters: dict[str, _Counter] = {}
        self._reasons: dict[str, str] = {}
        self._add("cpu", lambda: _CpuCounter(powercap, clock))
        if device.startswith("cuda"):
            self._add("gpu", lambda: _GpuCounter(_cards(device, workers)))

    def _add(self, part: str, make: Callable[[], _Counter]) -> None:
        try:
            self._counters[part] = make()
        except NotMeasured as error:
            self._reasons[part] = str(error)

    def joules(self, part: str) -> float | None:
        """Return the energy of `cpu` or `gpu` so far; None if it is not measured."""
        return self.read().get(part, {}).get("joules")

    def read(self) -> dict[str, dict[str, Any]]:
        """Return `cpu`, and `gpu` if the job uses GPUs: each with its `joules`, or the reason as `not_measured`."""
        joules = {}
        for part, counter in list(self._counters.items()):
            try:
                joules[part] = counter.joules()
            except NotMeasured as error:
                self._reasons[part] = str(error)
                del self._counters[part]
        measured = {part: {"joules": round(value, 3)} for part, value in joules.items()}
        return {**measured, **{part: {"not_measured": reason} for part, reason in self._reasons.items()}}


meter = EnergyMeter  # the name that a plug-in of this kind defines


class _Counter(Protocol):
    def joules(self) -> float:
        """Return the energy since the counter was made."""
        ...


class _CpuCounter:
    """The counters of all packages of a CPU, in microjoules, which wrap around."""

    def __init__(self, powercap: Path = POWERCAP, clock: Callable[[], float] = time.monotonic) -> None:
        self._powercap, self._clock = powercap, clock
        self._last, self._when, self._used = self._read(), clock(), 0

    def joules(self) -> float:
        """Return the energy since the counter was made; raise NotMeasured if it may have wrapped more than once."""
        now, when = self._read(), self._clock()
        if now.keys() != self._last.keys():
            raise NotMeasured("the packages of the CPU changed meanwhile")
        for zone, (count, size) in now.items():
            if (when - self._when) * _MOST_WATTS > size / 1e6:
                raise NotMeasured(f"{when - self._when:.0f} s between two readings are too many for the CPU's counter")
            self._used += (count - self._last[zone][0]) % size
        self._last, self._when = now, when
        return self._used / 1e6

    def _read(self) -> dict[str, tuple[int, int]]:
        """Return the counter and its range for each package."""
        found = {}
        for zone in sorted(self._powercap.glob("intel-rapl:*")):  # AMD's have this name too
            try:
                if (zone / "name").read_text().startswith("package"):
                    count, largest = (int((zone / name).read_text()) for name in ("energy_uj", "max_energy_range_uj"))
                    found[zone.name] = (count, largest + 1)
            except OSError as error:
                raise NotMeasured(f"the CPU's counter {zone.name} cannot be read: {error.strerror}") from None
            except ValueError:
                raise NotMeasured(f"the CPU's counter {zone.name} cannot be read as a number") from None
        if not found:
            raise NotMeasured("the system shows no energy counters of the CPU (RAPL)")
        return found


class _GpuCounter:
    """The energy counters of some GPUs, in millijoules since the driver was loaded, read through NVIDIA's NVML.

    Volta and later GPUs have one. NVML is called through ctypes: it comes with every driver.
    """

    def __init__(self, cards: Iterable[str]) -> None:
        try:
            self._nvml = ctypes.CDLL(_NVML_LIBRARY)
        except OSError:
            raise NotMeasured(f"NVIDIA's library {_NVML_LIBRARY} is not there") from None
        self._call("nvmlInit_v2")
        self._handles = [self._handle(card) for card in cards]
        self._first = self._millijoules()

    def joules(self) -> float:
        """Return the energy since the counter was made; raise NotMeasured if it was reset."""
        used = self._millijoules() - self._first
        if used < 0:
            raise NotMeasured("the GPU's driver was loaded again meanwhile")
        return used / 1e3

    def _handle(self, card: str) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        if card.isdecimal():
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(int(card)), ctypes.byref(handle))
        else:
            self._call("nvmlDeviceGetHandleByUUID", card.encode(), ctypes.byref(handle))
        return handle

    def _millijoules(self) -> int:
        total, used = 0, ctypes.c_ulonglong()
        for handle in self._handles:
            self._call("nvmlDeviceGetTotalEnergyConsumption", handle, ctypes.byref(used))
            total += used.value
        return total

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._nvml, name)(*arguments)
        if status == _NVML_NOT_SUPPORTED:
            raise NotMeasured("the GPU, or this part of one, has no energy counter")
        if status:
            raise NotMeasured(f"{name} of NVIDIA's library failed with status {status}")


def _cards(device: str, workers: int) -> list[str]:
    cards = gpu.cards_of(device)
    if len(cards) < workers:
        raise NotMeasured(f"this process knows {len(cards)} of the {workers} GPUs that train")
    return cards
