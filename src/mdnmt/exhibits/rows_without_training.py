"""Rows of score tables that need no training: the copied source, and external systems."""

from __future__ import annotations

from mdnmt.config.metrics import METRICS
from mdnmt.config.paper import PaperTable
from mdnmt.escape import one_line
from mdnmt.exhibits import specs
from mdnmt.exhibits.task_selection import NOT_YET, existing
from mdnmt.score.metrics.comet_files import segments_of
from mdnmt.studies.external_systems import external_of_table
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import COPY, ExternalOutput, Study, Task

EXTERNAL_GROUP = "External systems"


def copy_row(study: Study, task: Task, places: ResultPaths, partial: bool) -> list[specs.ScoreRow]:
    """Return the row of the copied source, if the study wants it."""
    if not study.config.copy_source:
        return []
    scores = existing(f"{places.copied(task.name)}/scores.json", partial) if task.spec is not None else None
    runs = (specs.ScoreRun(scores=scores),) if scores else ()
    missing = None if runs else task.missing or NOT_YET
    return [specs.ScoreRow(group="No training", label="Copy the source", method=COPY, runs=runs, missing=missing)]


def external_rows(
    study: Study, key: str, table: PaperTable, task: Task, places: ResultPaths, partial: bool
) -> list[specs.ScoreRow]:
    """Return the rows of the external systems of a table."""
    rows = []
    for system, outputs in external_of_table(study, key).items():
        found = [_run(study, table, one, places, partial) for one in outputs if task.spec is not None]
        runs = tuple(run for run in found if run is not None)
        rows.append(
            specs.ScoreRow(
                group=EXTERNAL_GROUP,
                label=outputs[0].label,
                method=system,
                external=one_line(outputs[0].config.provenance),
                runs=runs,
                missing=None if runs else task.missing or NOT_YET,
            )
        )
    return rows


def _run(
    study: Study, table: PaperTable, output: ExternalOutput, places: ResultPaths, partial: bool
) -> specs.ScoreRun | None:
    folder = places.external(output)
    scores = existing(f"{folder}/scores.json", partial)
    others = files_beside(study, table, folder, external_comet(study, output, places))
    there = tuple(path for file in others if (path := existing(file, partial)))
    return specs.ScoreRun(scores=scores, seed=output.number, others=there) if scores else None


def files_beside(study: Study, table: PaperTable, folder: str, comet: str) -> list[str]:
    """Return the files with the scores that a table shows but scores.json lacks.

    Args:
        study: the study.
        table: the table.
        folder: where translations and scores are.
        comet: the file with their COMET scores.
    """
    names = [name for name in table.metrics if METRICS[name].file != "scores.json"]
    return [
        comet if name == "comet" else f"{folder}/{METRICS[name].file}"
        for name in names
        if name != "comet" or not study.no_comet
    ]


def external_comet(study: Study, output: ExternalOutput, places: ResultPaths) -> str:
    """Return the file with the COMET scores of an external system's translations."""
    return f"{places.external(output)}/comet-{study.comet_fingerprint}.json"


def external_tests(
    study: Study, key: str, places: ResultPaths, seeds: list[int]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return system -> seed -> folder of hypotheses, and the same for COMET's sentence scores.

    The outputs of a system are paired, in order, with the baseline's runs of these seeds.
    """
    pairs = {name: list(zip(seeds, of, strict=False)) for name, of in external_of_table(study, key).items()}
    hypotheses = {name: {str(k): f"{places.external(one)}/hyp" for k, one in of} for name, of in pairs.items()}
    segments = {
        name: {str(k): str(segments_of(external_comet(study, one, places))) for k, one in of}
        for name, of in pairs.items()
    }
    return hypotheses, segments
