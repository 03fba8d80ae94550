"""Allow one trainer per run directory: a locked file names its holder and shows that the holder is alive.

Among processes of one host the lock (flock) decides; a kill releases it at once. If another host's lock is not visible
(some network file systems), the heartbeat in the file decides. Clocks of different hosts are never compared: a holder
counts as dead once this process has seen its heartbeat unchanged for `STALE_AFTER_SECONDS` (monotonic clock).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from mdnmt.errors import LeaseError

STALE_AFTER_SECONDS = 120.0
HEARTBEAT_SECONDS = 10.0
_LOOK_SECONDS = 1.0
# Every beat overwrites the same bytes in one call, so that a reader never sees a mix of two beats.
_SIZE_BYTES = 512
# `lease_is_live` holds a shared lock for a moment, so a trainer that finds the file locked tries again.
_ATTEMPTS, _ATTEMPT_SECONDS = 20, 0.02


@dataclass(frozen=True)
class Holder:
    """Who holds a lease.

    Attributes:
        host: name of the holder's host.
        pid: its process number.
        job: its SLURM job; None outside SLURM.
        started: seconds since 1970 by the holder's clock; for messages only, never compared with another clock.
        heartbeat: changes with each beat.
        token: identifies this holding of the lease.
    """

    host: str
    pid: int
    job: str | None
    started: float
    heartbeat: float
    token: str

    def describe(self) -> str:
        """Return host, process, job and start in words."""
        since = datetime.fromtimestamp(self.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        job = f", SLURM job {self.job}" if self.job else ""
        return f"host {self.host}, process {self.pid}{job}, since {since}"


class Watch:
    """Remembers when each lease was last seen to change, by the monotonic clock of this process.

    Args:
        clock: a monotonic clock; None: `time.monotonic`.
        pause: waits for the given seconds; None: `time.sleep`.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] | None = None,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._clock = clock or time.monotonic
        self._pause = pause or time.sleep
        self._seen: dict[Path, tuple[Holder, float, bool]] = {}

    def look(self, path: Path, holder: Holder) -> bool | None:
        """Return whether a holder is alive: True if its heartbeat changed, False if it stopped, None if unknown."""
        now = self._clock()
        before, since, beats = self._seen.get(path, (holder, now, False))
        if before != holder:
            since, beats = now, before.token == holder.token
        self._seen[path] = (holder, since, beats)
        if now - since > STALE_AFTER_SECONDS:
            return False
        return True if beats else None

    def until_known(self, path: Path) -> Holder | None:
        """Watch a lease until its holder beats or counts as dead; return the live holder, or None."""
        said = False
        while (holder := read_holder(path)) is not None:
            alive = self.look(path, holder)
            if alive is not None:
                return holder if alive else None
            if not said:
                limit = f"{STALE_AFTER_SECONDS:.0f} s"
                print(f"mdnmt: {path}: held by {holder.describe()}; watching it for up to {limit}", file=sys.stderr)
                said = True
            self._pause(_LOOK_SECONDS)
        return None


_WATCH = Watch()  # shared by all calls in this process, so that the watched time adds up


class RunLease:
    """Hold a run directory in a `with` block; a second holder is refused.

    The file is removed at the end. A lease left by a killed process of this host is taken over at once; one of another
    host is taken over after `STALE_AFTER_SECONDS` without a beat.

    Raises:
        LeaseError: another process holds it (on entering), or has taken it over (`check`).
    """

    def __init__(
        self,
        path: Path,
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        watch: Watch = _WATCH,
    ) -> None:
        self.path = path
        self._heartbeat_seconds = heartbeat_seconds
        self._watch = watch
        self._file = -1
        self._started = 0.0
        self._beats = 0
        self._token = uuid.uuid4().hex
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> RunLease:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._lock()
        try:
            self._refuse_living_holder()
            self._started = time.time()
            self._beat()
        except BaseException:
            os.close(self._file)
            raise
        self._done.clear()
        self._thread = threading.Thread(target=self._keep_beating, name="lease-heartbeat", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        # Removed while still locked: a process that opened the file before will notice that the path is gone or names
        # another file.
        if self._is_ours():
            self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1

    def check(self) -> None:
        """Raise LeaseError if the lease was taken over or its file removed; call this before every save."""
        if not self._is_ours():
            holder = read_holder(self.path)
            now = holder.describe() if holder else "nobody: the file was removed or overwritten"
            raise LeaseError(f"{self.path}: this process lost the run directory, held now by {now}; it must not save")

    def _lock(self) -> int:
        for attempt in range(_ATTEMPTS):
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                if attempt + 1 < _ATTEMPTS:
                    time.sleep(_ATTEMPT_SECONDS)
                continue
            except OSError as error:
                if error.errno not in {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}:
                    os.close(file)
                    raise
                # A file system without locks: only the heartbeat decides.
            # The previous holder may have removed the file after this process opened it and before it locked it.
            if _same_file(file, self.path):
                return file
            os.close(file)
        raise LeaseError(_refusal(self.path, read_holder(self.path)))

    def _refuse_living_holder(self) -> None:
        holder = read_holder(self.path)
        if holder is None:
            return
        # A live process of this host would still hold the lock; without locks, look for the process itself.
        if holder.host == socket.gethostname() and not (_locks_missing(self._file) and _is_running(holder.pid)):
            return
        if (alive := self._watch.until_known(self.path)) is not None:
            raise LeaseError(_refusal(self.path, alive))

    def _beat(self) -> None:
        self._beats += 1
        holder = Holder(
            host=socket.gethostname(),
            pid=os.getpid(),
            job=slurm_job(),
            started=self._started,
            heartbeat=self._beats,
            token=self._token,
        )
        # In place rather than through fsio: the lock would stay on the old file if a new one were renamed over it.
        os.pwrite(self._file, json.dumps(asdict(holder)).encode("ascii").ljust(_SIZE_BYTES - 1) + b"\n", 0)
        os.fsync(self._file)

    def _keep_beating(self) -> None:
        while not self._done.wait(self._heartbeat_seconds):
            # Never overwrite another holder (`check` tells the trainer). A missing file, a full disk or a slow server
            # may be temporary, so the next beat tries again.
            if self._is_ours():
                with contextlib.suppress(OSError):
                    self._beat()

    def _is_ours(self) -> bool:
        holder = read_holder(self.path)
        return holder is not None and holder.token == self._token and _same_file(self._file, self.path)


def slurm_job() -> str | None:
    """Return the ID of this process's SLURM job, as squeue prints it; None outside SLURM.

    A task of a job array is named by array and index, not by its own ID: the last task's ID is also that of the whole
    array, and `scontrol requeue` and `squeue --jobs` would apply to all of it.
    """
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID")


def lease_is_live(path: Path, *, wait: bool = False, watch: Watch = _WATCH) -> str | None:
    """Return the live holder of the lease in words, or None; the lease is not changed.

    Args:
        path: of the lease.
        wait: watch a holder of another host until it is known whether it is alive. Without it, such a holder counts as
            alive until this process has watched it for `STALE_AFTER_SECONDS`.
        watch: the heartbeats that this process has seen before.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        holder = read_holder(path)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return holder.describe() if holder else "a process that has not yet written its name"
        except OSError:
            if holder and holder.host == socket.gethostname() and not _is_running(holder.pid):
                return None
        else:
            if holder and holder.host == socket.gethostname():
                return None  # a live process of this host would still hold the lock
    finally:
        os.close(file)
    if wait:
        holder = watch.until_known(path)
    elif holder is not None and watch.look(path, holder) is False:
        return None
    return holder.describe() if holder else None


def lease_holders(paths: Iterable[Path], *, wait: bool = False) -> list[str | None]:
    """Return `lease_is_live` for several leases; with `wait` they are watched at the same time."""
    found = {path: lease_is_live(path) for path in paths}
    return [lease_is_live(path, wait=True) if wait and holder else holder for path, holder in found.items()]


def read_holder(path: Path) -> Holder | None:
    """Return the holder written in a lease file; None if there is no file or no holder in it."""
    try:
        holder = Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    numbers = (holder.pid, holder.started, holder.heartbeat)
    return holder if all(isinstance(number, int | float) for number in numbers) else None


def _refusal(path: Path, holder: Holder | None) -> str:
    who = holder.describe() if holder else "a process that has not yet written its name"
    return (
        f"{path}: the run directory is held by {who}; wait for it to end or stop it, "
        "and only if you are sure that it is dead remove this file"
    )


def _same_file(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _locks_missing(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
