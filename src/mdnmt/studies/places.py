"""Where the results of a study stand: given by the workflow, whose rules write the same patterns out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mdnmt.studies.study import Run


def nowhere(paper: str) -> str | None:
    """Return no path: nothing of this kind is made of any paper."""
    return None


@dataclass(frozen=True)
class Places:
    """Paths of what tables, figures and report are made of.

    Attributes:
        task: of a task's name.
        run: of a run.
        test: of a run's hypotheses and scores, with what it is told of the domain and the split that it translates.
        comet: of a run's scores by COMET.
        labels: of the domains that a classifier guesses for the test sentences of a task.
        copied: of the copied sources of a task and their scores.
        analysis: of a run's analyses.
        ambiguity: of the ambiguous words of a task.
        significance: of the comparisons of a table.
        measure: of a task's resources.
        table: (id, kind of file).
        figure: (id, kind of file).
        runs_table: runs.tsv.
        claims: of the verdicts on a paper's claims; None where none are written down.
        audit: of the audit of a paper; None where nothing of it is audited.
    """

    task: Callable[[str], str]
    run: Callable[[Run], str]
    test: Callable[[Run], str]
    comet: Callable[[Run], str]
    labels: Callable[[str], str]
    copied: Callable[[str], str]
    analysis: Callable[[Run], str]
    ambiguity: Callable[[str], str]
    significance: Callable[[str], str]
    measure: Callable[[str], str]
    table: Callable[[str, str], str]
    figure: Callable[[str, str], str]
    runs_table: str
    claims: Callable[[str], str | None] = nowhere
    audit: Callable[[str], str | None] = nowhere
