"""Take in the zip files with results of finished runs that `mdnmt campaign` wrote on another machine."""

from __future__ import annotations

import re
from pathlib import Path

from mdnmt.corpora.formats.archive import open_archive
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import DataError
from mdnmt.exchange.bundle import KEPT, RUNS, UNPACKED_BYTES_MAX
from mdnmt.exchange.campaign_results import PARTS_MAX
from mdnmt.extras.stores.transfer import address_of, move, verify_run
from mdnmt.fsio import write_bytes, write_text
from mdnmt.paths import RunPaths

_MEMBER = re.compile(rf"{RUNS}/([a-z0-9-]+/[a-z0-9-]+/seed\d+-[0-9a-f]{{8}})/(.+)")


def take_in(part: Path, results: Path) -> dict[str, str]:
    """Move the runs of a part into the results, verified; return address -> what was done with it.

    A run whose weights or trained part are here already stays as it is.

    Raises:
        DataError: it is no such part, or a run in it was altered.
    """
    said = dict[str, str]()
    with open_archive(part, PARTS_MAX * UNPACKED_BYTES_MAX) as archive, partial_folder(results / ".pulled") as new:
        members = dict[str, list[str]]()
        for name in archive.names():
            found = _MEMBER.fullmatch(name)
            if found is None or not KEPT.fullmatch(found[2]):
                raise DataError(f"{part}: refused, its member {name!r} is no result of a run")
            members.setdefault(found[1], []).append(found[2])
        for run, names in members.items():
            target = results / RUNS / address_of(run)
            if target.exists() and not RunPaths(target).has_no_weights:
                done = RunPaths(target).is_finished
                said[run] = "is here already" if done else "is being trained here, or was; remove its folder first"
                continue
            for name in names:
                write_bytes(new / RUNS / run / name, archive.read(f"{RUNS}/{run}/{name}"))
            verify_run(new / RUNS / run, run, names)
            write_text(RunPaths(new / RUNS / run).without_weights, "Trained elsewhere; the weights are not here.\n")
            move(new / RUNS / run, target)
            said[run] = "taken in"
    return said
