"""Tokens per second of training itself, excluding validations, checkpoints and restarts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Throughput:
    """Counts tokens, updates and their time since the last reading."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Reset the counts and start the clock again."""
        self._tokens = self._updates = 0
        self._start = self._clock()

    def add(self, tokens: int) -> None:
        """Count one update of `tokens` target tokens."""
        self._tokens += tokens
        self._updates += 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time of the `with` block."""
        start = self._clock()
        try:
            yield
        finally:
            self._start += self._clock() - start

    def read(self) -> tuple[float, float]:
        """Return tokens per second and seconds per update since the last reading, then reset the counts."""
        seconds = max(1e-9, self._clock() - self._start)
        result = self._tokens / seconds, seconds / max(1, self._updates)
        self.restart()
        return result
