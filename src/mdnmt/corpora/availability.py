"""Settle, when the DAG is built and without a network, whether a corpus can be had, or was fetched and lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.corpus_source import GeneratedSource, LocalSource, ManualSource
from mdnmt.corpora import manual
from mdnmt.corpora.client import lacking
from mdnmt.corpora.local import local_files
from mdnmt.corpora.lock import NO_LOCK, Lock
from mdnmt.corpora.manifest import MANIFEST, read_manifest
from mdnmt.corpora.spec import FetchSpec, FileSpec, locked_file
from mdnmt.errors import DataError


def why_any_missing(corpora: Mapping[str, CorpusConfig], corpora_folder: Path, lock: Lock = NO_LOCK) -> str | None:
    """Return why not all of some corpora can be had, as one line that begins with `needs`, or None when they can.

    Args:
        corpora: their configurations by name.
        corpora_folder: where they are, or will be, once fetched (`resources/corpora`).
        lock: what earlier downloads were.

    Raises:
        ConfigError: the lock and a corpus' own file differ.
    """
    for name, corpus in corpora.items():
        if reason := why_missing(corpus, corpora_folder / name, lock):
            return reason
    names = [name for name, corpus in corpora.items() if is_new(corpus, name, lock)]
    if not names:
        return None
    what = "its first download" if len(names) == 1 else "their first downloads"
    return f"needs {what}, which will be recorded: `mdnmt fetch {' '.join(names)}`"


def is_new(corpus: CorpusConfig, name: str, lock: Lock) -> bool:
    """Say whether the content of a corpus is unknown, because it is not pinned and was never downloaded."""
    return any(
        locked_file(name, source, lock).sha256 is None
        for source in (corpus.source, *corpus.more_sources)
        if not isinstance(source, LocalSource | ManualSource | GeneratedSource)
    )


def why_missing(corpus: CorpusConfig, folder: Path, lock: Lock = NO_LOCK) -> str | None:
    """Return why a corpus cannot be had, as one line that begins with `needs`, or None when it can.

    Args:
        corpus: its configuration.
        folder: where it is, or will be, once fetched (`resources/corpora/<corpus>`).
        lock: what earlier downloads were.
    """
    source = corpus.source
    if isinstance(source, GeneratedSource):
        return None
    if isinstance(source, LocalSource):
        try:
            local_files(Path(source.folder).expanduser(), corpus.languages, corpus.reader)
        except DataError as error:
            return f"needs the files of {corpus.title!r}: {error}"
        return None
    if isinstance(source, ManualSource):
        there = manual.path_of(source).is_file()
        return None if there else f"needs {corpus.title}: {manual.what_to_do(source)}"
    manifest = read_manifest(folder)
    for one in (source, *corpus.more_sources):
        client = lacking(one.provider)
        if client is not None and not _is_verified(locked_file(folder.name, one, lock), manifest, folder):
            return f"needs {getattr(one, 'package', one.file)}: {client}"
    return None


def _is_verified(wanted: FileSpec, manifest: dict[str, Any] | None, folder: Path) -> bool:
    rows = manifest["files"] if manifest is not None else []
    known = any(row.get("name") == wanted.name and row.get("sha256") == wanted.sha256 for row in rows)
    return known and wanted.size_bytes is not None and _has_size(folder / wanted.name, wanted.size_bytes)


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
        lost = [file.name for file in spec.corpus.files if not _has_size(where / file.name, file.size_bytes)]
        reason = f"{lost[0]} is not there, or has another size" if lost else ""
    return f"{reason} ({path.stat().st_mtime_ns})" if reason else ""


def _has_size(path: Path, size: int | None) -> bool:
    return path.is_file() and path.stat().st_size == size
