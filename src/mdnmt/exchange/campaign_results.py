"""The results of finished runs as a few zip files without weights, to carry from a machine that trains elsewhere."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from mdnmt.exchange.bundle import KEPT, RUNS
from mdnmt.fsio import atomic_path

PART_BYTES_MAX = 15 * 2**20  # one MiB below what such machines give back in one file
PARTS_MAX = 6  # they give back eight files; two are left for other results
_HEADERS = 400  # bytes of a member beside its data and its name, generously


def write_parts(results: Path, runs: Iterable[str], folder: Path, name: str) -> tuple[list[Path], list[str]]:
    """Write the files of runs, without weights, to `<folder>/<name>-<n>.zip`; each run is in one of them.

    Args:
        results: the folder of results.
        runs: addresses of finished runs, the most important first.
        folder: receives the files; earlier ones are replaced.
        name: of the files.

    Returns:
        The files, and the runs that have no room in them.
    """
    parts, left_out = list[list[str]](), list[str]()
    sizes = list[int]()
    for run in runs:
        size = sum(_packed_bytes(path) for path in _files(results, run))
        at = next((at for at, used in enumerate(sizes) if used + size <= PART_BYTES_MAX), len(parts))
        if size > PART_BYTES_MAX or at >= PARTS_MAX:
            left_out.append(run)
            continue
        if at == len(parts):
            parts.append([])
            sizes.append(0)
        parts[at].append(run)
        sizes[at] += size
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, members in enumerate(parts, start=1):
        path = folder / f"{name}-{number}.zip"
        with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for run in members:
                for file in _files(results, run):
                    archive.write(file, file.relative_to(results).as_posix(), compresslevel=9)
        written.append(path)
    return written, left_out


def _files(results: Path, run: str) -> list[Path]:
    folder = results / RUNS / run
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if KEPT.fullmatch(path.relative_to(folder).as_posix())]


def _packed_bytes(path: Path) -> int:
    return len(zlib.compress(path.read_bytes(), 9)) + 2 * len(str(path)) + _HEADERS
