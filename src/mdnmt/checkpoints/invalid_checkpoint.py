"""The error that rejects a checkpoint: which file is wrong, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mdnmt.errors import CheckpointError

Kind = Literal["truncated", "altered", "missing file", "no manifest", "other identity", "unreadable"]


class InvalidCheckpoint(CheckpointError):
    """A checkpoint or a weights file is damaged, or belongs to another run.

    Attributes:
        path: the file or directory at fault.
        kind: what is wrong with it, one of `Kind`.
        detail: what was found and what was expected.
    """

    def __init__(self, path: Path, kind: Kind, detail: str) -> None:
        super().__init__(f"{path}: {kind}: {detail}")
        self.path = path
        self.kind = kind
        self.detail = detail


def read_bytes(path: Path, what: str) -> bytes:
    """Return the bytes of `path`.

    Raises:
        InvalidCheckpoint: the file is missing or cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidCheckpoint(path, "missing file", f"{what} is not there") from None
    except OSError as error:
        raise InvalidCheckpoint(path, "unreadable", f"{what} cannot be read: {error.strerror}") from error
