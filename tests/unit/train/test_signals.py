"""Signals become a request that the loop grants."""

from __future__ import annotations

import os
import signal

import pytest

from mdnmt.train.signals import StopRequest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_is_a_request_and_no_death(number: signal.Signals) -> None:
    with StopRequest() as stop:
        assert stop.signal_name is None
        os.kill(os.getpid(), number)
        assert stop.signal_name == number.name


def test_the_first_signal_is_the_one_named_and_the_second_interrupt_is_obeyed() -> None:
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert stop.signal_name == "SIGTERM"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)  # SLURM may send it again and again


def test_the_handlers_from_before_come_back_even_after_an_error() -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    with pytest.raises(RuntimeError, match="boom"), StopRequest():
        assert [signal.getsignal(number) for number in numbers] != before
        raise RuntimeError("boom")
    assert [signal.getsignal(number) for number in numbers] == before
