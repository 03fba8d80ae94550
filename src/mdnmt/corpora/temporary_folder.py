"""Temporary `.part` folders beside their target, so that nothing incomplete gets a final name."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STALE_S = 24 * 3600


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target` and remove it afterwards, with leftovers older than a day."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for stale in target.parent.glob(f".{target.name}.*.part"):
        if time.time() - stale.stat().st_mtime > _STALE_S:
            shutil.rmtree(stale, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)
