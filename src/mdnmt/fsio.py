"""Write files atomically, and find out on reading whether a file was altered, swapped or made from something else.

Writing: temporary name, flush, fsync, rename. What another stage reads is sealed. A sealed JSON file contains the
sha256 of its other contents, its own address (`mdnmt.paths.address`), the sha256 of the files that it was made from,
and, if its address has no hash of the options that it was made with, that hash.
`sums.json` is such a file; it contains the sha256 of the files beside it, which cannot contain their own.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from mdnmt.errors import DamagedTask, DataError, refuse_special_file
from mdnmt.fingerprint import canonical_json, sha256_file
from mdnmt.paths import address, to_remove

SEAL, ADDRESS, MADE_FROM, MADE_WITH = "seal", "sealed_at", "made_from", "made_with"  # keys of a sealed file
MADE_BY = "made_by"  # the code and the packages that made a file, or the files of a sums.json
SUMS = "sums.json"
RECORD = "run.json"  # of a run (mdnmt.paths.RunPaths)
_IN_MANIFEST = {"segmentation.json"}  # of a task, whose manifest holds its sha256

_REFUSED_BY_THE_MACHINE = {errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class DamagedFile(DataError, ValueError):
    """A file differs from what was written; the rule that made it can make it again."""

    def __init__(self, path: Path, found: str) -> None:
        self._given = path, found
        if (other := to_remove(path)) != path:
            what = "the folder " if other in path.parents else ""
            super().__init__(f"{path}: {found}; remove {what}{other}, then start the same command again")
        else:
            super().__init__(f"{path}: {found}; remove it and start the command that made it again")

    def __reduce__(self) -> tuple[type[DamagedFile], tuple[Path, str]]:
        """Say how it is made again in another process: an error of a worker reaches the one that waits for it."""
        return type(self), self._given


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

    On an error the temporary file is removed and `path` stays as it was. Leftovers of a killed process are removed when
    `path` is next written on the same machine.

    Raises:
        DataError: the path is a pipe or device, which a file would replace (`/dev/null`, too, for root).
    """
    refuse_special_file(path)
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
        # Name the final path, which the user knows; the error of a full disk has no name.
        error.filename = str(path)
        raise
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextmanager
def atomic_open(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file for writing (text as UTF-8); it becomes `path` when the block ends without an error."""
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


def link_or_copy(source: Path, path: Path) -> None:
    """Make `path` a hard link to `source`, or a copy on a file system without them, atomically."""
    with atomic_path(path) as temporary:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON (sorted keys, UTF-8) to `path`, atomically."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def write_sealed(
    path: Path,
    value: dict[str, Any],
    made_from: Iterable[Path] = (),
    *,
    made_with: Any = None,
    made_by: Mapping[str, Any] | None = None,
    moves_to: Path | None = None,
) -> None:
    """Write `value` as `write_json` does, sealed with its address and a sha256, which `read_json` checks.

    Args:
        path: the file to write.
        value: a mapping without the keys of the seal.
        made_from: sealed files that it was computed from; while they exist, their content must not change. For a run's
            record only the weights count: when and in how many attempts they were trained changes no result.
        made_with: the options that it was made with, as a JSON value; `require_options` compares them.
        made_by: a record of the code and the packages that made it.
        moves_to: the final path, if not `path`.
    """
    value = {**value, MADE_BY: dict(made_by)} if made_by else dict(value)
    if made_with is not None:
        value[MADE_WITH] = options_hash(made_with)
    if place := address(moves_to or path):
        value[ADDRESS] = place
    if inputs := {os.path.relpath(file, path.parent): _content(file) for file in made_from}:
        value[MADE_FROM] = inputs
    write_json(path, {**value, SEAL: _seal(value)})


def options_hash(options: Any) -> str:
    """Return the hash of a verb's options (a JSON value), with which it seals the files that it writes."""
    return hashlib.sha256(canonical_json(options).encode("ascii")).hexdigest()[:16]


def require_options(expected: Mapping[str, str]) -> None:
    """Check that files were made with the options that this study asks for.

    Unlike the address of a run, the path of a file in a study's folder contains no hash of its options, so its reader
    is given that hash.

    Args:
        expected: path -> hash of the options. Missing and damaged files are left to their readers.

    Raises:
        DamagedFile: a file was made with other options.
    """
    for name, options in expected.items():
        if _said(Path(name), MADE_WITH, "") not in (options, None):
            raise DamagedFile(Path(name), "was made with other options than this study asks for")


def _said(path: Path, key: str, otherwise: Any) -> Any:
    """Return what a sealed file has under a key, which may be missing; None if the file cannot be read."""
    try:
        return json.loads(path.read_bytes()).get(key, otherwise)
    except (OSError, ValueError, RecursionError, AttributeError):  # its readers report it
        return None


def made_by_of(path: Path) -> dict[str, Any]:
    """Return what a sealed file records about the code and the packages that made it; {} if it records nothing."""
    found = _said(path, MADE_BY, {})
    return found if isinstance(found, dict) else {}


def has_options(path: Path, options: str) -> bool:
    """Say whether a file exists and was made with the options of this hash."""
    return bool(_said(path, MADE_WITH, "") == options)


def write_sums(
    folder: Path, names: Iterable[str], made_from: Iterable[Path] = (), made_by: Mapping[str, Any] | None = None
) -> None:
    """Write the sha256 of files of a folder to its sums.json, sealed; the readers of this module check them.

    Args:
        folder: the folder.
        names: its files.
        made_from: as for `write_sealed`.
        made_by: a record of the code and the packages that made the files.
    """
    write_sealed(folder / SUMS, {name: sha256_file(folder / name) for name in names}, made_from, made_by=made_by)


def sealed(inputs: Iterable[Path]) -> list[Path]:
    """Return the existing sealed files that vouch for `inputs`: JSON files themselves, else their sums.json."""
    found = (path if path.suffix == ".json" else (path if path.is_dir() else path.parent) / SUMS for path in inputs)
    return [path for path in dict.fromkeys(found) if path.exists()]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write `lines`, each ended by a newline, to `path`, atomically."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_json(path: Path) -> Any:
    """Return the JSON value in `path`, without its seal.

    Raises:
        DamagedFile: it is not JSON, was altered, belongs elsewhere, or an input has changed since it was made. Below
            `results/runs/` and in a study's folder, an unsealed file is refused too.
    """
    data, is_listed = _checked(path)
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, f"is truncated or not JSON ({error})") from None
    if isinstance(value, dict) and SEAL in value:
        if value.pop(SEAL) != _seal(value):
            raise DamagedFile(path, "was altered, its contents do not give the seal that it was written with")
        _check_origin(path, value)
    elif not is_listed and _must_be_sealed(path):
        raise DamagedFile(path, f"has no seal, and no {SUMS} beside it vouches for it")
    return value


def _check_origin(path: Path, value: dict[str, Any]) -> None:
    """Remove the address and the inputs from a sealed value, and check both."""
    value.pop(MADE_WITH, None)
    value.pop(MADE_BY, None)
    said, here = value.pop(ADDRESS, ""), address(path)
    if said and here and said != here:
        raise DamagedFile(path, f"was made as {said}, not for this place")
    for name, sha256 in value.pop(MADE_FROM, {}).items():
        source = Path(os.path.normpath(path.parent / name))
        try:
            same = _content(source) == sha256
        except FileNotFoundError:
            # Translations may be removed to save space. But if even the folder above them is missing, the file was
            # copied here from a study with other runs.
            if not here or source.parent.parent.is_dir():
                continue
            same = False
        if not same:
            raise DamagedFile(path, f"was made from another {address(source) or source} than the one that is there now")
        if source.suffix == ".json":
            read_json(source)  # its own origin is checked too


def _content(path: Path) -> str:
    """Return what identifies the content of a sealed file: its sha256; for a run's record, that of the weights."""
    if path.name != RECORD:
        return sha256_file(path)
    record = read_json(path)
    return "+".join(str(record[key]) for key in ("model_sha256", "alternative_sha256") if key in record)


def check_listed(path: Path) -> None:
    """Check a file that another program will read against the sums.json beside it.

    Raises:
        DamagedFile: it was altered, or belongs elsewhere.
    """
    _checked(path)


def refuse_removed(path: Path) -> None:
    """Refuse a missing file that the sums.json of its folder lists.

    Raises:
        DamagedFile: it is listed.
    """
    sums = path.parent / SUMS
    if sums.exists() and path.name in read_json(sums):
        raise DamagedFile(path, f"is gone, though {SUMS} lists it")


def unreadable(path: Path, error: Exception) -> Exception:
    """Return the error to raise for a file of a task, or a run's copy of it, that cannot be read.

    Errors of the machine (memory, open files, permissions) are not damage and are returned unchanged.
    """
    if isinstance(error, OSError) and error.errno in _REFUSED_BY_THE_MACHINE:
        return error
    if not address(path).startswith("runs/"):
        return DamagedTask(f"{path}: cannot be read ({error})")
    return error if isinstance(error, DamagedFile) else DamagedFile(path, f"cannot be read ({error})")


def read_text(path: Path) -> str:
    """Return the UTF-8 text in `path`, with its line ends as they are.

    Raises:
        DamagedFile: it was altered, or sums.json does not list it although it belongs to a run.
        UnicodeDecodeError: it is not UTF-8.
    """
    # Not Path.read_text(), which treats a carriage return as the end of a line.
    data, is_listed = _checked(path)
    if not is_listed and address(path).startswith("runs/"):
        raise DamagedFile(path, f"is not vouched for by a {SUMS} beside it")
    return data.decode("utf-8")


def read_lines(path: Path) -> list[str]:
    r"""Return the lines of `path`, split only at `\n`, not at Unicode separators; raises as `read_text`."""
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _checked(path: Path) -> tuple[bytes, bool]:
    """Return the bytes of a file, and whether the sums.json beside it lists them."""
    sums = path.parent / SUMS
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if path != sums:
            refuse_removed(path)
        raise
    if path == sums or not sums.exists():
        return data, False
    said = read_json(sums).get(path.name)
    if said is not None and said != hashlib.sha256(data).hexdigest():
        raise DamagedFile(path, f"was altered, its sha256 is not the one in {SUMS}")
    return data, said is not None


def _must_be_sealed(path: Path) -> bool:
    """Say whether a JSON file at this path must have a seal."""
    return path.name in (SUMS, "bundle.json") or (bool(address(path)) and path.name not in _IN_MANIFEST)


def _seal(value: Any) -> str | None:
    # As it is read back from a file: tuples become lists, and keys become strings.
    try:
        return hashlib.sha256(canonical_json(json.loads(json.dumps(value))).encode("ascii")).hexdigest()
    except ValueError:
        return None  # it contains NaN, which a sealed file never does


def _beside(path: Path, kind: str) -> Path:
    """Return a hidden name beside `path` with the ids of this machine and process."""
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}.{kind}")


def _sweep(path: Path, kind: str) -> None:
    """Remove files with such names of dead processes of this machine; those of other machines may be alive."""
    begin, end = f".{path.name}.{_machine()}-", f".{kind}"
    with suppress(OSError), os.scandir(path.parent) as entries:  # a leftover that cannot be removed does no harm
        for name in [entry.name for entry in entries if entry.name.startswith(begin) and entry.name.endswith(end)]:
            owner = name[len(begin) : -len(end)]
            if owner.isdecimal() and not _is_running(int(owner)):
                left = path.with_name(name)
                shutil.rmtree(left) if kind == "removed" else left.unlink(missing_ok=True)


@cache
def _machine() -> str:
    """Return an id of the process number space: one per host and container."""
    try:
        numbers = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux
        numbers = ""
    return hashlib.sha256(f"{os.uname().nodename} {numbers}".encode()).hexdigest()[:8]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def remove_tree(path: Path) -> None:
    """Remove a directory so that it vanishes in one step: rename it, then delete it."""
    _sweep(path, "removed")
    doomed = _beside(path, "removed")
    path.replace(doomed)
    shutil.rmtree(doomed)
