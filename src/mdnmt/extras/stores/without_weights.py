"""Take runs without weights into the results: from the zip files of a campaign, or from a bundle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mdnmt import fsio
from mdnmt.corpora.formats.archive import open_archive
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import DataError
from mdnmt.exchange.bundle import KEPT, RUNS, UNPACKED_BYTES_MAX, Bundle
from mdnmt.exchange.campaign_results import PARTS_MAX
from mdnmt.extras.stores.transfer import ADDRESS, move, verify_run
from mdnmt.paths import FROM_BUNDLE, RunPaths

_MEMBER = re.compile(rf"{RUNS}/(?P<run>{ADDRESS})/(?P<file>.+)")  # of a part of a campaign


def take_in(part: Path, results: Path) -> dict[str, str]:
    """Move the runs in a zip file of `mdnmt campaign` into the results; return address -> what was done with it.

    A run whose weights or trained part are here already stays as it is.

    Raises:
        DataError: it is no such part, or a run in it was altered.
    """
    said = dict[str, str]()
    with open_archive(part, PARTS_MAX * UNPACKED_BYTES_MAX) as archive, partial_folder(results / ".pulled") as new:
        members = dict[str, list[str]]()
        for name in archive.names():
            found = _MEMBER.fullmatch(name)
            if found is None or not KEPT.fullmatch(found["file"]):
                raise DataError(f"{part}: refused, its member {name!r} is no result of a run")
            members.setdefault(found["run"], []).append(found["file"])
        for run, names in members.items():
            contents = {name: archive.read(f"{RUNS}/{run}/{name}") for name in names}
            said[run] = _take_in(new, results, run, contents, "from a campaign")
    return said


def take_from_bundle(bundle: Bundle, results: Path, run: str) -> str:
    """Copy a run of a bundle to the results; return what was done with it, and raise errors, as `take_in`."""
    with partial_folder(results / ".pulled") as new:
        return _take_in(new, results, run, bundle.read(run), FROM_BUNDLE)


def _take_in(new: Path, results: Path, run: str, contents: Mapping[str, bytes], origin: str) -> str:
    """Write the files of a run without weights to a new folder, verify them and move them into the results.

    What an earlier pull brought, or was made here since, is kept beside them: whole folders, and sealed files.
    """
    target, folder = results / RUNS / run, new / RUNS / run
    if RunPaths(target).is_trained_here:
        done = RunPaths(target).is_finished
        return "is here already" if done else "is being trained here, or was; remove its folder first"
    if RunPaths(target).has_no_weights and all(
        (target / name).is_file() and (target / name).read_bytes() == data for name, data in contents.items()
    ):
        return "is here already"
    for name, data in contents.items():
        fsio.write_bytes(folder / name, data)
    verify_run(folder, run, list(contents))
    folders = {Path(name).parent for name in contents}
    for path in target.rglob("*"):
        inner = path.relative_to(target)
        is_sealed = inner.suffix == ".json" and inner.name != fsio.SUMS
        is_kept = path.is_file() and KEPT.fullmatch(inner.as_posix()) and inner.as_posix() not in contents
        if is_kept and (is_sealed or inner.parent not in folders):
            fsio.write_bytes(folder / inner, path.read_bytes())
    fsio.write_text(RunPaths(folder).without_weights, f"The weights are not here; this run came {origin}.\n")
    move(folder, target)
    return "taken in"
