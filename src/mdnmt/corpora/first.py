"""Fetch corpora by name: what nobody pinned is locked as it comes first."""

from __future__ import annotations

from pathlib import Path

from mdnmt.config.corpus import load_corpus
from mdnmt.config.corpus_source import GeneratedSource, LocalSource
from mdnmt.config.study import load_study
from mdnmt.config.task import load_task
from mdnmt.corpora.availability import why_missing
from mdnmt.corpora.fetch import Download, fetch
from mdnmt.corpora.lock import LockRow, add_rows, read_lock
from mdnmt.corpora.spec import fetch_spec
from mdnmt.errors import FetchError


def fetch_by_name(
    config_folder: Path, name: str, corpora_folder: Path, download: Download | None = None
) -> dict[str, LockRow]:
    """Fetch a corpus, hold it against pin and lock, and lock what is new; return what each of its files is.

    Args:
        config_folder: the project's config/, in which the lock stands.
        name: of the corpus.
        corpora_folder: where corpora stand.
        download: stands in for the network in tests.

    Raises:
        ConfigError: there is no such corpus, or a mistake is in its file or in the lock.
        FetchError: it cannot be had, or is not what it was.
        DataError: a file of the user's is not what it should be.
    """
    corpus, lock, target = load_corpus(config_folder, name), read_lock(config_folder), corpora_folder / name
    reason = why_missing(corpus, target, lock)
    if reason is not None:
        raise FetchError(reason)
    spec = fetch_spec(name, corpus, corpora_folder / "sha256.json", lock)
    rows = fetch(spec, target, download)
    unpinned = [source for source in spec.sources if not isinstance(source, LocalSource | GeneratedSource)]
    add_rows(config_folder, name, {one.file: rows[one.file] for one in unpinned if one.sha256 is None})
    return rows


def corpora_of_study(config_folder: Path, study: str) -> list[str]:
    """Return the names of the corpora of all tasks of a study.

    Raises:
        ConfigError: there is no such study, or a mistake is in its file or in a task's.
    """
    tasks = [load_task(config_folder, task) for task in load_study(config_folder, study).tasks]
    names = [corpus for task in tasks for domain in task.domains.values() for corpus in domain.corpora]
    return list(dict.fromkeys(names))
