"""Prepare the batches of the next updates; on a GPU, in a background thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import torch

from mdnmt.models.batch import Batch
from mdnmt.tasks.task_data import Indices
from mdnmt.train.batch_sampler import BatchSampler, UpdateBatches
from mdnmt.train.progress import Progress
from mdnmt.train.sharding import Shard

AHEAD = 2  # updates; one is enough to hide the work, the second absorbs the time of unusually long batches


@dataclass(frozen=True)
class Prepared:
    """The batches of one update, ready for the device.

    Attributes:
        chosen: the sentences of the update, over all workers.
        shards: this worker's part of them.
        batches: one for each shard, in pinned memory if the device is a GPU.
        epoch: the run's epoch after the update.
        position: number of batches of that epoch used after the update.
        epochs: both as one number, such as 2.5.
    """

    chosen: UpdateBatches
    shards: list[Shard]
    batches: list[Batch]
    epoch: int
    position: int
    epochs: float


class Prefetcher:
    """Returns the prepared updates of a run, one after the other.

    What it returns depends only on the sampler and on the progress it started from. Preparing ahead changes only when
    the work is done: it advances a copy of the run's progress, and the run's own progress advances with its updates.

    On a CPU nothing is prepared ahead, because a thread would compete with the model for the same cores.
    """

    def __init__(
        self,
        sampler: BatchSampler,
        shard: Callable[[Sequence[Indices]], list[Shard]],
        make_batch: Callable[[Shard], Batch],
        *,
        device: torch.device,
        ahead: int | None = None,
    ) -> None:
        """Start at the first update of a run; nothing is prepared before `next`.

        Args:
            sampler: chooses the batches of each update.
            shard: returns this worker's part of the batches of an update.
            make_batch: returns the batch of one part.
            device: where the model is.
            ahead: updates to prepare ahead in a thread; 0: no thread; None: `AHEAD` on a GPU, 0 on a CPU.
        """
        self._sampler, self._shard, self._make_batch, self._device = sampler, shard, make_batch, device
        self._ahead = (AHEAD if device.type == "cuda" else 0) if ahead is None else ahead
        self._cursor = Progress()
        self._thread: ThreadPoolExecutor | None = None
        self._coming: deque[Future[Prepared]] = deque()

    def seek(self, progress: Progress) -> None:
        """Continue from a copy of `progress`; drop all prepared updates."""
        self.close()
        self._cursor = replace(progress, skipped=list(progress.skipped))

    def next(self) -> Prepared:
        """Return the next update; an exception in the thread is raised here."""
        if not self._ahead:
            return self._prepare()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "prefetch", initializer=self._enter_thread)
        # One thread, so updates are prepared one after the other, in order.
        while len(self._coming) <= self._ahead:
            self._coming.append(self._thread.submit(self._prepare))
        return self._coming.popleft().result()

    def close(self) -> None:
        """Stop the thread after its current update and drop all prepared updates; call `seek` before `next`."""
        self._coming.clear()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None

    def _enter_thread(self) -> None:
        # Pinning needs a CUDA context; without this call it would be created on card 0, whatever card the run uses.
        if self._device.type == "cuda" and self._device.index is not None:
            torch.cuda.set_device(self._device)

    def _prepare(self) -> Prepared:
        cursor = self._cursor
        chosen = self._sampler.next(cursor)
        shards = self._shard(chosen.batches)
        batches = [self._make_batch(one) for one in shards]
        if self._device.type == "cuda":
            batches = [batch.pinned() for batch in batches]
        return Prepared(chosen, shards, batches, cursor.epoch, cursor.position, self._sampler.epochs(cursor))
