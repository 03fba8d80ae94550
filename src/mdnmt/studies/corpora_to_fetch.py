"""Find the corpora of a study that must be downloaded, and make the specification of each for `mdnmt fetch`.

The address of a task is a hash of its corpora's checksums, and the addresses of its runs depend on it. If a checksum is
not pinned, the workflow can plan the task only after the first download. Snakemake's checkpoints do that: the input
functions below raise the exception of a pending checkpoint, and are called again when the checksums are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mdnmt.corpora.availability import with_fetched
from mdnmt.corpora.corpus_lock import read_lock
from mdnmt.corpora.corpus_spec import FetchSpec, fetch_spec
from mdnmt.studies.study import Study


def to_fetch(study: Study, corpora: Path, is_made: Callable[[str], bool]) -> set[str]:
    """Return the corpora that have files to download.

    The fetch rule must not exist for the others: a moved folder would start it, and Snakemake rechecks what depends on
    such a job only along inputs without ancient().

    Args:
        study: the study.
        corpora: the folder with a subfolder for each fetched corpus.
        is_made: whether the data of a task, by name, exist.
    """
    return {
        corpus
        for name, task in study.tasks.items()
        for corpus in task.corpora
        if not (is_made(name) and (corpora / corpus / "corpus.json").exists())
    }


def spec_to_fetch(study: Study, name: str, config: Path, corpora: Path) -> FetchSpec:
    """Return what `mdnmt fetch` needs to know about a corpus of the study."""
    corpus = study.corpus(name)
    return fetch_spec(name, corpus, corpora / "sha256.json", with_fetched(read_lock(config), {name: corpus}, corpora))


InputFunction = Callable[[Any], Any]


class FirstDownloads:
    """The pending tasks of a study, and input functions that wait for them."""

    def __init__(
        self, study: Study, *, allowed: bool, resolve_again: Callable[[], Study], warn: Callable[[str], object]
    ) -> None:
        """Find the pending tasks.

        Args:
            study: the study; it is replaced in place once downloads are recorded.
            allowed: `first_downloads` of the project's configuration.
            resolve_again: returns the study with the checksums that are recorded by then.
            warn: receives a line for each task that cannot be made after all.
        """
        self._study, self._resolve_again, self._warn = study, resolve_again, warn
        self.pending = {
            name: task.first_downloads
            for name, task in study.tasks.items()
            if allowed and task.first_downloads and task.spec is None
        }

    def after(
        self, wait: Callable[[str], object], tasks: Callable[[Any], Iterable[str]], inputs: InputFunction
    ) -> InputFunction:
        """Return an input function that waits until the corpora of some tasks are recorded.

        Args:
            wait: raises an exception while the corpora of a task are not recorded.
            tasks: returns the names of the tasks for a job's wildcards.
            inputs: the input function that needs the tasks' addresses.
        """

        def function(wildcards: Any) -> Any:
            pending = [name for name in tasks(wildcards) if name in self.pending]
            for name in pending:
                wait(name)
            if any(self._study.tasks[name].first_downloads for name in pending):
                self._replace(pending)
            return inputs(wildcards)

        return function

    def _replace(self, pending: list[str]) -> None:
        self._study.replace_by(self._resolve_again())
        for name in pending:
            if missing := self._study.tasks[name].missing:
                self._warn(f"task {name} is left out: it {missing}")
