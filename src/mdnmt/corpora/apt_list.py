"""Download Debian's package descriptions by apt-get, into lists of our own: the system's are left alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from mdnmt.config.corpus_source import AptListSource
from mdnmt.corpora.client import run_client
from mdnmt.errors import FetchError


def download(source: AptListSource, folder: Path) -> str:
    """Bring the list of the release itself (not of its updates) into `folder` and return what it is.

    Raises:
        FetchError: apt-get failed (its last line is given), or the mirror has no such list.
    """
    lang = source.list.removeprefix("Translation-")
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True)
    options = {
        "Dir::State::lists": str(lists.resolve()),
        "Dir::Cache": str(lists.resolve()),
        "Acquire::Languages": lang,
        "Acquire::GzipIndexes": "false",
        "Acquire::IndexTargets::deb::Packages::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb-src::Sources::DefaultEnabled": "false",
        "APT::Sandbox::User": "",  # the folder is the caller's, who need not be root
        "Debug::NoLocking": "true",
    }
    command = ["apt-get", "update", "--quiet"]
    for name, value in options.items():
        command += ["-o", f"{name}={value}"]
    run_client(command, source.list)
    found = [path for path in lists.iterdir() if re.search(rf"_dists_([a-z]+)_main_i18n_{source.list}$", path.name)]
    if len(found) != 1:
        there = ", ".join(sorted(path.name for path in found)) or "none"
        raise FetchError(f"{source.list}: expected the list of one release, apt-get brought {there}")
    release = found[0].name.split("_dists_")[1].partition("_")[0]
    found[0].rename(folder / source.list)
    shutil.rmtree(lists)
    return f"{source.list} of {release}"
