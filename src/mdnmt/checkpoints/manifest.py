"""The manifest of a checkpoint: size and sha256 of every file, and its own sha256. It is written last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint, read_bytes
from mdnmt.fingerprint import canonical_json
from mdnmt.fsio import write_json

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_KEYS = {"format_version", "identity", "update", "files"}


@dataclass(frozen=True)
class Manifest:
    """The contents of a checkpoint directory when it was written.

    Attributes:
        identity: fingerprint of the run.
        update: number of the update after which it was saved.
        files: name -> {"sha256", "size_bytes"}.
    """

    identity: str
    update: int
    files: Mapping[str, Mapping[str, Any]]

    def read(self, folder: Path, name: str) -> bytes:
        """Return the bytes of one file after comparing them with the manifest.

        Raises:
            InvalidCheckpoint: the file is missing, truncated or altered.
        """
        path = folder / name
        if name not in self.files:
            raise InvalidCheckpoint(path, "missing file", f"{MANIFEST} does not list it")
        data = read_bytes(path, f"a file of {MANIFEST}")
        size_bytes = self.files[name]["size_bytes"]
        if len(data) < size_bytes:
            raise InvalidCheckpoint(path, "truncated", f"expected {size_bytes} bytes, found {len(data)}")
        if hashlib.sha256(data).hexdigest() != self.files[name]["sha256"]:
            raise InvalidCheckpoint(path, "altered", f"its sha256 is not the one in {MANIFEST}")
        return data


def write_manifest(folder: Path, identity: str, update: int, contents: Mapping[str, bytes]) -> None:
    """Write `manifest.json` for a directory that holds `contents` (file name -> bytes)."""
    value = {
        "format_version": FORMAT_VERSION,
        "identity": identity,
        "update": update,
        "files": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
            for name, data in contents.items()
        },
    }
    write_json(folder / MANIFEST, {**value, "sha256": _digest(value)})


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a checkpoint directory.

    Raises:
        InvalidCheckpoint: it is missing, unreadable or altered, or has another format version.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InvalidCheckpoint(folder, "missing file", "no such checkpoint directory")
    if not path.exists():
        raise InvalidCheckpoint(folder, "no manifest", f"{MANIFEST} is written last, so the save was not finished")
    try:
        value = json.loads(read_bytes(path, "the manifest"))
        said = value.pop("sha256")
        found = _digest(value)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InvalidCheckpoint(path, "unreadable", f"not a manifest in JSON ({type(error).__name__})") from error
    if found != said or value.keys() != _KEYS:
        raise InvalidCheckpoint(path, "altered", "its contents do not give the sha256 it ends with")
    if value["format_version"] != FORMAT_VERSION:
        raise InvalidCheckpoint(
            path, "unreadable", f"format version {value['format_version']}, this program reads {FORMAT_VERSION}"
        )
    return Manifest(identity=value["identity"], update=value["update"], files=value["files"])


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
