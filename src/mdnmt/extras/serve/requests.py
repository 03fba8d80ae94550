"""The requests that the page may send, and their limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field

from mdnmt.config.base import Frozen

MAX_NBEST = 20
_MANY = 1000  # clients that are remembered


@dataclass(frozen=True)
class Limits:
    """Limits on one request, on the requests of one client, and on the texts translated at the same time."""

    max_characters: int = 20_000
    max_sentence_characters: int = 1_000
    requests_per_minute: int = 60
    max_active: int = 8
    stalled_seconds: float = 20.0  # that a client may take to read the next part of a response
    stream_seconds: float = 1800.0  # that a whole response may take


class Blend(Frozen):
    """Two domains, and the weight of the second one."""

    first: str
    second: str
    share: float = Field(ge=0, le=1)


class TranslateRequest(Frozen):
    """A text and how to translate it; without a domain or a blend, the model decides."""

    text: str
    runs: list[int] = Field(min_length=1, description="numbers of the runs, as /api/runs lists them")
    domain: str | None = None
    blend: Blend | None = None
    nbest: int = Field(1, ge=1, le=MAX_NBEST)
    inspect: bool = Field(True, description="also return what the layers decide on each token")


class RateLimiter:
    """A token bucket per client: `per_minute` requests at once, then one every 60 / per_minute seconds."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # client -> tokens left, and the time of that count

    def wait(self, client: str) -> float:
        """Take one of the client's tokens and return 0, or return the seconds until there is one."""
        now = self._clock()
        tokens = self._filled(client, now)
        if tokens < 1.0:
            return (1.0 - tokens) * 60.0 / self.per_minute
        if len(self._buckets) >= _MANY:  # full buckets can be forgotten
            self._buckets = {
                name: self._buckets[name] for name in self._buckets if self._filled(name, now) < self.per_minute
            }
        self._buckets[client] = (tokens - 1.0, now)
        return 0.0

    def _filled(self, client: str, now: float) -> float:
        tokens, then = self._buckets.get(client, (float(self.per_minute), now))
        return min(float(self.per_minute), tokens + (now - then) * self.per_minute / 60.0)
