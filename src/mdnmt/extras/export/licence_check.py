"""Check whether the licences of a run's corpora allow its model to be passed on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.task import load_task
from mdnmt.corpora.task_corpora import corpora_of
from mdnmt.errors import ConfigError


@dataclass(frozen=True)
class TrainingCorpus:
    """A corpus that a run was trained on, and the domains built from it."""

    name: str
    config: CorpusConfig
    domains: tuple[str, ...]


def training_corpora(record: dict[str, Any], config_folder: Path) -> list[TrainingCorpus]:
    """Return the corpora of a run's domains, read from the task's file, because the run's record names only its task.

    The corpora of an imported model are not known; none are returned. As with their own text, users decide whether to
    pass it on.

    Raises:
        ConfigError: the task's file is missing, or no longer has a domain of the run; or a corpus may not be
            redistributed.
    """
    if "imported" in record:
        return []
    name = str(record.get("task", ""))
    task = load_task(config_folder, name)
    if unknown := [domain for domain in record["domains"] if domain not in task.domains]:
        raise ConfigError(
            f"{config_folder}/tasks/{name}.yaml: has no domain {unknown[0]!r}, which the run was trained on, so the "
            "licences of its text are not known; use the configuration that the run was trained with"
        )
    found = [
        TrainingCorpus(
            corpus, config, tuple(domain for domain in record["domains"] if corpus in task.domains[domain].corpora)
        )
        for corpus, config in corpora_of(config_folder, task).items()
    ]
    found = [corpus for corpus in found if corpus.domains]
    for corpus in found:
        # Generated text has no owner, and users decide about their own text, which the task's file names directly.
        is_own = any(task.domains[domain].is_own for domain in corpus.domains)
        if not (corpus.config.redistributable or corpus.config.source.provider == "generated" or is_own):
            raise ConfigError(
                f"the run was trained on the corpus {corpus.name} (domain {', '.join(corpus.domains)}; licence: "
                f"{corpus.config.licence or 'not stated'}), which is not marked `redistributable: true`; export a run "
                f"without it, or set that in {config_folder}/corpora/{corpus.name}.yaml if its licence allows it"
            )
    return found
