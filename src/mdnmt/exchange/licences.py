"""What of a task's text a bundle may hold: nothing of corpora whose licence does not let anybody pass them on."""

from __future__ import annotations

from mdnmt.studies.external_systems import external_of_table
from mdnmt.studies.study import Study, Task

# Files of an analysis that hold words of the text: sample sentences, and words in the order in which they were read.
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
    """Return the domains of a task all of whose text may be in a bundle."""
    withheld = set(withheld_corpora(task))
    return tuple(name for name, domain in task.config.domains.items() if withheld.isdisjoint(domain.corpora))
