"""Record work on a GPU as a CUDA graph; all that only a GPU can test of `graphs.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import torch

T = TypeVar("T")


class Recorder(Protocol):
    """Records work on a device."""

    def record(self, work: Callable[[], T]) -> tuple[Callable[[], None], T]:
        """Record what `work` does; return a function that does it again, and the result, which that overwrites.

        Raises:
            RuntimeError: the work cannot be recorded.
        """


class CudaRecorder:
    """Records CUDA graphs that share one memory pool."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._stream = device, torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, work: Callable[[], T]) -> tuple[Callable[[], None], T]:
        """Run the work once, so that libraries allocate their workspaces, then capture it."""
        self._require_memory()
        generator = torch.cuda.default_generators[self._device.index or 0]
        unused, current = generator.clone_state(), torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            work()
        current.wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        try:
            # Another thread pins the memory of the next batches, which a capture of all threads would refuse.
            with torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local"):
                result = work()
        except RuntimeError:
            # The failed capture left its stream as the current one, and the generator's state in the middle of it.
            torch.cuda.set_stream(current)
            generator.graphsafe_set_state(unused)
            raise
        return graph.replay, result

    def _require_memory(self) -> None:
        """Refuse to record if the free memory is not that of another update: graphs keep theirs."""
        allocated = torch.cuda.memory_allocated(self._device)
        needed = torch.cuda.max_memory_allocated(self._device) - allocated
        free = torch.cuda.mem_get_info(self._device)[0] + torch.cuda.memory_reserved(self._device) - allocated
        if needed > free:
            raise RuntimeError(f"they need about {needed / 2**20:,.0f} MiB, and {free / 2**20:,.0f} MiB are free")


def recorder_for(device: torch.device) -> Recorder | None:
    """Return what records on a device; None: nothing does."""
    return CudaRecorder(device) if device.type == "cuda" else None
