"""COMET of all runs of a study in one process, where its library takes longer to import than they do to be scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdnmt.studies.places import Places
from mdnmt.studies.study import Run, Study
from mdnmt.studies.table_specs import paper_table, table_runs


def comet_runs(study: Study, places: Places) -> dict[str, Run]:
    """Return file of scores -> run, for all COMET that the study's tables show; nothing where COMET cannot score."""
    keys = [key for key in study.config.tables if "comet" in paper_table(study, key)[0].metrics]
    return {} if study.no_comet else {places.comet(run): run for key in keys for run in table_runs(study, key)}


def comet_verbs(study: Study, runs: Mapping[str, Run], places: Places, habits: Sequence[str]) -> str:
    """Return the words of one command, a line each: `mdnmt comet` of each run, one after the other.

    Args:
        study: the study.
        runs: file of scores -> run.
        places: where everything stands.
        habits: options that change no result.
    """
    words = list[str]()
    for scores, run in runs.items():
        words += ["comet", "--task", places.task(run.task), "--hypotheses", f"{places.test(run)}/hyp", "--out", scores]
        words += ["--spec", study.comet.model_dump_json(), *study.limit_of(run.task), *habits, "then"]
    return "\n".join(words[:-1])
