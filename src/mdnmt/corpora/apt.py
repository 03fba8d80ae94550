"""Download a Debian package by apt-get, without installing or running anything of it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from mdnmt.config.corpus_source import AptSource
from mdnmt.corpora.client import run_client
from mdnmt.errors import FetchError


def download(source: AptSource, folder: Path) -> str:
    """Bring the package into `folder` as `<package>.deb` and return what it is, `<package>=<version>`.

    Raises:
        FetchError: apt-get failed (its last line is given), or brought something else.
    """
    asked = source.package if source.version is None else f"{source.package}={source.version}"
    remedy = "`apt-get update`, then again"
    if source.version is not None:
        remedy += ", or, if there is another version by now, correct the pin or the lock"
    run_client(["apt-get", "download", "--quiet", "--", asked], asked, folder, remedy)
    found = sorted(folder.glob("*.deb"))
    parts = unquote(found[0].name).split("_") if len(found) == 1 else []
    if len(parts) != 3 or parts[0] != source.package:
        there = ", ".join(path.name for path in found) or "nothing"
        raise FetchError(f"{asked}: expected one .deb of that name, apt-get brought {there}")
    found[0].rename(folder / source.file)
    return f"{source.package}={parts[1]}"
