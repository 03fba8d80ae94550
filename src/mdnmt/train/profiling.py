"""Write a trace of the first updates of a training, for chrome://tracing or Perfetto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from mdnmt import fsio

TRACE = "trace.json"


@contextmanager
def profiled(run_folder: Path, updates: int, device: torch.device) -> Iterator[Callable[[], None]]:
    """Write a trace of `updates` updates to `<run>/trace.json`; yield the function to call after every update.

    The first update is not traced, because it includes one-time costs of the process. 0 updates: no trace.
    """
    if not updates:
        yield lambda: None
        return
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])]

    def write(trace: profile) -> None:
        with fsio.atomic_path(run_folder / TRACE) as temporary:
            trace.export_chrome_trace(str(temporary))

    with profile(
        activities=activities, schedule=schedule(wait=0, warmup=1, active=updates, repeat=1), on_trace_ready=write
    ) as trace:
        yield trace.step
