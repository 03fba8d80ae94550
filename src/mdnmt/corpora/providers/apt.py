"""Download a Debian package, or Debian's package descriptions, with apt-get; nothing is installed or run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import unquote

from mdnmt.config.corpus_source import AptListSource, AptSource
from mdnmt.corpora.providers.package_client import run_client
from mdnmt.errors import FetchError


def download(source: AptSource, folder: Path) -> str:
    """Download the package into `folder` as `<package>.deb` and return its version, `<package>=<version>`.

    Raises:
        FetchError: apt-get failed (the message has its last line), or downloaded something else.
    """
    asked = source.package if source.version is None else f"{source.package}={source.version}"
    remedy = "run `apt-get update`, then try again"
    if source.version is not None:
        remedy += ", or, if there is a newer version now, correct the pin or the lock"
    run_client(["apt-get", "download", "--quiet", "--", asked], asked, folder, remedy)
    found = sorted(folder.glob("*.deb"))
    parts = unquote(found[0].name).split("_") if len(found) == 1 else []
    if len(parts) != 3 or parts[0] != source.package:
        there = ", ".join(path.name for path in found) or "nothing"
        raise FetchError(f"{asked}: expected one .deb of that name, apt-get brought {there}")
    found[0].rename(folder / source.file)
    return f"{source.package}={parts[1]}"


def download_list(source: AptListSource, folder: Path) -> str:
    """Download the list of the release (not of its updates) into `folder` and return its version.

    Raises:
        FetchError: apt-get failed (the message has its last line), or the mirror has no such list.
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
        "APT::Sandbox::User": "",  # the folder belongs to the caller, who need not be root
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
