"""Where the rules write benchmark records: the patterns of their `benchmark:` entries, for `mdnmt plan`."""

from __future__ import annotations

from collections.abc import Mapping
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


def task_benchmarks(folder: Path, task: str, fingerprint: str, stages: Mapping[str, str]) -> list[Path]:
    """Return the paths of Snakemake's benchmark records of a task's data; the last is that of its arrays.

    Args:
        folder: the folder of the records.
        task: the task's name.
        fingerprint: its address.
        stages: the address of each earlier stage.
    """
    return [
        *(folder / f"{stage}-{fp}.jsonl" for stage, fp in stages.items()),
        folder / f"task-{task}-{fingerprint}.jsonl",
    ]
