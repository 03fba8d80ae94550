"""The plan of a task's data: its corpora, whether it is built, and the time and disk to build it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mdnmt.corpora.corpus_spec import CorpusSpec
from mdnmt.corpora.fetch_manifest import MANIFEST
from mdnmt.exhibits.seed_scores import task_ceilings
from mdnmt.operations.plan.benchmark_paths import task_benchmarks
from mdnmt.operations.plan.existing_results import State, size_bytes
from mdnmt.operations.plan.run_records import benchmark_seconds
from mdnmt.operations.plan.time_estimates import NOTHING, RULE_FACTOR, SCALED_FACTOR, Estimate, within_factor
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study, Task

# Bytes of a sentence pair (text and arrays), and pairs built per second if nothing was measured.
BYTES_A_PAIR = 600
PAIRS_A_SECOND = 1500


@dataclass(frozen=True)
class CorpusPlan:
    """A corpus: whether it was fetched, and the bytes of its files; None: not known."""

    name: str
    fetched: bool
    size_bytes: int | None


@dataclass(frozen=True)
class TaskPlan:
    """A task: its corpora, its data, and the work left for them; `pairs` is None if it is not known."""

    name: str
    state: State
    missing: str | None
    pairs: int | None
    corpora: tuple[CorpusPlan, ...]
    make: Estimate | None
    to_add: int | None
    used_bytes: int
    ceilings: dict[str, dict[str, float]]  # domain -> metric -> what a perfect system would score, once it is known

    @property
    def to_fetch(self) -> int:
        """Return the known bytes of corpora that are not fetched yet; 0 for a task that is built."""
        return 0 if self.state == "done" else sum(one.size_bytes or 0 for one in self.corpora if not one.fetched)


def task_plans(study: Study, places: ResultPaths, corpora: Path, benchmarks: Path) -> tuple[TaskPlan, ...]:
    """Return the plans of all tasks of a study."""
    measured = {}
    for name, task in study.tasks.items():
        records, pairs = task_benchmarks(benchmarks, name, task.fingerprint, task.stages), _pairs(task)
        seconds = [benchmark_seconds(record) for record in records]
        if seconds[-1] and pairs:
            measured[name] = (sum(filter(None, seconds)), pairs)
    return tuple(_plan(task, places, corpora, measured) for task in study.tasks.values())


def _plan(task: Task, places: ResultPaths, corpora: Path, measured: dict[str, tuple[float, int]]) -> TaskPlan:
    done = task.spec is not None and Path(places.task(task.name), "task.json").is_file()
    state: State = "done" if done else "cannot be made" if task.spec is None else "to do"
    pairs = _pairs(task)
    stages = [Path(places.stage(stage, task.name)).parent for stage in task.stages]
    used = size_bytes(Path(places.task(task.name)), *stages)
    return TaskPlan(
        name=task.name,
        state=state,
        missing=task.missing,
        pairs=pairs,
        corpora=tuple(
            CorpusPlan(name, (corpora / name / MANIFEST).is_file(), _corpus_bytes(task, name)) for name in task.corpora
        ),
        make=NOTHING if done else _make(task.name, pairs, measured),
        to_add=0 if done else None if pairs is None else pairs * BYTES_A_PAIR,
        used_bytes=used,
        ceilings=task_ceilings(Path(places.task(task.name))) if done else {},
    )


def _make(name: str, pairs: int | None, measured: dict[str, tuple[float, int]]) -> Estimate | None:
    if name in measured:
        return within_factor(measured[name][0], SCALED_FACTOR, "measured: this task (benchmark record)")
    if pairs is None:
        return None
    if measured:
        other = min(measured)
        seconds, known = measured[other]
        return within_factor(seconds * pairs / known, 2.0, f"scaled from task {other} (benchmark record)")
    return within_factor(
        pairs / PAIRS_A_SECOND, RULE_FACTOR, f"rule of thumb: {PAIRS_A_SECOND} pairs a second, no record here"
    )


def _pairs(task: Task) -> int | None:
    """Return the maximum number of pairs of the task; None if a domain takes all of a corpus of unknown size."""
    total = 0
    for domain in task.config.domains.values():
        own = [task.corpora[name].pairs for name in domain.corpora]
        most = None if None in own else sum(pairs or 0 for pairs in own)
        train = domain.train if domain.train is not None else most
        if train is None:
            return None
        total += train + (domain.valid or 0) + (domain.test or 0)
    return total


def _corpus_bytes(task: Task, name: str) -> int | None:
    corpus = task.corpora[name]
    specs = task.spec.domains if task.spec is not None and not task.first_downloads else ()
    found: list[CorpusSpec] = [one for domain in specs for one in domain.corpora if one.name == name]
    sizes = [file.size_bytes for file in found[0].files] if found else []
    if not sizes:
        sizes = [getattr(source, "size_bytes", None) for source in corpus.sources]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
