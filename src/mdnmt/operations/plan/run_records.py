"""Read how long finished jobs took: Snakemake's `benchmark:` files and the run.json of each run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mdnmt.config.architectures.architecture import VocabSizes
from mdnmt.config.cards import Card
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.errors import MdnmtError
from mdnmt.fsio import read_json
from mdnmt.methods import pretrained
from mdnmt.operations.plan.benchmark_paths import train_benchmark
from mdnmt.operations.plan.model_work import work_of


@dataclass(frozen=True)
class TrainingRecord:
    """A finished training: its time and its amount of computation.

    Attributes:
        task: its task's name.
        directory: its method's name in paths.
        spec: the run.
        updates: number of updates made.
        seconds: time of all attempts, including start, validations and saving.
        threads: CPU threads; 1 for a GPU.
        operations: operations of one update.
        device: "cpu" or "cuda".
        hardware: name of the CPU or GPU.
        kept_in: where `seconds` was read: "benchmark record", "run.json", or config/cards.yaml with day and commit.
    """

    task: str
    directory: str
    spec: RunSpec
    updates: int
    seconds: float
    threads: int
    operations: float
    device: str
    hardware: str
    kept_in: str

    @property
    def seconds_per_update(self) -> float:
        """Return the seconds of one thread (or one GPU) per update."""
        return self.seconds * self.threads / self.updates


def training_records(results: Path, benchmarks: Path, device: str) -> list[TrainingRecord]:
    """Return the finished trainings on a kind of device ("cpu" or "cuda"); unreadable records are skipped."""
    paths = sorted(results.glob("runs/*/*/*/run.json"))
    return [record for path in paths for record in _record(path, benchmarks) if record.device == device]


def card_records(card: Card) -> list[TrainingRecord]:
    """Return the speeds that were measured on a card as trainings of one update, of runs that no study has."""
    return [
        TrainingRecord(
            task=speed.task or "generated text",
            directory=speed.method,
            spec=RunSpec(
                task_fingerprint="",
                builder=speed.builder,
                architecture={},
                training=Training(max_updates=1),
                domains=("measured",),
                seed=1,
            ),
            updates=1,
            seconds=speed.seconds_per_update,
            threads=1,
            operations=speed.operations,
            device="cuda",
            hardware=card.name,
            kept_in=f"config/cards.yaml: {speed.measured_on}, commit {speed.commit}",
        )
        for speed in card.measured
    ]


def benchmark_seconds(path: Path) -> float | None:
    """Return the wall-clock seconds in a benchmark record, or their mean if the job was repeated; None: no record."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [float(json.loads(line)["s"]) for line in lines if line.strip()]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return sum(found) / len(found) if found else None


def _record(path: Path, benchmarks: Path) -> Iterator[TrainingRecord]:
    task, directory = path.parts[-4:-2]
    try:
        made = read_json(path)
        spec = RunSpec.model_validate(made["spec"])
        # A run out of a bundle has no segmentation folder.
        task_folder = path.parents[4] / "tasks" / f"{task}-{spec.task_fingerprint}"
        vocab = _vocab_sizes(
            (path.parent / "segmentation", task_folder), made["source_lang"], made["target_lang"], spec.builder
        )
        operations = work_of(spec.builder, spec.architecture, len(made["domains"]), vocab).of_update(spec.training)
        seconds, kept_in = float(made["seconds"]), "run.json"
        # Snakemake's record covers only the last attempt.
        recorded = benchmark_seconds(train_benchmark(benchmarks, task, directory, spec.seed, spec.fingerprint))
        if recorded is not None and not made.get("resumes"):
            seconds, kept_in = recorded, "benchmark record"
        on_gpu = str(made["device"]).startswith("cuda")
        provenance: dict[str, Any] = made.get("provenance", {})
        hardware = provenance.get("gpu", "GPU") if on_gpu else provenance.get("cpu", "CPU")
        updates, threads = int(made["updates"]), 1 if on_gpu else int(made.get("threads", 1))
    except (OSError, ValueError, KeyError, TypeError, ValidationError, MdnmtError):
        return
    if updates > 0 and seconds > 0:
        device = "cuda" if on_gpu else "cpu"
        yield TrainingRecord(
            task, directory, spec, updates, seconds, threads, operations, device, str(hardware), kept_in
        )


def _vocab_sizes(folders: tuple[Path, ...], source_lang: str, target_lang: str, builder: str) -> VocabSizes:
    """Return the sizes of a run's vocabularies, from the first folder that has both.

    Raises:
        FileNotFoundError: no folder has them.
    """
    if pretrained(builder) is not None:
        return VocabSizes(1, 1, True)  # not used: `work_of` knows the size of pretrained models
    for folder in folders:
        files = [folder / f"vocab.{lang}.txt" for lang in (source_lang, target_lang)]
        if all(path.is_file() for path in files):
            source, target = (path.read_bytes() for path in files)
            return VocabSizes(source.count(b"\n"), target.count(b"\n"), source == target)
    raise FileNotFoundError(f"no vocabulary in {folders}")
