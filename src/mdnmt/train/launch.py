"""Start and stop the other workers of a training job on this machine; this process is the first worker."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from mdnmt import gpu
from mdnmt.errors import EXIT_USER, MdnmtError
from mdnmt.train.data_parallel import STORE, LostWorker, Workers
from mdnmt.train.device import refuse_one_gpu_for_all

ADDRESS = "127.0.0.1"
# After a lost connection, wait this long for the process at its other end to exit.
END_SECONDS = 5.0


@dataclass(frozen=True)
class _Child:
    rank: int
    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    def stderr_text(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")


@contextlib.contextmanager
def launched(command: Sequence[str], count: int, *, device: str, limit_minutes: float | None) -> Iterator[Workers]:
    """Yield the group of this process and `count` - 1 others that run `command`; they end with the block.

    Only this process needs to be signalled: all workers follow its request to stop. If it is killed, the others lose
    their connection and end.

    Args:
        command: the command line of a worker.
        count: number of workers, this one included.
        device: `auto`, `cpu` or `cuda`; each worker gets a GPU of its own if there are any.
        limit_minutes: how long to wait for free GPUs; None: without limit.

    Raises:
        ConfigError: `device` names one GPU, or there are fewer GPUs than workers.
        LostWorker: a signal ended a worker, or the connection to one broke.
        MdnmtError: a worker ended with an error that the user can correct; the message repeats it.
        SystemExit: a worker failed because of a bug; its traceback is printed.
    """
    refuse_one_gpu_for_all(device, count)
    uses_cuda = device != "cpu" and torch.version.cuda is not None
    cards = gpu.acquire(count, limit_minutes=limit_minutes) if uses_cuda else []
    # The machine's name may resolve to an address behind a firewall, and all workers are on this machine: use loopback.
    for name in _loopback():
        os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
    store = TCPStore(ADDRESS, 0, is_master=True, wait_for_workers=False)
    environment = {**os.environ, STORE: str(store.port), "WORLD_SIZE": str(count)}
    children: list[_Child] = []
    try:
        for rank in range(1, count):
            own = gpu.environment_of(cards[rank]) if cards else {}
            children.append(_start(command, rank, {**environment, **own, "RANK": str(rank)}))
        if cards:
            os.environ.update(gpu.environment_of(cards[0]))
        try:
            yield Workers(0, count, store=store, watch=lambda: _raise_for_dead(children))
        except LostWorker:
            _raise_for_dead(children, END_SECONDS)
            raise
    finally:
        # The children have nothing to save: only the first worker writes files.
        for child in children:
            child.process.kill()
            child.process.wait()
            child.errors.close()


def _start(command: Sequence[str], rank: int, environment: dict[str, str]) -> _Child:
    errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the worker has ended)
    process = subprocess.Popen(
        list(command),
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=environment,
        # A process group of its own, so that Ctrl-C reaches only the first worker.
        process_group=0,
        pass_fds=gpu.lock_descriptors(),
    )
    return _Child(rank, process, errors)


def _raise_for_dead(children: Sequence[_Child], seconds: float = 0.0) -> None:
    """Raise an error if a worker has exited, or exits within `seconds`."""
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(seconds)
    ended = {child.process.returncode: child for child in children if child.process.returncode is not None}
    if 1 in ended:
        # Status 1 is a bug: show the worker's traceback.
        sys.stderr.write(ended[1].stderr_text())
        raise SystemExit(1)
    if EXIT_USER in ended:
        lines = ended[EXIT_USER].stderr_text().splitlines() or ["ended with status 2"]
        raise MdnmtError(lines[-1].removeprefix("mdnmt train: "))
    for status, child in ended.items():
        if status < 0:
            raise LostWorker(
                f"worker {child.rank} of {len(children) + 1} was ended by {signal.Signals(-status).name}; what was "
                "done since the last checkpoint is lost: the same command goes on from there"
            )


def _loopback() -> list[str]:
    return [name for _, name in socket.if_nameindex() if name in {"lo", "lo0"}]
