"""Data-parallel training: how the workers of a run communicate, and how they end if one of them is lost.

Workers are started by `mdnmt train --workers`, by torchrun, or by anything else that sets RANK and WORLD_SIZE. Each has
the whole model and computes its share of every update. The gradients are summed, so that all workers take the same
step. Only the first worker writes files, validates and holds the lease.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from mdnmt.errors import ConfigError, Interrupted

# Bytes per message when the first worker broadcasts data.
PIECE = 1 << 24
STORE = "MDNMT_STORE"  # environment variable with the port of the first worker's TCPStore, set for its children


class LostWorker(Interrupted):
    """Another worker of the job is gone or does not answer."""

    def leave(self) -> NoReturn:
        """End this process at once: an orderly exit would wait for the lost worker."""
        sys.stdout.flush()
        print(f"mdnmt train: {self}", file=sys.stderr, flush=True)
        os._exit(self.exit_code)


@dataclass(frozen=True)
class Workers:
    """The group of workers, as one worker sees it; with a single worker every operation is a no-op.

    Attributes:
        rank: this worker's number, from 0.
        count: number of workers.
        store: the store through which they find each other; None: the one at MASTER_ADDR and MASTER_PORT.
        watch: called while waiting for the others to join; raises if one of them has died.
    """

    rank: int = 0
    count: int = 1
    store: Any = None
    watch: Callable[[], None] = lambda: None

    @property
    def is_first(self) -> bool:
        """Return whether this worker is the one that writes files."""
        return self.rank == 0

    def seed(self, seed: int, update: int) -> None:
        """Seed the generators of all workers but the first, as a function of seed, update and rank.

        The first worker keeps the generator state that checkpoints save, so a run can resume with another number of
        workers.
        """
        if not self.is_first:
            [state] = np.random.SeedSequence([seed, update, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(state))

    def maximum(self, values: Sequence[int]) -> list[int]:
        """Return the elementwise maximum over all workers."""
        if self.count == 1:
            return list(values)
        return [int(value) for value in self._reduced(torch.tensor(values, dtype=torch.int64), "MAX").tolist()]

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the elementwise sum over all workers."""
        if self.count == 1:
            return list(values)
        return [float(value) for value in self._reduced(torch.tensor(values, dtype=torch.float64), "SUM").tolist()]

    def begin_sum(self, tensor: Tensor) -> Callable[[], None]:
        """Start to replace a tensor by its sum over all workers; return a function that waits for the result.

        All workers must call it in the same order.
        """
        import torch.distributed as dist

        with _as_lost_worker():
            work = dist.all_reduce(tensor, dist.ReduceOp.SUM, async_op=True)

        def wait() -> None:
            with _as_lost_worker():
                work.wait()

        return wait

    def shared(self, data: bytes) -> bytes:
        """Return the first worker's data; what the other workers pass is ignored."""
        if self.count == 1:
            return data
        import torch.distributed as dist

        with _as_lost_worker():
            size = torch.tensor([len(data)])
            dist.broadcast(size, 0)
            buffer = np.frombuffer(data, dtype=np.uint8).copy() if self.is_first else np.empty(int(size), np.uint8)
            for piece in torch.split(torch.from_numpy(buffer), PIECE):
                dist.broadcast(piece, 0)
        return buffer.tobytes()

    def shared_json(self, value: Any) -> Any:
        """Return the first worker's value, which must be plain JSON (NaN is allowed)."""
        return value if self.count == 1 else json.loads(self.shared(json.dumps(value).encode()))

    @contextmanager
    def joined(self, device: torch.device, timeout_minutes: float) -> Iterator[None]:
        """Join the group inside the block.

        Raises:
            LostWorker: a worker did not join within the time, or left before the end.
        """
        if self.count == 1:
            yield
            return
        import torch.distributed as dist

        # Tensors on the CPU go through gloo even with GPUs, so that sharing them does not wait for a GPU.
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        if device.type == "cuda":
            torch.cuda.set_device(device)
        timeout = timedelta(minutes=timeout_minutes)
        with _as_lost_worker():
            if self.store is None:
                dist.init_process_group(backend, timeout=timeout)
            else:
                self._meet(time.monotonic() + timeout.total_seconds())
                dist.init_process_group(
                    backend, store=self.store, rank=self.rank, world_size=self.count, timeout=timeout
                )
        yield
        # Skipped after an error: if a worker is lost, NCCL would wait for it here.
        dist.destroy_process_group()

    def _meet(self, deadline: float) -> None:
        """Wait until all workers have joined; raise if one has died, which torch's own wait would not notice."""
        self.store.set(f"here/{self.rank}", "yes")
        while not self.store.check([f"here/{rank}" for rank in range(self.count)]):
            if time.monotonic() >= deadline:
                raise LostWorker("not all workers came in time; start the same command again")
            self.watch()
            time.sleep(0.05)

    def _reduced(self, tensor: Tensor, operation: str) -> Tensor:
        import torch.distributed as dist

        with _as_lost_worker():
            dist.all_reduce(tensor, getattr(dist.ReduceOp, operation))
        return tensor


def from_environment() -> Workers:
    """Return the group given by RANK and WORLD_SIZE, not yet joined; a single worker if they are not set.

    Raises:
        ConfigError: their values are not a rank and a number of workers.
    """
    said = {name: os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE")}
    if not said["WORLD_SIZE"] or said["WORLD_SIZE"] == "1":
        return Workers()
    rank, count = (int(text) if text.isdecimal() else -1 for text in said.values())
    if not 0 <= rank < count:
        raise ConfigError(
            f"found RANK={said['RANK']!r} and WORLD_SIZE={said['WORLD_SIZE']!r}, expected a rank from 0 and below the "
            "number of workers, as torchrun sets them; unset both to train with one worker"
        )
    if (port := os.environ.get(STORE)) is None:
        return Workers(rank, count)
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    with _as_lost_worker():
        return Workers(rank, count, store=TCPStore("127.0.0.1", int(port), is_master=False))


@contextmanager
def _as_lost_worker() -> Iterator[None]:
    # torch raises a RuntimeError for every failure of another worker: closed connections, timeouts.
    try:
        yield
    except RuntimeError as error:
        why = str(error).partition("\n")[0]
        raise LostWorker(
            f"another worker of this job is gone or does not answer ({why}); what was done since the last checkpoint "
            "is lost: the same command goes on from there"
        ) from error
