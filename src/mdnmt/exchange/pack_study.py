"""Pack the finished runs of a study, their tasks and exhibits into a bundle."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

from mdnmt.config.metrics import METRICS
from mdnmt.decode.likelihood import LIKELIHOOD
from mdnmt.exchange.bundle import Bundle
from mdnmt.exchange.evidence import WITH_WORDS, bundle_exhibits, bundle_tasks, withheld_corpora
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.shown_files import rule_inputs
from mdnmt.paths import RunPaths
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import NOT_TRAINED, Run, Study
from mdnmt.studies.study_exhibits import table_of


def first_missing_result(study: Study, run: Run, places: ResultPaths, analyses: Collection[str]) -> str | None:
    """Return the first result that the study needs and the run still lacks; None if it is finished."""
    folder = Path(places.run(run))
    if not RunPaths(folder).record.is_file():
        return NOT_TRAINED
    for one in translations_of(study, run):
        test = Path(places.test(one))
        for name in ("hyp/sums.json", "scores.json"):
            if not (test / name).is_file():
                return f"has no {test.name}/{name} yet (labels: {one.labels}, split: {one.split})"
    analysis = places.analysis(run)
    if analysis in analyses and not Path(analysis, "sums.json").is_file():
        return f"has no {Path(analysis).name} yet"
    return None


def _shown_files(study: Study, places: ResultPaths) -> set[Path]:
    """Return the files that the study's figures read; of an analysis, the bundle takes only these."""
    return {path for key in study.config.figures for path in figure_spec(study, key, places).inputs()}


def _tests_need_likelihoods(study: Study) -> bool:
    """Return whether a table tests a metric that resamples likelihoods of sentences: perplexity or accuracy."""
    tables = (table_of(study.config, study.papers, key) for key in study.config.tables)
    return any(METRICS[metric].needs_model for table in tables for metric in table.metrics)


def bundle_finished(study: Study, places: ResultPaths, bundle: Bundle) -> tuple[list[str], dict[str, str]]:
    """Add the study's finished runs to the bundle, and new files of runs that it has already.

    Files that no exhibit of the study reads are left out: of the analyses, and the likelihoods of references.

    Returns:
        Addresses of runs that were added or updated; and for trained but unfinished runs, address -> what is missing.
    """
    shown = _shown_files(study, places)
    analyses = set(map(str, rule_inputs(shown)))
    keep_likelihoods = _tests_need_likelihoods(study)
    finished, waiting = [], {}
    for run in study.makeable():
        missing = first_missing_result(study, run, places, analyses)
        if missing is None:
            folder, withheld = Path(places.run(run)), withheld_corpora(study.tasks[run.task])
            analysed = [path for path in folder.glob("analysis-*/*") if path.name != "sums.json"]
            left_out = {path for path in analysed if path not in shown or (withheld and path.name in WITH_WORDS)}
            left_out |= set() if keep_likelihoods else set(folder.glob(f"*/hyp/{LIKELIHOOD}"))
            finished.append((run.address, folder, {path.relative_to(folder).as_posix() for path in left_out}))
        elif missing != NOT_TRAINED and run.address not in bundle.runs:
            waiting[run.address] = missing
    return bundle.add(finished), waiting


def drop_other_runs(study: Study, bundle: Bundle) -> list[str]:
    """Remove bundled runs that a study does not have, such as those of earlier options; return a line for each."""
    others = sorted(set(bundle.runs) - {run.address for run in study.runs})
    bundle.drop(others)
    return [f"removed {address}" for address in others]


def pack_study(study: Study, results: Path, bundle: Bundle, *, runs_only: bool = False) -> list[str]:
    """Add finished runs, their tasks and the exhibits made from them.

    Args:
        study: the study with the runs and exhibits.
        results: folder of results.
        bundle: the bundle to add them to; its folder is an absolute path.
        runs_only: add no tasks and record no exhibits.

    Returns:
        One line for each run and task that was added, and one with the reason for each item that was left out.

    Raises:
        MdnmtError: a file is missing, or was altered.
    """
    added, waiting = bundle_finished(study, ResultPaths(study, results), bundle)
    lines = [f"added {name}" for name in added]
    lines += [f"not added: {name} {why}" for name, why in waiting.items()]
    if runs_only:
        return lines
    bundled = study.only(lambda run: run.address in bundle.runs)
    lines += [f"added task {name}" for name in bundle_tasks(bundled, ResultPaths(bundled, results), bundle)]
    # Specifications name files relative to the project, as in a fresh clone, where the results are in `results`.
    with contextlib.chdir(results.resolve().parent):
        left_out = bundle_exhibits(bundled, ResultPaths(bundled, Path("results")), bundle)
    return [*lines, *(f"left out: {name} {why}" for name, why in left_out.items())]
