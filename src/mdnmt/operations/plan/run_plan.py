"""The plan of one run: its progress, the hours and bytes that it still needs, and the sources of these numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mdnmt.config.architectures.architecture import VocabSizes
from mdnmt.config.run import RunSpec
from mdnmt.methods import pretrained
from mdnmt.operations.plan import time_estimates
from mdnmt.operations.plan.benchmark_paths import decode_benchmarks, name_of, train_benchmark
from mdnmt.operations.plan.existing_results import Progress, State, is_translated, progress, run_state, size_bytes
from mdnmt.operations.plan.expected_updates import expected_updates
from mdnmt.operations.plan.model_work import Work, work_of
from mdnmt.operations.plan.run_records import TrainingRecord, benchmark_seconds
from mdnmt.operations.plan.time_estimates import NOTHING, SAME_FACTOR, Estimate, within_factor
from mdnmt.paths import RunPaths
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study
from mdnmt.train.footprint import footprint

# Assumed BPE pieces per sentence, and assumed sentences of a test or validation set whose size the task does not give.
PIECES_A_SENTENCE = 30
SENTENCES = 1000


@dataclass(frozen=True)
class RunPlan:
    """The plan of one run.

    Attributes:
        run: the run.
        state: the state of its training.
        translated: whether all its translations (test sets, and others that tables ask for) are made and scored.
        made: updates so far.
        updates: maximum number of updates; None: not known.
        parameters: number of parameters of its model; None: not known.
        memory_bytes: estimated memory of its training; None: not known, or it is done.
        train: time left to train; None: not known.
        decode: time left to translate; None: not known.
        spent_seconds: time that its training took on one CPU thread or one GPU; None: it has not ended.
        to_add: bytes that it will add to the disk, least and most.
        used_bytes: bytes already written.
        missing: why it cannot be made.
    """

    run: Run
    state: State
    translated: bool
    made: int
    updates: int | None
    parameters: int | None
    memory_bytes: int | None
    train: Estimate | None
    decode: Estimate | None
    spent_seconds: float | None
    to_add: tuple[int, int]
    used_bytes: int
    missing: str | None

    @property
    def name(self) -> str:
        """Return its name in the study."""
        return name_of(self.run)


@dataclass
class RunPlanner:
    """Makes the plans of a study's runs; reads the benchmark records of translations once."""

    study: Study
    places: ResultPaths
    benchmarks: Path
    vocabs: dict[str, VocabSizes]
    records: list[TrainingRecord]
    device: str
    is_elsewhere: bool = False  # another machine will compute: what translations and begun runs took here says nothing
    translations: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read how long the finished translations took."""
        for run in self.study.makeable() if not self.is_elsewhere else ():
            for path in decode_benchmarks(self.benchmarks, self.study, run):
                if seconds := benchmark_seconds(path):
                    self.translations[name_of(run)] = (self._translation(run, self._work(run)), seconds)

    def plan(self, run: Run) -> RunPlan:
        """Return the plan of a run."""
        state = run_state(run, self.places)
        to_translate = [one for one in translations_of(self.study, run) if not is_translated(one, self.places)]
        paths, spec, work = RunPaths(Path(self.places.run(run))), run.planned, self._work(run)
        done = progress(paths.metrics) if state == "begun" else Progress(0, 0.0)
        to_add, memory = (0, 0), None
        updates = 0 if _is_untrained(spec) else done.max_updates or self._updates(run, spec)
        train = NOTHING if state == "done" else self._train(run, spec, work, done, updates)
        decode = self._decode(to_translate, work) if to_translate else NOTHING
        if state != "done" and updates:
            target_vocab = self.vocabs[run.task].target
            domains = len(self.study.tasks[run.task].config.domains)
            memory = footprint(work.parameters, spec.architecture, target_vocab, spec.training, domains).total
            to_add = time_estimates.kept_sizes(work.parameters, spec.training.average_checkpoints)
        used = size_bytes(paths.folder)
        record = next((one for one in self.records if run.spec is not None and one.spec == run.spec), None)
        return RunPlan(
            run=run,
            state=state,
            translated=not to_translate,
            made=updates if state == "done" else done.updates,
            updates=updates,
            parameters=work.parameters,
            memory_bytes=memory,
            train=train,
            decode=decode,
            spent_seconds=record.seconds * record.threads if record is not None else None,
            to_add=(max(0, to_add[0] - used), max(0, to_add[1] - used)),
            used_bytes=used,
            missing=run.missing or self.study.tasks[run.task].missing,
        )

    def _updates(self, run: Run, spec: RunSpec) -> int:
        task = self.study.tasks[run.task]
        return expected_updates(spec, task.config, Path(self.places.task(run.task)))

    def _train(self, run: Run, spec: RunSpec, work: Work, done: Progress, updates: int) -> Estimate:
        left = max(0, updates - done.updates)
        before = train_benchmark(self.benchmarks, run.task, run.directory, run.seed, run.fingerprint)
        seconds = benchmark_seconds(before) if run.spec is not None and self.device == "cpu" else None
        if left == 0:
            return NOTHING
        if done.updates and done.seconds and not self.is_elsewhere:
            source = f"measured: this run, its first {done.updates} updates"
            found = within_factor(done.seconds / done.updates * left, SAME_FACTOR, source)
        elif seconds is not None:
            source = "measured: this run, whose folder was removed (benchmark record)"
            found = within_factor(seconds, SAME_FACTOR, source)
        else:
            operations = work.of_update(spec.training)
            found = time_estimates.training(spec, run.task, operations, self.records, self.device, left)
        return found.with_early_end() if spec.training.patience else found

    def _decode(self, runs: list[Run], work: Work) -> Estimate:
        operations = sum(self._translation(one, work) for one in runs)
        sentences = sum(self._sentences(one) for one in runs)
        return time_estimates.decoding(operations, sentences, self.translations, self.device)

    def _translation(self, run: Run, work: Work) -> float:
        """Return the operations of translating the sets of a run's split (test or validation)."""
        words = self._sentences(run) * PIECES_A_SENTENCE
        return work.of_translation(words, self.study.decoding[run.task].beam_size)

    def _sentences(self, run: Run) -> int:
        """Return the number of sentences in a run's split (test or validation)."""
        domains = self.study.tasks[run.task].config.domains.values()
        sizes = [(one.test if run.split == "test" else one.valid) or SENTENCES for one in domains]
        return sum(min(number, self.study.decoding[run.task].max_sentences or number) for number in sizes)

    def _work(self, run: Run) -> Work:
        num_domains = len(self.study.tasks[run.task].config.domains)
        return work_of(run.planned.builder, run.planned.architecture, num_domains, self.vocabs[run.task])


def _is_untrained(spec: RunSpec) -> bool:
    module = pretrained(spec.builder)
    return module is not None and not module.is_trained(spec.architecture)
