"""Where the rules write benchmark records: the patterns of their `benchmark:` entries, for `mdnmt plan`."""

from __future__ import annotations

from pathlib import Path

from mdnmt.studies.study import Run, Study


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
