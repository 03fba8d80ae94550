"""Worker processes whose number changes how long something takes, and nothing else."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class Map(Protocol):
    """Applies a function to jobs; the results come in the order of the jobs."""

    def __call__(self, function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """Return `function` of each job."""


def in_this_process(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """Apply a function to jobs, one after the other."""
    return [function(job) for job in jobs]


@contextmanager
def workers(number: int) -> Iterator[Map]:
    """Yield a map over `number` processes (1: this one)."""
    if number <= 1:
        yield in_this_process
        return
    # Spawned, not forked: a fork of a process with threads (BLAS, a test runner) can hang.
    pool = ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn"))

    def over_pool(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
        return list(pool.map(function, jobs))

    try:
        yield over_pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
