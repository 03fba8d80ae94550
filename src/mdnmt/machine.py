"""Memory and disk space of this machine; work that cannot fit is refused before it starts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from mdnmt.errors import EXIT_USER, ConfigError, MdnmtError, owned_by_another
from mdnmt.paths import address

OTHER_PACKAGE = "MDNMT_OTHER_PACKAGE"  # environment variable: 1 runs another package than that of the project


class TooLarge(MdnmtError):
    """Work needs more memory or disk space than this machine has."""


@dataclass(frozen=True)
class Memory:
    """An amount of memory in bytes, and what it belongs to, in words."""

    size_bytes: int
    owner: str


def host_memory(root: Path = Path("/")) -> Memory:
    """Return the memory that this process may use: that of the host, or a smaller limit of its cgroup.

    Args:
        root: where `proc` and `sys` are mounted.
    """
    host = Memory(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "this machine")
    limits = [Memory(limit, "the cgroup of this process (a container or a job)") for limit in _cgroup_limits(root)]
    return min([host, *limits], key=lambda memory: memory.size_bytes)


def _cgroup_limits(root: Path) -> list[int]:
    """Return the memory limits of this process's control groups (versions 1 and 2) and of their parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers not in {"", "memory"}:
            continue
        base, name = ("sys/fs/cgroup", "memory.max") if not controllers else ("sys/fs/cgroup/memory", _VERSION_1)
        inner = Path(group.lstrip("/"))
        files += [root / base / folder / name for folder in (inner, *inner.parents)]
    return [int(text) for file in files if (text := _text(file)).isdecimal()]


_VERSION_1 = "memory.limit_in_bytes"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


_LOGS_BYTES = 1 << 20  # more than the log of a large study


def free_bytes(path: Path) -> int:
    """Return the space that an ordinary user can still fill on the file system of `path`, which need not exist."""
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return shutil.disk_usage(path).free


def require_space(path: Path, needed: int, what: str) -> None:
    """Refuse work that needs more disk space than there is.

    Args:
        path: where it will be written.
        needed: bytes, a lower bound.
        what: what needs them, in words.

    Raises:
        TooLarge: there is less free space.
    """
    if needed > (free := free_bytes(path)):
        raise TooLarge(
            f"{path}: {what} needs at least {in_gb(needed)}, {in_gb(free)} are free there; nothing was started: "
            "make room, or put the folder on a larger disk (a symbolic link will do), then start the same command again"
        )


def require_room_for_logs(*folders: Path) -> None:
    """End the process with one line if one of Snakemake's own folders is on a full disk.

    On a full disk, Snakemake prints tracebacks even for an error that the workflow raises, because it logs that too.

    Raises:
        SystemExit: a disk is full; the line has been printed.
    """
    for folder in folders:
        if (free := free_bytes(folder)) < _LOGS_BYTES:
            room = f"{in_gb(free)} are free there"
            print(f"snakemake: {folder}: {room}; nothing was started: make room, then start again", file=sys.stderr)
            raise SystemExit(EXIT_USER)


def name_full_disks(*folders: Path) -> None:
    """Print a line for each of these folders that is on a full disk, after a failed run.

    A job whose log is on a full disk cannot report it there.
    """
    for folder in folders:
        if (free := free_bytes(folder)) < _LOGS_BYTES:
            print(f"snakemake: {folder}: {in_gb(free)} are free there: make room, then start again", file=sys.stderr)


def require_address(folder: Path, fingerprint: str) -> None:
    """Refuse to write a result under the hash of other options, as the command of an edited rule would.

    Args:
        folder: where it is written; a name without a hash, or a place that is not below `results`, is not checked.
        fingerprint: the hash of its options.

    Raises:
        ConfigError: the folder's name ends in another hash.
    """
    found = re.search(r"-([0-9a-f]{8})$", folder.name)
    if found and found[1] != fingerprint and address(folder / "file"):
        raise ConfigError(
            f"{folder}: these options have the hash {fingerprint}, not the folder's; give the options in the study, "
            "not in a rule, then start snakemake again"
        )


def require_plain_path(project: Path) -> None:
    """Refuse a project in a folder with braces: Snakemake takes them for wildcards when it looks for its locks.

    With a name such as `{n}` or `{0}` it ends in a traceback; with others it searches the folders above. Once
    Snakemake escapes the path in `FilePersistence._read_locks`, this function can go.

    Raises:
        ConfigError: the path has a brace.
    """
    if not {"{", "}"}.isdisjoint(path := str(project.absolute())):
        raise ConfigError(
            f"{path}: a brace in the project's path; Snakemake takes braces for wildcards: rename or move the folder, "
            "then run `make setup` there"
        )


def require_own_package(project: Path) -> None:
    """Refuse to work in a project whose `src/mdnmt` is not the package that runs, as in a second checkout.

    A folder without `src/mdnmt` takes the installed package.

    Raises:
        ConfigError: the two differ, and the environment variable `MDNMT_OTHER_PACKAGE` is not set to 1.
    """
    own, running = project / "src" / "mdnmt", Path(__file__).resolve().parent
    if not (own / "__init__.py").is_file() or own.resolve() == running or os.environ.get(OTHER_PACKAGE) == "1":
        return
    raise ConfigError(
        f"the package that runs is {running}, expected that of this folder, {own.resolve()}: run `make setup` here and "
        f"use the commands in .venv/bin; to run the other code on purpose, set {OTHER_PACKAGE}=1"
    )


def require_writable(folder: Path) -> None:
    """Refuse to start work whose results cannot be written.

    Args:
        folder: where results go; if it is missing, its nearest existing parent is checked.

    Raises:
        ConfigError: the folder is not writable.
    """
    existing = folder.absolute()
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{folder}: cannot be written{owned_by_another(existing)}; nothing was started: make it writable, or a "
            "symbolic link to a folder of your own, then start the same command again"
        )


def in_gb(size_bytes: int) -> str:
    """Return a number of bytes as text: in GB, or in MB below 0.1 GB, with one decimal."""
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 10**8 else f"{size_bytes / 1e6:.1f} MB"
