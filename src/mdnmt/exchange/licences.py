"""Which text of a task a bundle may hold: none from corpora that may not be redistributed."""

from __future__ import annotations

from mdnmt.studies.external_systems import external_of_table
from mdnmt.studies.study import Study, Task

# Files of an analysis that hold text: sample sentences, and words in the order of their first occurrence.
WITH_WORDS = frozenset({"sentences.json", "lexicon.json"})


def withheld_corpora(task: Task) -> tuple[str, ...]:
    """Return the corpora of a task whose text must not be in a bundle."""
    return tuple(
        name
        for name, corpus in sorted(task.corpora.items())
        if not corpus.redistributable and corpus.source.provider != "generated"
    )


def withheld_systems(study: Study, key: str) -> tuple[str, ...]:
    """Return the external systems of a table whose translations must not be in a bundle."""
    return tuple(name for name in external_of_table(study, key) if not study.config.external[name].redistributable)


def open_domains(task: Task) -> tuple[str, ...]:
    """Return the domains of a task whose whole text may be in a bundle."""
    withheld = set(withheld_corpora(task))
    return tuple(name for name, domain in task.config.domains.items() if withheld.isdisjoint(domain.corpora))
