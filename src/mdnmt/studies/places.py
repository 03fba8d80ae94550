"""Where the results of a study stand: given by the workflow, whose rules write the same patterns out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mdnmt.studies.study import Run


@dataclass(frozen=True)
class Places:
    """Paths of what tables, figures and report are made of.

    Attributes:
        task: of a task's name.
        run: of a run.
        test: of a run's hypotheses and scores.
        copied: of the copied sources of a task and their scores.
        analysis: of a run's analyses.
        significance: of a task's comparisons.
        measure: of a task's resources.
        table: (id, kind of file).
        figure: (id, kind of file).
        runs_table: runs.tsv.
    """

    task: Callable[[str], str]
    run: Callable[[Run], str]
    test: Callable[[Run], str]
    copied: Callable[[str], str]
    analysis: Callable[[Run], str]
    significance: Callable[[str], str]
    measure: Callable[[str], str]
    table: Callable[[str, str], str]
    figure: Callable[[str, str], str]
    runs_table: str
