"""Find out what exists already: task data, corpora, runs and their progress, and sizes on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mdnmt.config.architectures.architecture import VocabSizes
from mdnmt.paths import RunPaths
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Task
from mdnmt.train.metrics_log import read_metrics

State = Literal["done", "begun", "to do", "cannot be made"]
# Until a task is built, its vocabulary is assumed to have this many entries: of a BPE vocabulary, besides its merges
# (characters, special symbols); of a vocabulary of words, in all.
NON_MERGE_ENTRIES = 300
WORDS_WITHOUT_BPE = 50_000


@dataclass(frozen=True)
class Progress:
    """The updates that a run has made and their time in seconds; `max_updates` is the end that its trainer computed."""

    updates: int
    seconds: float
    max_updates: int | None = None


def run_state(run: Run, places: ResultPaths) -> State:
    """Return the state of a run's training."""
    if run.spec is None:
        return "cannot be made"
    paths = RunPaths(Path(places.run(run)))
    if paths.is_finished:
        return "done"
    return "begun" if paths.metrics.is_file() else "to do"


def is_translated(run: Run, places: ResultPaths) -> bool:
    """Say whether the run's split (test or validation) has been translated and scored."""
    return run.spec is not None and Path(places.test(run), "scores.json").is_file()


def progress(metrics: Path) -> Progress:
    """Return the last update in metrics.jsonl and the time of all attempts; stderr says which lines are left out."""
    updates, finished, current, max_updates = 0, 0.0, 0.0, None
    for record in read_metrics(metrics):
        if record.get("event") in ("start", "resume"):
            finished, current = finished + current, 0.0
            max_updates = int(record["max_updates"]) if "max_updates" in record else max_updates
        elif "seconds" in record:
            current = float(record["seconds"])
        updates = max(updates, int(record.get("update") or record.get("at_update") or 0))
    return Progress(updates, finished + current, max_updates)


def size_bytes(*folders: Path) -> int:
    """Return the bytes of all files below folders that exist; hard links to one file count once."""
    files = (path.stat() for folder in folders for path in folder.rglob("*") if path.is_file())
    return sum({(file.st_dev, file.st_ino): file.st_size for file in files}.values())


def vocab_sizes(task: Task, places: ResultPaths) -> tuple[VocabSizes, bool]:
    """Return the sizes of a task's vocabularies, and whether they were counted rather than estimated."""
    config, folder = task.config, Path(places.task(task.name))
    files = [folder / f"vocab.{lang}.txt" for lang in (config.source_lang, config.target_lang)]
    if task.spec is not None and all(path.is_file() for path in files):
        source, target = (path.read_bytes().count(b"\n") for path in files)
        return VocabSizes(source, target, config.vocabulary.joint), True
    segmentation = config.segmentation
    entries = segmentation.bpe_merge_operations + NON_MERGE_ENTRIES
    if segmentation.bpe == "none":
        entries = WORDS_WITHOUT_BPE
    if segmentation.bpe == "domain":
        merges = [segmentation.merge_operations.get(name, segmentation.bpe_merge_operations) for name in config.domains]
        entries = sum(merges) + NON_MERGE_ENTRIES
    size = min(entries, config.vocabulary.max_size or entries)
    return VocabSizes(size, size, config.vocabulary.joint), False
