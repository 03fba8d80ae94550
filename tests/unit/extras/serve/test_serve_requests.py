"""The rate of one client is bounded; others do not feel it."""

from __future__ import annotations

from mdnmt.extras.serve import requests
from mdnmt.extras.serve.requests import RateLimiter


def test_a_client_gets_its_rate_and_is_told_how_long_to_wait() -> None:
    now = [0.0]
    limiter = RateLimiter(3, lambda: now[0])
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 20]
    assert limiter.wait("b") == 0
    now[0] = 15.0
    assert limiter.wait("a") == 5
    now[0] = 20.0
    assert [limiter.wait("a"), limiter.wait("a")] == [0, 20]
    now[0] = 1000.0  # no more than three are saved up
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 20]


def test_clients_that_left_are_forgotten() -> None:
    now = [0.0]
    limiter = RateLimiter(1, lambda: now[0])
    for number in range(requests._MANY):
        limiter.wait(str(number))
    now[0] = 61.0
    limiter.wait("another")
    assert len(limiter._buckets) == 1
