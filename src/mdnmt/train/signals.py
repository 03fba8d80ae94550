"""Turn signals into a request to stop, which the training loop grants after the current update."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

# SLURM sends SIGTERM at preemption and at the time limit, and SIGUSR1 if the job asked for an early warning.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class StopRequest:
    """Catch SIGTERM, SIGINT and SIGUSR1 in a `with` block; the training loop checks `signal_name`.

    A second SIGINT raises KeyboardInterrupt: whoever presses Ctrl-C twice does not want to wait. Leaving the block
    restores the previous handlers. Python handles signals in the main thread only, so enter the block there.

    Attributes:
        signal_name: name of the first signal caught, e.g. "SIGTERM"; None before that.
    """

    def __init__(self) -> None:
        self.signal_name: str | None = None
        self._interrupted = False
        self._before: dict[signal.Signals, Callable[[int, FrameType | None], Any] | int | None] = {}

    def __enter__(self) -> StopRequest:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None: the handler was not installed from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before.clear()

    def _catch(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            if self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
        if self.signal_name is None:
            self.signal_name = signal.Signals(number).name
