"""Where results and benchmark records stand: the patterns of workflow/rules/common.smk and train.smk, for a verb."""

from __future__ import annotations

from pathlib import Path

from mdnmt.studies.places import Places
from mdnmt.studies.study import Run, Study


def places_of(study: Study, results: Path) -> Places:
    """Return the paths of everything that a study is made of, below the folder `results`."""

    def task(name: str) -> str:
        return f"{results}/tasks/{name}-{study.tasks[name].fingerprint}"

    def run(one: Run) -> str:
        return f"{results}/runs/{one.task}/{one.directory}/seed{one.seed}-{one.fingerprint}"

    def test(one: Run) -> str:
        return f"{run(one)}/{one.translation(study.decode_fingerprint(one))}"

    own = f"{results}/{study.name}"
    return Places(
        task=task,
        run=run,
        test=test,
        comet=lambda one: f"{test(one)}/comet-{study.comet_fingerprint}.json",
        labels=lambda name: f"{task(name)}/predicted-labels-{study.labels_fingerprint}.json",
        copied=lambda name: f"{task(name)}/copied-{study.copy_fingerprint(name)}",
        analysis=lambda one: f"{run(one)}/analysis-{study.analysis_fingerprint(one)}",
        ambiguity=lambda name: f"{own}/ambiguity/{name}.json",
        significance=lambda key: f"{own}/significance/{key}.json",
        measure=lambda name: f"{own}/measure/{name}.json",
        table=lambda key, kind: f"{own}/tables/{key}.{kind}",
        figure=lambda key, kind: f"{own}/figures/{key}.{kind}",
        runs_table=f"{own}/runs.tsv",
    )


def name_of(run: Run) -> str:
    """Return the name of a run, which no other run of its study has."""
    return f"{run.task}/{run.directory}/seed{run.seed}"


def train_benchmark(folder: Path, task: str, directory: str, seed: int, fingerprint: str) -> Path:
    """Return where Snakemake wrote how long a training took."""
    return folder / f"train-{task}-{directory}-seed{seed}-{fingerprint}.jsonl"


def decode_benchmarks(folder: Path, study: Study, run: Run) -> list[Path]:
    """Return where Snakemake wrote how long it took to translate a run's test sets; last that of this study."""
    name = f"decode-{run.task}-{run.directory}-seed{run.seed}-{run.fingerprint}"
    own = folder / f"{name}-{run.translation(study.decode_fingerprint(run))}.jsonl"
    return [path for path in sorted(folder.glob(f"{name}-{run.split}-????????.jsonl")) if path != own] + [own]


def task_benchmark(folder: Path, task: str, fingerprint: str) -> Path:
    """Return where Snakemake wrote how long a task's data took."""
    return folder / f"task-{task}-{fingerprint}.jsonl"
