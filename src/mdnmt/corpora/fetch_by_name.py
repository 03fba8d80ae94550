"""Fetch corpora by name; the first download of a file without a checksum pins its checksum in the lock."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.corpus_source import GeneratedSource, LocalSource
from mdnmt.config.study import load_study
from mdnmt.config.task import load_task
from mdnmt.corpora.availability import why_missing
from mdnmt.corpora.corpus_lock import LockRow, add_rows, differences_from_known, read_lock
from mdnmt.corpora.corpus_spec import FetchSpec, fetch_spec
from mdnmt.corpora.fetch import Download, Record, fetch
from mdnmt.corpora.task_corpora import corpora_of
from mdnmt.errors import FetchError

Say = Callable[[str], None]


def fetch_by_name(
    config_folder: Path,
    name: str,
    corpora_folder: Path,
    download: Download | None = None,
    corpus: CorpusConfig | None = None,
    say: Say = lambda line: None,
) -> dict[str, LockRow]:
    """Fetch a corpus, compare it with pin and lock, and lock new files; return a row for each of its files.

    Args:
        config_folder: the project's config/, with the lock.
        name: name of the corpus.
        corpora_folder: folder of the corpora.
        download: replaces the network in tests.
        corpus: its configuration; None: the file of this name in config/corpora/.
        say: called with a line for each file that differs from that of the project's own results.

    Raises:
        ConfigError: there is no such corpus, or its file or the lock is invalid.
        FetchError: it is not available, or differs from pin or lock.
        DataError: a user's own file is malformed.
    """
    corpus = corpus or load_corpus(config_folder, name)
    lock, target = read_lock(config_folder), corpora_folder / name
    reason = why_missing(corpus, target, lock)
    if reason is not None:
        raise FetchError(reason)
    spec = fetch_spec(name, corpus, corpora_folder / "sha256.json", lock)
    unpinned = [source for source in spec.sources if not isinstance(source, LocalSource | GeneratedSource)]
    new = {one.file for one in unpinned if one.sha256 is None and lock.row(name, one.file) is None}
    return fetch(spec, target, download, recorder(config_folder, name, new, say))


def recorder(config_folder: Path, name: str, files: Collection[str], say: Say) -> Record:
    """Return a function that locks some files of a corpus as they were downloaded.

    Args:
        config_folder: the project's config/, with the locks.
        name: name of the corpus.
        files: those without a pin and without a row in the lock.
        say: called with a line for each file that differs from that of the project's own results.
    """

    def record(rows: dict[str, LockRow]) -> None:
        new = {file: row for file, row in rows.items() if file in files}
        for line in differences_from_known(read_lock(config_folder), name, new):
            say(line)
        add_rows(config_folder, name, new)

    return record


def new_files(spec: FetchSpec) -> set[str]:
    """Return the files whose checksum is not known before their first download."""
    return {file.name for file in spec.corpus.files if file.sha256 is None}


def corpora_of_study(config_folder: Path, study: str) -> dict[str, CorpusConfig]:
    """Return the corpora of all tasks of a study by name.

    Raises:
        ConfigError: there is no such study, or its file or a task's is invalid.
    """
    corpora: dict[str, CorpusConfig] = {}
    for task in load_study(config_folder, study).tasks:
        corpora.update(corpora_of(config_folder, load_task(config_folder, task)))
    return corpora
