"""Start the workers of a training job on this machine with torch's elastic launcher, which torchrun is made of."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import (
    RendezvousHandler,
    RendezvousParameters,
    rendezvous_handler_registry,
)
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend, create_backend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from mdnmt import fsio, gpu
from mdnmt.errors import EXIT_USER, Interrupted, LeaseError, MdnmtError
from mdnmt.train.data_parallel import LostWorker
from mdnmt.train.device import refuse_one_gpu_for_all

ADDRESS = "127.0.0.1"
RENDEZVOUS = "mdnmt"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
# After a lost connection, a worker waits this long for the launcher to notice which process has died.
END_SECONDS = 5.0


def launch(work: Callable[[], None], count: int, *, device: str, limit_minutes: float | None) -> None:
    """Call `work` in `count` processes, which torch's variables in the environment make workers of one job.

    Signals to this process are passed on to all workers. If this process is killed, the kernel sends them SIGINT, so
    that they save and end as well.

    Args:
        work: trains as one worker; it is pickled.
        count: number of workers.
        device: `auto`, `cpu` or `cuda`; each worker gets a GPU of its own if there are any.
        limit_minutes: how long to wait for free GPUs; None: without limit.

    Raises:
        ConfigError: `device` names one GPU, or there are fewer GPUs than workers.
        LostWorker: a signal ended a worker, or the connection to one broke.
        MdnmtError: the error of a worker.
        SystemExit: a worker failed because of a bug; its traceback is printed.
    """
    refuse_one_gpu_for_all(device, count)
    if gpu.count_visible(device):
        gpu.acquire(count, limit_minutes=limit_minutes)
    # The machine's name may resolve to an address behind a firewall, and all workers are on this machine: use loopback.
    for _, name in socket.if_nameindex():
        if name in {"lo", "lo0"}:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
    # As long as an update and a checkpoint may take, after a signal; torch 2.11 does not read it and waits 30 seconds.
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "600")
    # What torch has to say in several lines for each worker, this function says in one.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    logging.disable(logging.CRITICAL)
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    with tempfile.TemporaryDirectory(prefix="mdnmt-") as folder:
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=count,
            rdzv_backend=RENDEZVOUS,
            rdzv_endpoint=f"{ADDRESS}:0",
            local_addr=ADDRESS,
            run_id=uuid.uuid4().hex,
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=folder),
            signals_to_handle=",".join(number.name for number in SIGNALS),
        )
        ends = Path(folder) / "ends"
        ends.mkdir()
        try:
            elastic_launch(config, _worker)(work, ends)
        except ChildFailedError as error:
            for rank, failure in error.failures.items():
                if failure.exitcode < 0:
                    raise LostWorker(
                        f"worker {rank} of {count} was ended by {signal.Signals(-failure.exitcode).name}; what was "
                        "done since the last checkpoint is lost: the same command goes on from there"
                    ) from None
            raise _error(ends) or SystemExit(1) from None
        except SignalException as error:
            ended = _error(ends)
            if ended is not None or len(list(ends.iterdir())) < count:
                early = f"{error.sigval.name}: stopped before the training began; the same command starts it"
                raise (ended or Interrupted(early)) from None
        finally:
            # After a signal, torch leaves its thread of heartbeats running. If the interpreter ended while that thread
            # is in a call to the store, the process would abort.
            while _meetings:
                _meetings.pop().shutdown()
            logging.disable(logging.NOTSET)
            for number, handler in handlers.items():
                signal.signal(number, handler)


_meetings: list[RendezvousHandler] = []


class _Backend(C10dRendezvousBackend):
    @property
    def name(self) -> str:
        return RENDEZVOUS


def _rendezvous(parameters: RendezvousParameters) -> RendezvousHandler:
    """Return torch's own rendezvous, c10d, under another name, and keep it, so that it can be shut down."""
    _, store = create_backend(parameters)
    _meetings.append(create_handler(store, _Backend(store, parameters.run_id), parameters))
    return _meetings[-1]


rendezvous_handler_registry.register(RENDEZVOUS, _rendezvous)


def _worker(work: Callable[[], None], ends: Path) -> None:
    """Do the work of a worker, and leave how it ended for the launcher."""
    # A process group of its own, so that Ctrl-C reaches only the launcher, which passes it on.
    os.setpgid(0, 0)
    status, name = 0, ""
    arguments: list[str | int | None] = []
    try:
        work()
    except (MdnmtError, OSError) as error:
        status, arguments = getattr(error, "exit_code", EXIT_USER), [str(error)]
        name = type(error).__name__
        if isinstance(error, OSError):  # as one line too, by whoever runs the verb
            name, arguments = "OSError", [error.errno, error.strerror, error.filename]
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except Exception:
        traceback.print_exc()
        status = 1
    fsio.write_text(ends / os.environ["RANK"], json.dumps([status, name, arguments]))
    sys.stdout.flush()
    if name == LostWorker.__name__:
        time.sleep(END_SECONDS)
        os._exit(status)  # an orderly exit would wait for the lost worker
    raise SystemExit(status)


def _error(ends: Path) -> BaseException | None:
    """Return the error that workers ended with: a bug before a mistake of the user, and a lost worker last."""
    found = [json.loads(fsio.read_text(path)) for path in sorted(ends.iterdir(), key=lambda path: int(path.name))]
    failed = [end for end in found if end[0]]
    if not failed:
        return None
    status, name, arguments = min(failed, key=lambda end: (end[1] == LostWorker.__name__, end[0]))
    kinds: dict[str, type[Exception]] = {kind.__name__: kind for kind in (LostWorker, LeaseError, Interrupted, OSError)}
    return kinds.get(name, MdnmtError)(*arguments) if name else SystemExit(status)
