"""What each run translates: held-out text of both splits, with right and with other labels of the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mdnmt.config.decoding import LABELS, Labels
from mdnmt.config.paper import PaperTable, TableRow
from mdnmt.paper.specs import ScoreRow
from mdnmt.studies.places import Places
from mdnmt.studies.shown import table_of
from mdnmt.studies.study import Run, Study, Task

NO_TEXT = "the task's text is taken apart by codes of its domain, which must be told"


def told_runs(study: Study, task: Task, row: TableRow, method: str) -> list[Run]:
    """Return the runs of one method of a row: all that are told the same, then all that are told the next."""
    return [_told(run, labels, task) for labels in row.labels for run in study.runs_of(task.name, method)]


def translated_as(study: Study, run: Run) -> list[Run]:
    """Return the run once for each of its translations: of the test sets with right labels, then what tables ask for.

    These are other labels, and the validation sets.
    """
    found = {(run.row, run.split): run}
    for key, shown in study.config.tables.items():
        if shown.task != run.task:
            continue
        table = table_of(study.config, study.papers, key)
        rows = [row for row in table.rows if run.method in row.methods]
        more = [_told(run, labels, study.tasks[run.task]) for row in rows for labels in row.labels]
        if rows and needs_validation(table):
            more.append(run.on("valid"))
        found |= {(one.row, one.split): one for one in more if one.spec is not None}
    return list(found.values())


def needs_validation(table: PaperTable) -> bool:
    """Say whether a table shows scores of validation text."""
    return table.development or table.split == "valid"


def told_tasks(study: Study) -> list[str]:
    """Return the tasks of tables that show some system told each of the things that there are to tell."""
    shown = study.config.tables
    every = [
        shown[key].task
        for key in shown
        if any(row.labels == LABELS for row in table_of(study.config, study.papers, key).rows)
    ]
    return [name for name in dict.fromkeys(every) if study.tasks[name].config.segmentation.bpe != "domain"]


def told_verbs(
    study: Study, run: Run, places: Places, hypotheses: Sequence[str], scores: Sequence[str], habits: Sequence[str]
) -> list[str]:
    """Return the words of one command: translate and score with a run told all but the truth, one after the other.

    Args:
        study: the study.
        run: the run, told the truth.
        places: where everything stands.
        hypotheses: the folder of each of the translations.
        scores: the file of each.
        habits: options of `mdnmt decode` that change no result.
    """
    data, words = places.task(run.task), list[str]()
    for labels, folder, file in zip(LABELS[1:], hypotheses, scores, strict=True):
        spec = study.decoding_of(run.told(labels)).model_dump_json()
        words += ["decode", "--run", places.run(run), "--task", data, "--out", folder, "--spec", spec, *habits]
        words += ["--predicted", places.labels(run.task), "then"]
        words += ["score", "--task", data, "--hypotheses", folder, *study.limit_of(run.task), "--out", file, "then"]
    return words[:-1]


def named(found: ScoreRow, row: TableRow, run: Run) -> ScoreRow:
    """Return the row of one system with what it is told in its name, and the row that it is held against."""
    if row.labels == ("given",):
        return found
    changes: dict[str, Any] = {"label": f"{found.label}, label {run.labels}", "against": run.directory}
    return found.model_copy(update=changes)


def _told(run: Run, labels: Labels, task: Task) -> Run:
    told = run.told(labels)
    if labels == "missing" and task.config.segmentation.bpe == "domain":
        return replace(told, spec=None, missing=told.missing or NO_TEXT)
    return told


def whole_tests(study: Study) -> dict[str, str]:
    """Return labels -> hash of the translations' folder, where runs are made in one job: all are translated alike."""
    return {
        labels: next((study.decode_fingerprint(run.told(labels)) for run in study.runs), "none") for labels in LABELS
    }
