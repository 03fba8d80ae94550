"""Several workers of one job, forked off the test's own process, so that each starts at once and with its patches."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # torch imports it at the first update: here, so that it is done once and not in each worker
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from mdnmt.paths import RunPaths
from mdnmt.train.data_parallel import Workers, from_environment
from mdnmt.train.run import train_run
from mdnmt.train.trainer import RuntimeOptions

Work = Callable[[Workers], None]
LIMIT = 180  # seconds until a worker that hangs is killed


def together(folder: Path, count: int, work: Work) -> list[str]:
    """Do the work as each of `count` workers and return how each ended: "done", its error, or "killed"."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    ends = [folder / f"end-{rank}" for rank in range(count)]
    ports, tell = os.pipe()
    # The store comes last: its thread may hold a lock at the moment of a fork, which nobody would release in the child.
    children = [_fork(end, rank, count, ports, work) for rank, end in enumerate(ends)]
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.write(tell, store.port.to_bytes(4, "big") * count)
    for child in children:
        os.waitpid(child, 0)
    os.close(ports)
    os.close(tell)
    return [end.read_text() if end.exists() else "killed" for end in ends]


def _fork(end: Path, rank: int, count: int, ports: int, work: Work) -> int:
    end.unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    signal.alarm(LIMIT)
    try:
        torch.set_num_threads(1)
        port = int.from_bytes(os.read(ports, 4), "big")
        # As torchrun's agent sets them: the store is in the process that started the workers.
        group = {"RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ.update(
            {**{name: str(value) for name, value in group.items()}, "TORCHELASTIC_USE_AGENT_STORE": "True"}
        )
        work(from_environment())
        end.write_text("done")
    except Exception as error:
        end.write_text(f"{type(error).__name__}: {error}")
        if not hasattr(error, "exit_code"):
            traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def train(spec: Any, task: Path, folder: Path, count: int, *, each: Work | None = None, **runtime: Any) -> list[str]:
    """Train a run with so many workers and return how each ended; `each` is called in every one before."""

    def work(workers: Workers) -> None:
        if each is not None:
            each(workers)
        options = RuntimeOptions(**{"worker_timeout_minutes": 1.0, **runtime})
        train_run(spec, task, folder, device="cpu", threads=1, runtime=options, workers=workers)

    return together(folder / "ends", count, work)


def losses(folder: Path) -> list[float]:
    """Return the loss of every line of curves.tsv."""
    lines = RunPaths(folder).curves.read_text().splitlines()
    column = lines[0].split("\t").index("loss")
    return [float(line.split("\t")[column]) for line in lines[1:]]
