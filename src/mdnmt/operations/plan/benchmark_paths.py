"""Where the rules write benchmark records: the patterns of their `benchmark:` entries, for `mdnmt plan`."""

from __future__ import annotations

from pathlib import Path

from mdnmt.studies.study import Run, Study


def name_of(run: Run) -> str:
    """Return the name of a run, unique within its study."""
    return f"{run.task}/{run.directory}/seed{run.seed}"


def train_benchmark(folder: Path, task: str, directory: str, seed: int, fingerprint: str) -> Path:
    """Return the path of Snakemake's benchmark record of a training."""
    return folder / f"train-{task}-{directory}-seed{seed}-{fingerprint}.jsonl"


def decode_benchmarks(folder: Path, study: Study, run: Run) -> list[Path]:
    """Return the benchmark records of translations of a run's split; the one with this study's options comes last."""
    name = f"decode-{run.task}-{run.directory}-seed{run.seed}-{run.fingerprint}"
    own = folder / f"{name}-{run.translation(study.decode_fingerprint(run))}.jsonl"
    return [path for path in sorted(folder.glob(f"{name}-{run.split}-????????.jsonl")) if path != own] + [own]


def task_benchmark(folder: Path, task: str, fingerprint: str) -> Path:
    """Return the path of Snakemake's benchmark record of building a task's data."""
    return folder / f"task-{task}-{fingerprint}.jsonl"
