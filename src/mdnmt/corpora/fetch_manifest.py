"""The manifest of a fetched corpus, `corpus.json`: written last, so a corpus that has one is complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.errors import DataError

MANIFEST = "corpus.json"


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest in `folder`, or None if it is missing or damaged."""
    try:
        value = fsio.read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("files"), list) else None


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest, unless the existing one differs only in its time."""
    present = read_manifest(folder)
    if present is not None and {**present, "fetched_at": None} == {**manifest, "fetched_at": None}:
        return
    fsio.write_json(folder / MANIFEST, manifest)


def files_folder(folder: Path) -> Path:
    """Return where the files of the fetched corpus in `folder` are: there, or in the user's own folder.

    Raises:
        DataError: the corpus was not fetched.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise DataError(f"{folder / MANIFEST}: missing or damaged; run `mdnmt fetch` for the corpus {folder.name!r}")
    return Path(manifest["folder"]).expanduser() if manifest.get("folder") else folder
