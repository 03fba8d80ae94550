"""Which runs a table compares with its baseline: the input of the significance tests."""

from __future__ import annotations

from typing import Any

from mdnmt.config.metrics import METRICS
from mdnmt.exhibits.request import by_row, paper_table
from mdnmt.score.metrics.comet_files import segments_of
from mdnmt.studies.external_systems import external_of_table
from mdnmt.studies.label_conditions import runs_with_labels
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import ExternalOutput, Run, Study
from mdnmt.studies.study_exhibits import baseline_of


def table_runs(study: Study, key: str) -> list[Run]:
    """Return the makeable runs whose test translations a table compares: its systems and their baseline."""
    table, task = paper_table(study, key)
    if table.kind in ("corpora", "notation") or table.split != "test":
        return []
    tested = [row for row in table.rows if not row.own_domain]
    names = {name for row in tested for name in row.methods} | {baseline_of(study.config, table)}
    gold_runs = [run for run in study.makeable(task.name) if run.method in names]
    row_runs = (run for row in tested for name in row.methods for run in runs_with_labels(study, task, row, name))
    return gold_runs + [run for run in row_runs if run.labels != "given" and run.spec is not None]


def compared_runs(study: Study, key: str) -> dict[str, list[Run]]:
    """Return row -> runs of the rows that are compared with the baseline, for seeds that the baseline also has."""
    rows = by_row(table_runs(study, key))
    seeds = {run.seed for run in rows.get(baseline_of(study.config, paper_table(study, key)[0]), ())}
    paired = {row: [run for run in runs if run.seed in seeds] for row, runs in rows.items()}
    return {row: runs for row, runs in paired.items() if runs}


def is_tested(study: Study, key: str) -> bool:
    """Return whether the rows of a table of scores are tested against its baseline.

    Systems under other labels are not: each is compared with itself under gold labels.
    """
    table, task = paper_table(study, key)
    given = all(labels == "given" for row in table.rows for labels in row.labels)
    scored = table.kind == "scores" and table.split == "test"
    has_quality = any(METRICS[name].is_quality for name in table.metrics)
    return task.spec is not None and scored and given and has_quality and bool(compared_runs(study, key))


def comparison(study: Study, key: str, places: ResultPaths) -> dict[str, Any]:
    """Return the spec of a table's significance tests: its systems, its baseline, the folders of hypotheses."""
    table, task = paper_table(study, key)
    rows, settings = compared_runs(study, key), study.config.comparison
    baseline = baseline_of(study.config, table)
    external, segments = _external(study, key, places, sorted(run.seed for run in rows.get(baseline, ())))
    has_comet = "comet" in table.metrics and not study.no_comet
    return {
        "task": places.task(task.name),
        "baseline": baseline,
        "limit": study.decoding[task.name].max_sentences,
        "metrics": [name for name in table.metrics if METRICS[name].is_quality and (name != "comet" or has_comet)],
        "num_resamples": settings.num_resamples,
        "num_trials": settings.num_trials,
        "correction": settings.correction,
        "systems": {
            **{row: {str(run.seed): f"{places.test(run)}/hyp" for run in runs} for row, runs in rows.items()},
            **external,
        },
        "comet": {
            **{row: {str(run.seed): str(segments_of(places.comet(run))) for run in runs} for row, runs in rows.items()},
            **segments,
        }
        if has_comet
        else {},
    }


def external_comet(study: Study, output: ExternalOutput, places: ResultPaths) -> str:
    """Return the file with the COMET scores of an external system's translations."""
    return f"{places.external(output)}/comet-{study.comet_fingerprint}.json"


def _external(
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
