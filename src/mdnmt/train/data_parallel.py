"""Data-parallel training: how the workers of a run communicate, and how they end if one of them is lost.

torchrun starts the workers (`mdnmt train --workers` calls its launcher), and torch's DistributedDataParallel sums their
gradients. Each has the whole model and computes its share of every update, so that all workers take the same step. Only
the first worker writes files, validates and holds the lease.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from mdnmt.checkpoints.store import Checkpoint
from mdnmt.checkpoints.weights import decode, encode
from mdnmt.errors import ConfigError, Interrupted

# Bytes per message when the first worker broadcasts data.
PIECE = 1 << 24
_SENT = Path("sent by the first worker")
_OF_GLOO = re.compile(r"/gloo/|pair closure|Connection (closed|reset)")


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
    """

    rank: int = 0
    count: int = 1

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

    def shared(self, data: bytes) -> bytes:
        """Return the first worker's data; what the other workers pass is ignored."""
        if self.count == 1:
            return data
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
    def joined(self, timeout_minutes: float) -> Iterator[None]:
        """Join the group that torchrun describes in the environment, inside the block.

        Raises:
            LostWorker: a worker did not join within the time, or left before the end.
        """
        if self.count == 1:
            yield
            return
        # What workers agree on is on the CPU and goes through gloo; gradients on GPUs have a group of their own.
        with _as_lost_worker():
            dist.init_process_group("gloo", timeout=timedelta(minutes=timeout_minutes))
        yield
        # Skipped after an error: if a worker is lost, NCCL would wait for it here. A thread of gloo needs Python's lock
        # to drop the last tensor, and torch keeps the lock while it waits for the thread to end: release it before.
        time.sleep(0.1)
        dist.destroy_process_group()

    def _reduced(self, tensor: Tensor, operation: str) -> Tensor:
        with _as_lost_worker():
            dist.all_reduce(tensor, getattr(dist.ReduceOp, operation))
        return tensor


class GradientSum:
    """The gradients of several workers as one sum, by torch's DistributedDataParallel.

    DDP takes the mean over workers, but an update is weighted by its tokens: a worker with few tokens would count as
    much as one with many. So each objective is divided by the tokens of the whole update and multiplied by the number
    of workers, and the mean is the sum.

    `find_unused_parameters` is necessary and useful. A worker that has no sentence of a domain has no gradient for this
    domain's parameters, and a parameter that no worker used keeps no gradient, as with one worker. It also fixes the
    buckets: DDP otherwise sorts them anew after the first update, and a resumed run would add in another order.
    """

    def __init__(self, workers: Workers, model: nn.Module, device: torch.device, timeout_minutes: float) -> None:
        """Give all workers the parameters of the first one, and prepare the sums of their gradients."""
        from torch.nn.parallel import DistributedDataParallel

        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.count = workers.count
        with _as_lost_worker():
            group = None
            if device.type == "cuda":
                torch.cuda.set_device(device)
                group = dist.new_group(backend="nccl", timeout=timedelta(minutes=timeout_minutes))
            self._ddp = DistributedDataParallel(
                _Objective(self._parameters),
                process_group=group,
                find_unused_parameters=True,
                gradient_as_bucket_view=True,
            )

    def backward(self, objective: Tensor, *, is_last: bool) -> None:
        """Add the gradients of an objective.

        Args:
            objective: a scalar, divided by the tokens of the whole update.
            is_last: it is the worker's last one of this update, during whose backward pass gradients are sent.
        """
        with _as_lost_worker(only_messages=True), nullcontext() if is_last else self._ddp.no_sync():
            self._ddp(objective * self.count).backward()

    def nothing(self) -> None:
        """Take part in the sum of an update in which this worker has no batch."""
        self.backward(self._parameters[0].sum() * 0.0, is_last=True)


class _Objective(nn.Module):
    """What DDP wraps: the objective passes through, and shows DDP which of the parameters it depends on.

    The model itself is not wrapped, because losses use its weights too, and so that names have no prefix. Nor are its
    buffers, which DDP would send at every update.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        super().__init__()
        self.trained = nn.ParameterList(parameters)

    def forward(self, objective: Tensor) -> Tensor:
        """Return the objective."""
        return objective


def share_checkpoint(workers: Workers, checkpoint: Checkpoint | None) -> Checkpoint | None:
    """Return the first worker's checkpoint, or None if it has none: the others need no access to its files."""
    if workers.count == 1:
        return checkpoint
    head = workers.shared_json({"update": checkpoint.update, "state": checkpoint.state} if checkpoint else None)
    if head is None:
        return None
    # Tensors are sent as safetensors: what a peer sends is never unpickled.
    mine = checkpoint or Checkpoint(head["update"], {}, {}, {}, head["state"])
    return replace(
        mine,
        weights=decode(workers.shared(encode(mine.weights)), _SENT),
        optimizer=decode(workers.shared(encode(mine.optimizer)), _SENT),
        generators=decode(workers.shared(encode(mine.generators)), _SENT),
    )


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
    return Workers(rank, count)


@contextmanager
def _as_lost_worker(*, only_messages: bool = False) -> Iterator[None]:
    # torch raises a RuntimeError for every failure of another worker: closed connections, timeouts. Where the block
    # also computes, only what gloo or NCCL say counts.
    try:
        yield
    except RuntimeError as error:
        if only_messages and not (isinstance(error, dist.DistError) or _OF_GLOO.search(str(error))):
            raise
        why = str(error).partition("\n")[0].partition(". ")[0]
        raise LostWorker(
            f"another worker of this job is gone or does not answer ({why}); what was done since the last checkpoint "
            "is lost: the same command goes on from there"
        ) from error
