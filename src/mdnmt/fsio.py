"""Write files so that a file that exists is whole: temporary name, flush, fsync, rename."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


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

    On an error the temporary file is removed and `path` stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
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


def write_lines(path: Path, lines: list[str]) -> None:
    """Write `lines`, each ended by a newline, to `path`, atomically."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_json(path: Path) -> Any:
    """Return the JSON value in `path`."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[str]:
    r"""Return the lines of `path`, split at `\n` alone: other separators of Unicode are text."""
    # Not read_text(): it would take a carriage return for a line's end.
    lines = path.read_bytes().decode("utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def remove_tree(path: Path) -> None:
    """Remove a directory in one visible step: rename it away, then delete what was renamed."""
    doomed = path.with_name(f".{path.name}.{os.getpid()}.removed")
    path.replace(doomed)
    shutil.rmtree(doomed)
