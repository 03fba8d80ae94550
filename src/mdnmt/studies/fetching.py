"""Which corpora of a study are fetched, and what `mdnmt fetch` needs to know of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.availability import with_fetched
from mdnmt.corpora.lock import read_lock
from mdnmt.corpora.spec import FetchSpec, fetch_spec
from mdnmt.studies.study import Study


def to_fetch(study: Study, corpora: Path, is_made: Callable[[str], bool]) -> set[str]:
    """Return the corpora with something to fetch.

    The rule must not be there for the others: a moved folder would start it, and what lies behind a job that starts is
    not looked at by Snakemake unless a file without ancient() leads there.

    Args:
        study: the study.
        corpora: the folder in which each fetched corpus has one of its own.
        is_made: says whether a task's data are there.
    """
    return {
        corpus
        for name, task in study.tasks.items()
        for corpus in task.corpora
        if not (is_made(name) and (corpora / corpus / "corpus.json").exists())
    }


def spec_to_fetch(study: Study, name: str, config: Path, corpora: Path) -> FetchSpec:
    """Return what `mdnmt fetch` needs to know of a corpus of the study."""
    corpus = _corpus(study, name)
    return fetch_spec(name, corpus, corpora / "sha256.json", with_fetched(read_lock(config), {name: corpus}, corpora))


def declared_corpus(study: Study, name: str) -> str:
    """Return the configuration of a corpus as JSON, without what locks know of it.

    It is what decides whether a corpus is fetched again: a checksum that its first download recorded must not.
    """
    return _corpus(study, name).model_dump_json()


def _corpus(study: Study, name: str) -> CorpusConfig:
    return next(task.corpora[name] for task in study.tasks.values() if name in task.corpora)
