"""Make a machine fail on purpose: a disk that is full, one that is read-only, a process that dies in a file."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

KIB = 1024


class Disk:
    """A folder whose room can be taken away.

    Where this machine lets us mount, it is a small file system of its own, which is really full. Where it does not,
    no file may grow beyond what is left, which the kernel enforces as well; a warning says so.

    Attributes:
        folder: where to write.
        mounted: it is a file system of its own.
        told: what the system says when there is no room.
    """

    def __init__(self, folder: Path, mounted: bool) -> None:
        self.folder, self.mounted = folder, mounted
        self.told = os.strerror(errno.ENOSPC if mounted else errno.EFBIG)

    @contextmanager
    def with_room(self, kib: float) -> Iterator[None]:
        """Leave so much room while the block runs."""
        if not self.mounted:
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (max(1, int(kib * KIB)), before[1]))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            return
        filler = self.folder / ".filler"
        found = os.statvfs(self.folder)
        filler.write_bytes(b"\0" * max(0, found.f_bavail * found.f_frsize - int(kib * KIB)))
        try:
            yield
        finally:
            filler.unlink()


def mount(*arguments: str) -> bool:
    """Say whether the system did it."""
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@contextmanager
def small_disk(folder: Path, kib: int = 8192) -> Iterator[Disk]:
    """Give a disk of `kib` KiB at `folder`."""
    folder.mkdir(parents=True)
    mounted = mount("-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder))
    if not mounted:
        warnings.warn("no right to mount a small disk: files are kept from growing instead", stacklevel=2)
    try:
        yield Disk(folder, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nothing be written below `folder` (a disk of `small_disk`, or any) while the block runs."""
    if os.path.ismount(folder) and mount("-o", "remount,ro", str(folder)):
        try:
            yield
        finally:
            mount("-o", "remount,rw", str(folder))
        return
    warnings.warn("no right to mount: opening for writing is refused by a patch instead", stacklevel=2)
    opened = os.open

    def refused(path: str, flags: int, *more: int, **named: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and Path(os.fsdecode(path)).is_relative_to(folder):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return opened(path, flags, *more, **named)

    def opened_path(self: Path, mode: str = "r", **more: Any) -> IO[Any]:
        return os.fdopen(refused(str(self), *_flags(mode)), mode, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refused)
        patch.setattr(Path, "open", opened_path)
        patch.setattr(Path, "mkdir", lambda self, *_, **__: self.exists() or refused(str(self), os.O_CREAT))
        yield


def _flags(mode: str) -> tuple[int, int]:
    return (os.O_RDONLY if mode.strip("bt") == "r" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)


def dies_writing(
    act: Callable[[], object], byte: int, begin: Callable[[Callable[[], None]], None] | None = None
) -> bool:
    """Run `act` in a process of its own that the kernel kills at the first file's byte number `byte`.

    Nothing is caught, closed or cleaned up: it is over in the middle of that write.

    Args:
        act: what is done.
        byte: how much of a file can be written.
        begin: gets a function that arms the kill, to be called later; None: it is armed from the start.

    Returns:
        Whether it died.
    """
    child = os.fork()
    if child == 0:
        status = 0
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

            def arm() -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (byte, byte))

            arm() if begin is None else begin(arm)
            act()
        except BaseException:
            status = 9
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "it ended with an error of its own"
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXFSZ
