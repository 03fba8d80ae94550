"""Prepare the batches of the next updates, in a thread beside a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import torch

from mdnmt.models.batch import Batch
from mdnmt.tasks.task_data import Split
from mdnmt.train.batch_sampler import BatchSampler, UpdateBatches
from mdnmt.train.batches import Indices, collate
from mdnmt.train.progress import Progress
from mdnmt.train.sharding import Shard

AHEAD = 2  # updates; one is enough to hide the work, the second evens out long batches


@dataclass(frozen=True)
class Prepared:
    """The batches of one update, ready for the device.

    Attributes:
        chosen: which sentences the update has, over all workers.
        shards: the part of this worker.
        batches: one for each shard, in pinned memory if the device is a GPU.
        epoch: where the run stands after the update.
        position: likewise, in batches of the epoch.
        epochs: likewise, as a number of epochs with its fraction.
    """

    chosen: UpdateBatches
    shards: list[Shard]
    batches: list[Batch]
    epoch: int
    position: int
    epochs: float


class Prefetcher:
    """Returns the prepared updates of a run, one after the other.

    What it returns is a function of the sampler and of the progress it started from. Preparing ahead changes only when
    the work is done: the run's own progress moves only when an update is taken.

    On a CPU nothing is prepared ahead. A thread there would compete with the model for the same cores.
    """

    def __init__(
        self,
        split: Split,
        sampler: BatchSampler,
        shard: Callable[[Sequence[Indices]], list[Shard]],
        *,
        bos: int,
        device: torch.device,
        ahead: int | None = None,
        width_multiple: int = 1,
    ) -> None:
        """Prepare nothing yet.

        Args:
            split: the training data.
            sampler: which batches make which update.
            shard: returns the part of this worker in the batches of an update.
            bos: the id of <s>.
            device: where the model is.
            ahead: updates prepared ahead in a thread; 0: no thread; None: by the device.
            width_multiple: batches are padded to a multiple of this.
        """
        self._split, self._sampler, self._shard, self._bos, self._device = split, sampler, shard, bos, device
        self._ahead = (AHEAD if device.type == "cuda" else 0) if ahead is None else ahead
        self._width_multiple = width_multiple
        self._cursor = Progress()
        self._thread: ThreadPoolExecutor | None = None
        self._coming: deque[Future[Prepared]] = deque()

    def seek(self, progress: Progress) -> None:
        """Continue from `progress`, which is copied; whatever was prepared is dropped."""
        self.close()
        self._cursor = replace(progress, skipped=list(progress.skipped))

    def next(self) -> Prepared:
        """Return the next update; an error of the thread is raised here."""
        if not self._ahead:
            return self._prepare()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "prefetch", initializer=self._enter_thread)
        # One thread, so updates are prepared one after the other, in order.
        while len(self._coming) <= self._ahead:
            self._coming.append(self._thread.submit(self._prepare))
        return self._coming.popleft().result()

    def close(self) -> None:
        """Stop the thread after the batch it is at, and drop what it prepared; `seek` is needed before `next`."""
        self._coming.clear()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None

    def _enter_thread(self) -> None:
        # Pinning needs a CUDA context: without this, that of card 0, whatever card the run has.
        if self._device.type == "cuda" and self._device.index is not None:
            torch.cuda.set_device(self._device)

    def _prepare(self) -> Prepared:
        cursor = self._cursor
        chosen = self._sampler.next(cursor)
        shards = self._shard(chosen.batches)
        batches = [
            collate(self._split, one.rows, bos=self._bos, like=one.whole, width_multiple=self._width_multiple)
            for one in shards
        ]
        if self._device.type == "cuda":
            batches = [batch.pinned() for batch in batches]
        return Prepared(chosen, shards, batches, cursor.epoch, cursor.position, self._sampler.epochs(cursor))
