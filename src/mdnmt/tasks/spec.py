"""A task as `mdnmt task` needs it: only what changes its data, plus the names that its files carry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.corpus import CorpusConfig, Language
from mdnmt.config.task import (
    CleaningConfig,
    Count,
    Name,
    SegmentationConfig,
    SplitConfig,
    TaskConfig,
    VocabularyConfig,
)
from mdnmt.corpora.local import HashCache
from mdnmt.corpora.spec import CorpusSpec, corpus_spec
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import fingerprint


class DomainSpec(Frozen):
    """A domain: its corpora and how many pairs are asked for."""

    name: Name
    corpora: tuple[CorpusSpec, ...] = Field(min_length=1)
    train: Count | None
    valid: Count | None
    test: Count | None


class TaskSpec(Frozen):
    """A task; its JSON (`.model_dump_json()`) travels on the command line."""

    name: Name
    source_lang: Language
    target_lang: Language
    # A list, not a mapping: the order of the domains is the order of their labels, and a fingerprint must see it.
    domains: tuple[DomainSpec, ...] = Field(min_length=1)
    cleaning: CleaningConfig
    split: SplitConfig
    segmentation: SegmentationConfig
    vocabulary: VocabularyConfig

    @property
    def fingerprint(self) -> str:
        """Return the 8 digits that name this task's data; names of task and corpora do not enter it."""
        return fingerprint("task", self.identity())

    def identity(self) -> dict[str, Any]:
        """Return everything that changes the data, and nothing else."""
        value: dict[str, Any] = self.model_dump(mode="json", exclude={"name", "domains"})
        value["domains"] = [
            {
                **domain.model_dump(mode="json", exclude={"corpora"}),
                "corpora": [corpus.identity() for corpus in domain.corpora],
            }
            for domain in self.domains
        ]
        return value


def task_spec(task_name: str, task: TaskConfig, corpora: Mapping[str, CorpusConfig], hash_cache: Path) -> TaskSpec:
    """Return the spec of a task.

    Args:
        task_name: its name.
        task: its configuration.
        corpora: the configuration of (at least) each corpus that the task names.
        hash_cache: JSON file in which checksums of local files are remembered.

    Raises:
        ConfigError: a corpus is not given, or does not have the task's languages.
        DataError: a local corpus' files are missing or unreadable.
    """
    cache = HashCache(hash_cache)
    domains = []
    for domain_name, domain in task.domains.items():
        specs = []
        for name in domain.corpora:
            corpus = corpora.get(name)
            if corpus is None:
                raise ConfigError(f"task {task_name!r}, domain {domain_name!r}: no corpus {name!r} is configured")
            for lang in (task.source_lang, task.target_lang):
                if lang not in corpus.languages:
                    there = ", ".join(corpus.languages)
                    raise ConfigError(
                        f"task {task_name!r}, domain {domain_name!r}: corpus {name!r} has no {lang!r}; it has {there}"
                    )
            specs.append(_needed(corpus_spec(name, corpus, cache), task))
        domains.append(
            DomainSpec(name=domain_name, corpora=tuple(specs), train=domain.train, valid=domain.valid, test=domain.test)
        )
    cache.save()
    return TaskSpec(
        name=task_name,
        source_lang=task.source_lang,
        target_lang=task.target_lang,
        domains=tuple(domains),
        cleaning=task.cleaning,
        split=task.split,
        segmentation=task.segmentation,
        vocabulary=task.vocabulary,
    )


def _needed(spec: CorpusSpec, task: TaskConfig) -> CorpusSpec:
    """Leave out a local corpus' files of other languages: a change in them changes nothing here."""
    if len(spec.files) == 1:
        return spec
    ends = tuple(f".{lang}{end}" for lang in (task.source_lang, task.target_lang) for end in ("", ".gz"))
    return spec.model_copy(update={"files": tuple(file for file in spec.files if file.name.endswith(ends))})
