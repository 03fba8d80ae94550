"""Write files so that a file that exists is whole, and read them so that one that was altered since is found out.

Writing: temporary name, flush, fsync, rename. What another verb will compute with is sealed: a JSON file holds the
sha256 of the rest of itself, and `sums.json` of a folder holds that of the text files beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from mdnmt.errors import DataError
from mdnmt.fingerprint import canonical_json, sha256_file

SEAL = "seal"
SUMS = "sums.json"


class DamagedFile(DataError, ValueError):
    """A file is not what was written; the one verb that wrote it can make it again."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path}: {found}; remove it and start the command that made it again")


def sync_directory(path: Path) -> None:
    """Flush a directory's entries to disk, so that a rename in it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and renamed to `path`.

    On an error the temporary file is removed and `path` stays as it was. What a process that was killed left behind is
    removed when `path` is written next on the same machine.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path, "tmp")
    temporary = _beside(path, "tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):  # nothing can be removed where nothing can be written
            temporary.unlink(missing_ok=True)
        # The name that means something to a person; a full disk names none.
        error.filename = str(path)
        raise
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def atomic_open(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file for writing (text as UTF-8); it becomes `path` when the block ends well."""
    encoding = None if "b" in mode else "utf-8"
    newline = None if "b" in mode else "\n"
    with atomic_path(path) as temporary, temporary.open(mode, encoding=encoding, newline=newline) as handle:
        yield handle


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, atomically."""
    with atomic_open(path) as handle:
        handle.write(text)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, atomically."""
    with atomic_open(path, "wb") as handle:
        handle.write(data)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON (sorted keys, UTF-8) to `path`, atomically."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def write_sealed(path: Path, value: dict[str, Any]) -> None:
    """Write `value` as `write_json` does, with the sha256 of it beside its keys, which `read_json` checks."""
    write_json(path, {**value, SEAL: _seal(value)})


def write_sums(folder: Path, names: Iterable[str]) -> None:
    """Write the sha256 of files of a folder to its sums.json, which whoever reads them here holds them against."""
    write_sealed(folder / SUMS, {name: sha256_file(folder / name) for name in names})


def write_lines(path: Path, lines: list[str]) -> None:
    """Write `lines`, each ended by a newline, to `path`, atomically."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_json(path: Path) -> Any:
    """Return the JSON value in `path`, without its seal.

    Raises:
        DamagedFile: it is no JSON, or was sealed and altered since.
    """
    data = _checked(path)
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, f"is truncated or no JSON ({error})") from None
    if isinstance(value, dict) and SEAL in value and value.pop(SEAL) != _seal(value):
        raise DamagedFile(path, "was altered, its contents do not give the seal that it was written with")
    return value


def read_text(path: Path) -> str:
    """Return the UTF-8 text in `path`, as it is.

    Raises:
        DamagedFile: the folder's sums.json says that it was altered.
        UnicodeDecodeError: it is not UTF-8.
    """
    # Not Path.read_text(): it would take a carriage return for a line's end.
    return _checked(path).decode("utf-8")


def read_lines(path: Path) -> list[str]:
    r"""Return the lines of `path`, split at `\n` alone: other separators of Unicode are text; raises as `read_text`."""
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _checked(path: Path) -> bytes:
    data, sums = path.read_bytes(), path.parent / SUMS
    if path != sums and sums.exists():
        said = read_json(sums)
        if said.get(path.name, "") not in ("", hashlib.sha256(data).hexdigest()):
            raise DamagedFile(path, f"was altered, its sha256 is not the one in {SUMS}")
    return data


def _seal(value: Any) -> str | None:
    # As it comes back from a file: tuples are lists there, and keys are text.
    try:
        return hashlib.sha256(canonical_json(json.loads(json.dumps(value))).encode("ascii")).hexdigest()
    except ValueError:
        return None  # holds NaN, which nothing sealed does


def _beside(path: Path, kind: str) -> Path:
    """Return the hidden name beside `path` that is this process's alone, and says so."""
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}.{kind}")


def _sweep(path: Path, kind: str) -> None:
    """Remove what dead processes of this machine left under such names; of other machines nothing is known."""
    begin, end = f".{path.name}.{_machine()}-", f".{kind}"
    with suppress(OSError), os.scandir(path.parent) as entries:  # one that cannot be removed does no harm
        for name in [entry.name for entry in entries if entry.name.startswith(begin) and entry.name.endswith(end)]:
            owner = name[len(begin) : -len(end)]
            if owner.isdecimal() and not _is_running(int(owner)):
                left = path.with_name(name)
                shutil.rmtree(left) if kind == "removed" else left.unlink(missing_ok=True)


@cache
def _machine() -> str:
    """Return what tells apart whose process numbers a name holds: the host, and its containers among each other."""
    try:
        numbers = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # no Linux
        numbers = ""
    return hashlib.sha256(f"{os.uname().nodename} {numbers}".encode()).hexdigest()[:8]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def remove_tree(path: Path) -> None:
    """Remove a directory in one visible step: rename it away, then delete what was renamed."""
    _sweep(path, "removed")
    doomed = _beside(path, "removed")
    path.replace(doomed)
    shutil.rmtree(doomed)
