"""Why corpora are not available, as a study asks it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.availability import first_downloads, needs_downloads, why_unavailable
from mdnmt.corpora.corpus_lock import NO_LOCK, Lock


def why_any_missing(corpora: Mapping[str, CorpusConfig], folder: Path, lock: Lock = NO_LOCK) -> str | None:
    return why_unavailable(corpora, folder, lock) or needs_downloads(first_downloads(corpora, lock))
