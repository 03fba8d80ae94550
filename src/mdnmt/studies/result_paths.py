"""Where the results of a study are. The rules name their outputs by the same patterns, with wildcards."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mdnmt.studies.study import ExternalOutput, Run, Study
from mdnmt.tasks.task_spec import STAGES


def no_path(paper: str) -> str | None:
    """Return None: nothing of this kind is made for any paper."""
    return None


@dataclass(frozen=True)
class ResultPaths:
    """Paths of a study's results; each function returns one path.

    Attributes:
        task: of a task's folder, by the task's name.
        stage: of the manifest of an earlier stage of a task's data, by the stage and the task's name.
        run: of a run's folder.
        test: of a run's hypotheses and scores, for its label condition and split.
        comet: of a run's scores by COMET.
        labels: of the domains that a classifier predicts for the test sentences of a task.
        copied: of the copied sources of a task and their scores.
        external: of translations from elsewhere and their scores.
        analysis: of a run's analyses.
        ambiguity: of the ambiguous words of a task.
        significance: of the comparisons of a table.
        measure: of a task's resources.
        table: of a table, from its id and the kind of file.
        figure: of a figure, from its id and the kind of file.
        runs_table: runs.tsv.
        claims: of the verdicts on a paper's claims; None if it has none.
        audit: of the audit of a paper; None if it is not audited.
    """

    task: Callable[[str], str]
    stage: Callable[[str, str], str]
    run: Callable[[Run], str]
    test: Callable[[Run], str]
    comet: Callable[[Run], str]
    labels: Callable[[str], str]
    copied: Callable[[str], str]
    external: Callable[[ExternalOutput], str]
    analysis: Callable[[Run], str]
    ambiguity: Callable[[str], str]
    significance: Callable[[str], str]
    measure: Callable[[str], str]
    table: Callable[[str, str], str]
    figure: Callable[[str, str], str]
    runs_table: str
    claims: Callable[[str], str | None] = no_path
    audit: Callable[[str], str | None] = no_path


def result_paths(study: Study, results: Path, audited: Collection[str] = ()) -> ResultPaths:
    """Return the paths of everything that a study is made of.

    Args:
        study: the study.
        results: the folder with all results.
        audited: papers with a file in config/audit.
    """

    def task(name: str) -> str:
        return f"{results}/tasks/{name}-{study.tasks[name].fingerprint}"

    def run(one: Run) -> str:
        return f"{results}/runs/{one.task}/{one.directory}/seed{one.seed}-{one.fingerprint}"

    def test(one: Run) -> str:
        return f"{run(one)}/{one.translation(study.decode_fingerprint(one))}"

    own = f"{results}/{study.name}"
    return ResultPaths(
        task=task,
        stage=lambda stage, name: f"{results}/tasks/{stage}/{study.tasks[name].stages[stage]}/{stage}.json",
        run=run,
        test=test,
        comet=lambda one: f"{test(one)}/comet-{study.comet_fingerprint}.json",
        labels=lambda name: f"{task(name)}/predicted-labels-{study.labels_fingerprint}.json",
        copied=lambda name: f"{task(name)}/copied-{study.copy_fingerprint(name)}",
        external=lambda one: f"{task(one.task)}/external-{one.system}-{study.external_fingerprint(one)}",
        analysis=lambda one: f"{run(one)}/analysis-{study.analysis_fingerprint(one)}",
        ambiguity=lambda name: f"{own}/ambiguity/{name}.json",
        significance=lambda key: f"{own}/significance/{key}.json",
        measure=lambda name: f"{own}/measure/{name}.json",
        table=lambda key, kind: f"{own}/tables/{key}.{kind}",
        figure=lambda key, kind: f"{own}/figures/{key}.{kind}",
        runs_table=f"{own}/runs.tsv",
        claims=lambda paper: f"{own}/claims/{paper}.json" if study.claims[paper] else None,
        audit=lambda paper: f"{results}/audit/{paper}.json" if paper in audited else None,
    )


def complete_stages(tasks: Path) -> list[str]:
    """Return the addresses of the tasks, and of the earlier stages of their data, that are complete."""
    manifests = [path for stage in STAGES for path in tasks.glob(f"{stage}/*/{stage}.json")]
    manifests += [path.parent / "task.json" for path in tasks.glob("*/leakage.json")]
    return sorted(
        path.parent.name[-8:]
        for path in manifests
        if path.is_file() and (path.name != "task.json" or path.with_name("stats.json").is_file())
    )


@dataclass(frozen=True)
class TranslationsFolder:
    """A folder with translations, below the results: of a run, or of a system that is not trained here.

    Attributes:
        task: the task whose sentences are translated.
        split: the held-out text: test or valid.
        run: (method, seed, hash) of the run; None for a system that is not trained here.
    """

    task: str
    split: str
    run: tuple[str, int, str] | None

    @classmethod
    def parse(cls, path: str) -> Self:
        """Read `runs/<task>/<method>/seed<k>-<hash>/<split>-<hash>`, or a folder in `tasks/<task>-<hash>/`."""
        kind, task, *rest = Path(path).parts
        if kind == "tasks":
            return cls(task.rpartition("-")[0], "test", None)
        method, folder, text = rest
        seed, _, address = folder.removeprefix("seed").partition("-")
        return cls(task, text.partition("-")[0], (method, int(seed), address))
