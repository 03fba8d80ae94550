"""Decide, when the DAG is built and without a network, whether a corpus is available, or was fetched and lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.corpus_source import GeneratedSource, LocalSource, ManualSource
from mdnmt.corpora.corpus_lock import NO_LOCK, Lock, LockRow
from mdnmt.corpora.corpus_spec import FetchSpec, FileSpec, locked_file
from mdnmt.corpora.fetch_manifest import MANIFEST, read_manifest
from mdnmt.corpora.local_files import local_files
from mdnmt.corpora.providers import manual
from mdnmt.corpora.providers.package_clients import why_client_missing
from mdnmt.errors import DataError


def why_unavailable(corpora: Mapping[str, CorpusConfig], corpora_folder: Path, lock: Lock) -> str | None:
    """Return why a download alone does not help (a form, a missing file or client), as `why_missing`, or None.

    Args:
        corpora: their configurations by name.
        corpora_folder: where they are, or will be, once fetched (`resources/corpora`).
        lock: checksums of earlier downloads.

    Raises:
        ConfigError: the lock and a corpus' YAML file differ.
    """
    reasons = (why_missing(corpus, corpora_folder / name, lock) for name, corpus in corpora.items())
    return next((reason for reason in reasons if reason), None)


def first_downloads(corpora: Mapping[str, CorpusConfig], lock: Lock) -> tuple[str, ...]:
    """Return the corpora whose checksum is unknown until their first download."""
    return tuple(
        name
        for name, corpus in corpora.items()
        if any(locked_file(name, source, lock).sha256 is None for source in corpus.downloads)
    )


def needs_downloads(names: Sequence[str]) -> str | None:
    """Return the line that says that the corpora in `names` need their first download; None if there are none."""
    if not names:
        return None
    what = "its first download" if len(names) == 1 else "their first downloads"
    return f"needs {what}, which will be recorded: `mdnmt fetch {' '.join(names)}`"


def with_fetched(lock: Lock, corpora: Mapping[str, CorpusConfig], corpora_folder: Path) -> Lock:
    """Return the lock with rows added for unpinned files that only a manifest has.

    The checksum of a fetched corpus is known even if its row has been removed from the lock.
    """
    added = {}
    for name, corpus in corpora.items():
        rows = _fetched_rows(corpora_folder / name)
        unpinned = [one.file for one in corpus.downloads if one.sha256 is None]
        new = [rows[file] for file in unpinned if file in rows and lock.row(name, file) is None]
        if new:
            added[name] = (*lock.corpora.get(name, ()), *new)
    return lock.model_copy(update={"corpora": {**lock.corpora, **added}}) if added else lock


def with_placeholders(lock: Lock, corpora: Mapping[str, CorpusConfig]) -> Lock:
    """Return the lock with an impossible checksum for each file whose own is not known yet."""
    row = {"sha256": "0" * 64, "origin": "", "date": "2000-01-01"}
    added = {
        name: (
            *lock.corpora.get(name, ()),
            *(
                LockRow.model_validate({**row, "file": source.file, "size_bytes": source.size_bytes or 0})
                for source in corpus.downloads
                if locked_file(name, source, lock).sha256 is None
            ),
        )
        for name, corpus in corpora.items()
    }
    return lock.model_copy(update={"corpora": {**lock.corpora, **added}})


def _fetched_rows(folder: Path) -> dict[str, LockRow]:
    """Return a row for each file of a fetched corpus, by name; none if its manifest was edited into another form."""
    manifest = read_manifest(folder) or {"files": ()}
    try:
        return {
            row["name"]: LockRow.model_validate(
                {
                    "file": row["name"],
                    "sha256": row["sha256"],
                    "size_bytes": row["size_bytes"],
                    "origin": manifest.get("origins", {}).get(row["name"], ""),
                    "date": manifest["fetched_at"][:10],
                }
            )
            for row in manifest["files"]
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def why_missing(corpus: CorpusConfig, folder: Path, lock: Lock = NO_LOCK) -> str | None:
    """Return why a corpus is not available, as one line that begins with `needs`, or None if it is.

    Args:
        corpus: its configuration.
        folder: where it is, or will be, once fetched (`resources/corpora/<corpus>`).
        lock: checksums of earlier downloads.
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
    for one in corpus.downloads:
        client = why_client_missing(one.provider)
        if client is not None and not _is_verified(locked_file(folder.name, one, lock), manifest, folder):
            return f"needs {getattr(one, 'package', one.file)}: {client}"
    return None


def _is_verified(wanted: FileSpec, manifest: dict[str, Any] | None, folder: Path) -> bool:
    rows = manifest["files"] if manifest is not None else []
    known = any(row.get("name") == wanted.name and row.get("sha256") == wanted.sha256 for row in rows)
    return known and wanted.size_bytes is not None and _has_size(folder / wanted.name, wanted.size_bytes)


def why_lost(spec: FetchSpec, folder: Path) -> str:
    """Return why `folder` no longer matches its manifest, or "" if it does or if nothing was fetched yet.

    Only names and sizes are checked, not contents. The answer contains the manifest's time, so that Snakemake, which
    compares answers, sees the same loss after another fetch as a new one.
    """
    path = folder / MANIFEST
    if not path.exists():
        return ""
    manifest = read_manifest(folder)
    if manifest is None:
        reason = f"{MANIFEST} is damaged"
    elif manifest.get("folder") != spec.folder or [
        (row.get("name"), row.get("sha256")) for row in manifest["files"]
    ] != [(file.name, file.sha256) for file in spec.corpus.files]:
        reason = "other files were fetched"
    else:
        where = Path(spec.folder).expanduser() if spec.folder else folder
        lost = [row["name"] for row in manifest["files"] if not _has_size(where / row["name"], row.get("size_bytes"))]
        reason = f"{lost[0]} is not there, or has another size" if lost else ""
    return f"{reason} ({path.stat().st_mtime_ns})" if reason else ""


def _has_size(path: Path, size: int | None) -> bool:
    return path.is_file() and path.stat().st_size == size
