"""Content addresses: a short hash of what determines a stage's result."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

# Raise a stage's number when its code starts to produce other results from the same input.
STAGE_VERSIONS = {"task": 1, "train": 7, "decode": 2, "score": 2, "analyse": 2, "labels": 2}


def canonical_json(value: Any) -> str:
    """Return the one JSON spelling of `value`: sorted keys, no spaces, NaN refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def fingerprint(stage: str, value: Any) -> str:
    """Return the 8 hexadecimal digits that name the result of `stage` for the configuration `value`.

    Raises:
        KeyError: `stage` has no version in `STAGE_VERSIONS`.
    """
    text = canonical_json({"stage": stage, "version": STAGE_VERSIONS[stage], "value": value})
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:8]


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's bytes, read in blocks of 1 MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
