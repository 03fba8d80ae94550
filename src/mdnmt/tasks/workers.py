"""Worker processes; their number changes the running time, never the result."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Protocol, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

# Jobs submitted ahead for each process: enough that a long job does not block the others, few enough that finished
# results do not pile up.
_JOBS_AHEAD = 4


class ParallelMap(Protocol):
    """Applies a function to jobs and yields the results in the order of the jobs."""

    def __call__(self, function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Yield `function` of each job; jobs are taken as they are needed."""


def in_this_process(function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Apply a function to jobs, one after the other."""
    return map(function, jobs)


@contextmanager
def workers(number: int) -> Iterator[ParallelMap]:
    """Yield a map over `number` processes (1: this process)."""
    if number <= 1:
        yield in_this_process
        return
    # Spawned, not forked: a fork of a process with threads (BLAS, a test runner) can hang.
    pool = ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn"))

    def over_pool(function: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        left = iter(jobs)
        ahead: deque[Future[Result]] = deque(pool.submit(function, job) for job in islice(left, _JOBS_AHEAD * number))
        while ahead:
            result = ahead.popleft().result()
            ahead.extend(pool.submit(function, job) for job in islice(left, 1))
            yield result

    try:
        yield over_pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
