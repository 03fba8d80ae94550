"""COMET of all runs of a study in one process, where its library takes longer to import than they do to be scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mdnmt.studies.places import Places
from mdnmt.studies.study import Run, Study
from mdnmt.studies.table_specs import paper_table, table_runs


def comet_runs(study: Study) -> list[Run]:
    """Return the runs that some table of the study shows COMET of; none where COMET cannot score."""
    keys = [key for key in study.config.tables if "comet" in paper_table(study, key)[0].metrics]
    found = {} if study.no_comet else {_translated(run): run for key in keys for run in table_runs(study, key)}
    return list(found.values())


def _translated(run: Run) -> tuple[str, str, int, str]:
    """Return what tells the translations of a run from those of the others."""
    return run.task, run.directory, run.seed, run.labels


def comet_files(runs: Sequence[Run], places: Places) -> dict[str, list[str]]:
    """Return the files that COMET writes for the runs: scores, and those of the sentences."""
    scores = [places.comet(run) for run in runs]
    return {"scores": scores, "segments": [str(Path(path).with_suffix(".segments.json")) for path in scores]}


def comet_verbs(study: Study, runs: Sequence[Run], places: Places, habits: Sequence[str]) -> str:
    """Return the words of one command, a line each: `mdnmt comet` of each run, one after the other.

    Args:
        study: the study.
        runs: those to be scored.
        places: where everything stands.
        habits: options that change no result.
    """
    words = list[str]()
    for run in runs:
        most = study.decoding[run.task].max_sentences
        words += ["comet", "--task", places.task(run.task), "--hypotheses", f"{places.test(run)}/hyp"]
        words += ["--spec", study.comet.model_dump_json(), "--out", places.comet(run), *habits]
        words += [*(["--limit", str(most)] if most else []), "then"]
    return "\n".join(words[:-1])
