"""Speed is that of training alone."""

from __future__ import annotations

from mdnmt.train.meters import Throughput


def test_pauses_and_what_was_before_a_restart_do_not_count() -> None:
    now = [0.0]
    throughput = Throughput(lambda: now[0])
    throughput.add(1000)
    now[0] = 50.0
    throughput.restart()
    for _ in range(2):
        throughput.add(30)
        now[0] += 3.0
        with throughput.paused():
            now[0] += 100.0
    assert throughput.read() == (10.0, 3.0)
    throughput.add(8)
    now[0] += 2.0
    assert throughput.read() == (4.0, 2.0)
