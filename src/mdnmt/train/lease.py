"""One trainer a run directory: a locked file that says who holds it and that its holder is alive.

The lock (flock) settles it among processes of one host, and a kill frees it at once. Where another host's lock cannot
be seen (some network file systems), the heartbeat in the file settles it: a holder that stopped beating is dead.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from mdnmt.errors import LeaseError

STALE_AFTER_SECONDS = 120.0
HEARTBEAT_SECONDS = 10.0
# Every beat overwrites the same bytes in one call, so that a reader never finds half of two.
_SIZE_BYTES = 512
# `lease_is_live` holds a shared lock for an instant; a trainer that meets it tries again.
_ATTEMPTS, _ATTEMPT_SECONDS = 20, 0.02


@dataclass(frozen=True)
class Holder:
    """Who holds a lease; times in seconds since 1970 by the holder's clock."""

    host: str
    pid: int
    job: str | None
    started: float
    heartbeat: float
    token: str

    def describe(self, now: float) -> str:
        """Return host, process, start and heartbeat in words."""
        since = datetime.fromtimestamp(self.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        job = f", SLURM job {self.job}" if self.job else ""
        age = now - self.heartbeat
        beat = f"heartbeat {age:.0f} s ago" if age >= 0 else f"heartbeat {-age:.0f} s in the future: a clock is wrong"
        return f"host {self.host}, process {self.pid}{job}, since {since}, {beat}"


class RunLease:
    """Hold a run directory in a `with` block; a second holder is refused.

    The file is removed at the end. One left by a killed process of this host is taken over at once, one of another host
    when its heartbeat is older than `stale_after_seconds`.

    Raises:
        LeaseError: another process holds it (on entering), or took it away (`check`).
    """

    def __init__(
        self,
        path: Path,
        stale_after_seconds: float = STALE_AFTER_SECONDS,
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self._stale_after = stale_after_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._clock = clock
        self._file = -1
        self._started = 0.0
        self._token = uuid.uuid4().hex
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> RunLease:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._lock()
        try:
            self._refuse_living_holder()
            self._started = self._clock()
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
        # Removed while still locked: whoever opened it before finds another file, or none, under the name.
        if self._is_ours():
            self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1

    def check(self) -> None:
        """Raise LeaseError when the lease was taken away or its file removed; to be asked before a save."""
        if not self._is_ours():
            holder = read_holder(self.path)
            now = holder.describe(self._clock()) if holder else "nobody: the file was removed or overwritten"
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
                # A file system without locks: the heartbeat alone decides.
            # The holder before may have removed the file between our opening and our locking it.
            if _same_file(file, self.path):
                return file
            os.close(file)
        raise LeaseError(_refusal(self.path, read_holder(self.path), self._clock()))

    def _refuse_living_holder(self) -> None:
        holder = read_holder(self.path)
        if holder is None or not _beats(holder, self._clock(), self._stale_after):
            return
        # Of our own host we would not have got the lock, were it alive; without locks the process itself is looked for.
        if holder.host == socket.gethostname() and not (_locks_missing(self._file) and _is_running(holder.pid)):
            return
        raise LeaseError(_refusal(self.path, holder, self._clock()))

    def _beat(self) -> None:
        holder = Holder(
            host=socket.gethostname(),
            pid=os.getpid(),
            job=os.environ.get("SLURM_JOB_ID"),
            started=self._started,
            heartbeat=self._clock(),
            token=self._token,
        )
        # In place, not through fsio: a new file under the name would leave the lock on the old one.
        os.pwrite(self._file, json.dumps(asdict(holder)).encode("ascii").ljust(_SIZE_BYTES - 1) + b"\n", 0)
        os.fsync(self._file)

    def _keep_beating(self) -> None:
        while not self._done.wait(self._heartbeat_seconds):
            # Over another's name we must not write (`check` tells the trainer); but the file may only be out of sight
            # for a moment, and a disk full or a server slow: the next beat tries again.
            if self._is_ours():
                with contextlib.suppress(OSError):
                    self._beat()

    def _is_ours(self) -> bool:
        holder = read_holder(self.path)
        return holder is not None and holder.token == self._token and _same_file(self._file, self.path)


def lease_is_live(
    path: Path, stale_after_seconds: float = STALE_AFTER_SECONDS, *, clock: Callable[[], float] = time.time
) -> str | None:
    """Return who holds the lease in words, or None when nobody alive does; the lease is left as it is."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        holder = read_holder(path)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return holder.describe(clock()) if holder else "a process that has not yet written its name"
        except OSError:
            if holder and holder.host == socket.gethostname() and not _is_running(holder.pid):
                return None
        else:
            if holder and holder.host == socket.gethostname():
                return None  # its process would still have the lock
    finally:
        os.close(file)
    return holder.describe(clock()) if holder and _beats(holder, clock(), stale_after_seconds) else None


def read_holder(path: Path) -> Holder | None:
    """Return the holder written in a lease file, or None where there is no file or no name in it."""
    try:
        holder = Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    numbers = (holder.pid, holder.started, holder.heartbeat)
    return holder if all(isinstance(number, int | float) for number in numbers) else None


def _beats(holder: Holder, now: float, stale_after_seconds: float) -> bool:
    # A heartbeat in the future is a clock that jumped: taken for alive, for two trainers do more harm than a wait.
    return now - holder.heartbeat <= stale_after_seconds


def _refusal(path: Path, holder: Holder | None, now: float) -> str:
    who = holder.describe(now) if holder else "a process that has not yet written its name"
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
