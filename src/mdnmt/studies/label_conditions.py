"""The translations of each run: both held-out splits, with gold, wrong, missing and predicted domain labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mdnmt.config.decoding import LABELS, Labels
from mdnmt.config.paper import PaperTable, TableRow
from mdnmt.studies.result_paths import ResultPaths
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
    found = {(run.row, run.split): run}
    for key, shown in study.config.tables.items():
        if shown.task != run.task:
            continue
        table = table_of(study.config, study.papers, key)
        rows = [row for row in table.rows if run.method in row.methods]
        more = [_with_labels(run, labels, study.tasks[run.task]) for row in rows for labels in row.labels]
        if rows and needs_validation(table):
            more.append(run.on("valid"))
        found |= {(one.row, one.split): one for one in more if one.spec is not None}
    return list(found.values())


def needs_validation(table: PaperTable) -> bool:
    """Say whether a table shows scores of validation text."""
    return table.development or table.split == "valid"


def tasks_with_all_labels(study: Study) -> list[str]:
    """Return the tasks of tables that show a system under all label conditions, except tasks with BPE per domain."""
    shown = study.config.tables
    every = [
        shown[key].task
        for key in shown
        if any(row.labels == LABELS for row in table_of(study.config, study.papers, key).rows)
    ]
    return [name for name in dict.fromkeys(every) if study.tasks[name].config.segmentation.bpe != "domain"]


def label_condition_verbs(
    study: Study,
    run: Run,
    places: ResultPaths,
    hypotheses: Sequence[str],
    scores: Sequence[str],
    runtime_options: Sequence[str],
) -> list[str]:
    """Return the arguments of one `mdnmt` command that translates and scores under all conditions except gold labels.

    Args:
        study: the study.
        run: the run, with gold labels.
        places: the paths.
        hypotheses: the folder of each translation.
        scores: the file of each.
        runtime_options: options of `mdnmt decode` that change no result.
    """
    data, words = places.task(run.task), list[str]()
    for labels, folder, file in zip(LABELS[1:], hypotheses, scores, strict=True):
        spec = study.decoding_of(run.with_labels(labels)).model_dump_json()
        words += ["decode", "--run", places.run(run), "--task", data, "--out", folder, "--spec", spec, *runtime_options]
        words += ["--predicted", places.labels(run.task), "then"]
        words += ["score", "--task", data, "--hypotheses", folder, *study.limit_of(run.task), "--out", file, "then"]
    return words[:-1]


def _with_labels(run: Run, labels: Labels, task: Task) -> Run:
    found = run.with_labels(labels)
    if labels == "missing" and task.config.segmentation.bpe == "domain":
        return replace(found, spec=None, missing=found.missing or NO_TEXT)
    return found


def translation_fingerprints(study: Study) -> dict[str, str]:
    """Return label condition -> hash in the folder name of translations, for studies whose runs all decode alike."""
    return {
        labels: next((study.decode_fingerprint(run.with_labels(labels)) for run in study.runs), "none")
        for labels in LABELS
    }
