"""The translations of each run: both held-out splits, with gold, wrong, missing and predicted domain labels."""

from __future__ import annotations

from dataclasses import replace

from mdnmt.config.decoding import Labels
from mdnmt.config.paper import PaperTable, TableRow
from mdnmt.studies.study import Run, Study, Task
from mdnmt.studies.study_exhibits import table_of

NO_TEXT = "the task's text is segmented with the BPE codes of its domain, so the label must be known"


def runs_with_labels(study: Study, task: Task, row: TableRow, method: str) -> list[Run]:
    """Return the runs of one method of a row, for each label condition in turn."""
    return [_with_labels(run, labels, task) for labels in row.labels for run in study.runs_of(task.name, method)]


def translations_of(study: Study, run: Run) -> list[Run]:
    """Return the run once for each of its translations.

    The test sets with gold labels come first, then what tables need as well: other label conditions, validation sets.
    """
    asked = study.once(("translations", run.task, run.method), lambda: _asked(study, run.task, run.method))
    task = study.tasks[run.task]
    more = [run.on("valid") if labels is None else _with_labels(run, labels, task) for labels in asked]
    found = {(one.row, one.split): one for one in (run, *(one for one in more if one.spec is not None))}
    return list(found.values())


def _asked(study: Study, task: str, method: str) -> list[Labels | None]:
    """Return the label conditions of test text that tables of a task show for a method; None: validation text."""
    asked: list[Labels | None] = []
    for key, shown in study.config.tables.items():
        if shown.task == task:
            table = table_of(study.config, study.papers, key)
            rows = [row for row in table.rows if method in row.methods]
            asked += [labels for row in rows for labels in row.labels]
            asked += [None] if rows and needs_validation(table) else []
    return list(dict.fromkeys(asked))


def needs_validation(table: PaperTable) -> bool:
    """Say whether a table shows scores of validation text."""
    return table.development or table.split == "valid"


def _with_labels(run: Run, labels: Labels, task: Task) -> Run:
    found = run.with_labels(labels)
    if labels == "missing" and task.config.segmentation.bpe == "domain":
        return replace(found, missing=found.missing or NO_TEXT)
    return found
