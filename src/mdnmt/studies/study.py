"""A resolved study: its tasks and runs, each with its fingerprint or the reason why it cannot be made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from mdnmt.config.claims import Claim
from mdnmt.config.comet import CometConfig
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.corpus_reader import GeneratedReader
from mdnmt.config.decoding import LABELS, SPLITS, Decoding, Labels, Split
from mdnmt.config.learning_rates import LearningRates
from mdnmt.config.method import MethodConfig
from mdnmt.config.paper import PaperConfig
from mdnmt.config.published import Published
from mdnmt.config.run import RunSpec
from mdnmt.config.study import ExternalSystem, StudyConfig
from mdnmt.config.task import TaskConfig
from mdnmt.decode.labels import translation_address
from mdnmt.fingerprint import fingerprint
from mdnmt.tasks.task_spec import TaskSpec

SMALL_TASK_SENTENCES = 10_000
NOT_TRAINED = "is not trained yet"
COPY = "copy-source"  # the name of the row of the copied source

_T = TypeVar("_T")


@dataclass(frozen=True)
class Task:
    """A task of a study.

    Attributes:
        name: of its file in config/tasks.
        config: the content of the file.
        corpora: the configurations of its corpora by name.
        spec: the input of `mdnmt task`; None if the task cannot be made, or not yet.
        missing: why it cannot be made.
        first_downloads: the corpora that have to be downloaded before the task has an address; nothing else is missing.
    """

    name: str
    config: TaskConfig
    corpora: dict[str, CorpusConfig]
    spec: TaskSpec | None
    missing: str | None
    first_downloads: tuple[str, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """Return the content address, or `missing` where there is none."""
        return self.spec.fingerprint if self.spec is not None else "missing"

    @cached_property
    def stages(self) -> dict[str, str]:
        """Return the content address of each earlier stage of its data; nothing where there is none."""
        return self.spec.stages if self.spec is not None else {}

    @property
    def is_small(self) -> bool:
        """Return whether all its text is generated, and so little that more processes would take longer."""
        readers = [corpus.reader for corpus in self.corpora.values()]
        sentences = [reader.sentences for reader in readers if isinstance(reader, GeneratedReader)]
        return len(sentences) == len(readers) and sum(sentences) <= SMALL_TASK_SENTENCES

    def label(self, domain: str) -> str:
        """Return a domain's name as tables print it."""
        return self.config.domains[domain].label or domain.replace("-", " ").capitalize()


@dataclass(frozen=True)
class Run:
    """task x method x seed.

    Attributes:
        task: the task's name.
        method: the method's name in config/methods.
        directory: the method's name in paths; for a run on a single domain it contains the domain.
        label: as printed in tables.
        domains: the domains it is trained on.
        seed: the seed.
        planned: the input of the trainer, even if the run cannot be made.
        missing: why it cannot be made; None: it can.
        labels: the label condition of its translations; it changes the translations, not the run.
        split: the held-out text that it translates; this, too, does not change the run.
    """

    task: str
    method: str
    directory: str
    label: str
    domains: tuple[str, ...]
    seed: int
    planned: RunSpec
    missing: str | None = None
    labels: Labels = "given"
    split: Split = "test"

    @property
    def spec(self) -> RunSpec | None:
        """Return the input of the trainer; None if the run cannot be made."""
        return self.planned if self.missing is None else None

    @property
    def row(self) -> str:
        """Return the key of its table row, which it shares with its other seeds."""
        return self.directory if self.labels == "given" else f"{self.directory}@{self.labels}"

    @property
    def address(self) -> str:
        """Return its folder below results/runs, which is also its name in a bundle."""
        return f"{self.task}/{self.directory}/seed{self.seed}-{self.fingerprint}"

    def with_labels(self, labels: Labels) -> Run:
        """Return the run under another label condition."""
        return replace(self, labels=labels)

    def on(self, split: Split) -> Run:
        """Return the run as one that translates this split."""
        return replace(self, split=split)

    def translation(self, fingerprint: str) -> str:
        """Return the name, within the run's folder, of the folder of its translations."""
        return f"{self.split}-{fingerprint}"

    @cached_property
    def fingerprint(self) -> str:
        """Return the content address, or `missing` where there is none."""
        return self.spec.fingerprint if self.spec is not None else "missing"


@dataclass(frozen=True)
class ExternalOutput:
    """The test translations of one task by a system that is not trained here.

    Attributes:
        system: its name in the study.
        task: the task's name.
        number: of the output, from 1; it takes the place of a seed.
        config: its entry in the study.
        folder: where the translations are.
        sums: name -> sha256 of their files.
    """

    system: str
    task: str
    number: int
    config: ExternalSystem
    folder: Path
    sums: Mapping[str, str]

    @property
    def label(self) -> str:
        """Return its label in tables, marked."""
        return f"{self.config.label} (external)"


@dataclass(frozen=True)
class Study:
    """A study with everything that it names."""

    name: str
    config: StudyConfig
    tasks: dict[str, Task]
    methods: dict[str, MethodConfig]
    papers: dict[str, PaperConfig]
    published: dict[str, Published]  # of each paper
    claims: dict[str, dict[str, Claim]]  # of each paper
    decoding: dict[str, Decoding]  # of each task
    comet: CometConfig
    no_comet: str | None  # why COMET cannot score; None: it can
    runs: tuple[Run, ...]
    learning_rates: LearningRates | None = None  # the sweep that the rates were chosen in
    external: tuple[ExternalOutput, ...] = ()

    def replace_by(self, other: Study) -> None:
        """Take over the content of `other`, the same study resolved again, so that all references see it.

        Only the workflow does so, once the first downloads of a task are recorded.
        """
        vars(self).clear()  # cached properties as well
        vars(self).update(vars(other))

    def only(self, keep: Callable[[Run], bool]) -> Study:
        """Return the study without the runs that `keep` rejects: its exhibits show them as not trained yet."""
        runs = (run if run.missing or keep(run) else replace(run, missing=NOT_TRAINED) for run in self.runs)
        return replace(self, runs=tuple(runs))

    def as_printed(self, paper: str) -> Study:
        """Return the study as though its text were a paper's, so that its tables carry the published numbers."""
        tasks = {
            name: replace(task, config=task.config.model_copy(update={"of": paper}))
            for name, task in self.tasks.items()
        }
        tables = {name: table.model_copy(update={"pairs": ()}) for name, table in self.papers[paper].tables.items()}
        papers = {**self.papers, paper: self.papers[paper].model_copy(update={"tables": tables})}
        return replace(self, tasks=tasks, papers=papers)

    def runs_of(self, task: str, method: str | None = None) -> list[Run]:
        """Return the runs of a task, of one method or of all, in the order of methods, domains and seeds."""
        return list(self._by_task.get((task, method), ()))

    @cached_property
    def _by_task(self) -> dict[tuple[str, str | None], list[Run]]:
        found: dict[tuple[str, str | None], list[Run]] = {}
        for run in self.runs:
            for method in (run.method, None):
                found.setdefault((run.task, method), []).append(run)
        return found

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what `make` returns, which is called once for this study and key."""
        if key not in self._made:
            self._made[key] = make()
        made: _T = self._made[key]
        return made

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def makeable(self, task: str | None = None) -> list[Run]:
        """Return the runs that can be made."""
        return [run for run in self.runs if run.spec is not None and task in (None, run.task)]

    def corpus(self, name: str) -> CorpusConfig:
        """Return the configuration of a corpus of the study, without the checksums of the locks."""
        return next(task.corpora[name] for task in self.tasks.values() if name in task.corpora)

    def task_at(self, stage: str, fp: str) -> Task:
        """Return the first task whose stage `stage` has the address `fp`; others may share it.

        Raises:
            KeyError: there is none.
        """
        for task in self.tasks.values():
            if task.stages.get(stage) == fp:
                return task
        raise KeyError(f"study {self.name} has no task whose {stage} has the address {fp}")

    def find(self, task: str, directory: str, seed: int, fp: str) -> Run:
        """Return the run with the given parts of a path.

        Raises:
            KeyError: the study has no such run.
        """
        try:
            return self._by_address[task, directory, seed, fp]
        except KeyError:
            raise KeyError(f"study {self.name} has no run {task}/{directory}/seed{seed}-{fp}") from None

    @cached_property
    def _by_address(self) -> dict[tuple[str, str, int, str], Run]:
        return {(run.task, run.directory, run.seed, run.fingerprint): run for run in reversed(self.runs)}

    def start_of(self, run: Run) -> Run | None:
        """Return the run whose final weights `run` starts from; None: it starts from random ones."""
        if run.spec is None or run.spec.initial_run is None:
            return None
        address = (run.task, run.spec.initial_run)
        return next((one for one in self.runs if (one.task, one.fingerprint) == address), None)

    def decode_fingerprint(self, run: Run) -> str:
        """Return the content address of a run's hypotheses and scores, within the run's folder."""
        # A DAG of a large study asks for them ten thousand times.
        key = "address", run.task, run.labels, run.split
        return self.once(key, lambda: translation_address(self.decoding_of(run), run.split))

    def decoding_of(self, run: Run) -> Decoding:
        """Return the decoding options of a run, with its label condition."""
        return self.decoding[run.task].model_copy(update={"labels": run.labels})

    def translation_of(self, run: Run, fp: str) -> Run:
        """Return the run with the label condition and split whose hypotheses have the address `fp`.

        Raises:
            KeyError: no translation of this run has that address.
        """
        for found in (run.with_labels(labels).on(split) for split in SPLITS for labels in LABELS):
            if self.decode_fingerprint(found) == fp:
                return found
        raise KeyError(f"study {self.name} has no translations {fp} of {run.task}/{run.directory}/seed{run.seed}")

    @property
    def labels_fingerprint(self) -> str:
        """Return the content address of the labels that a classifier predicts, within the task's folder."""
        return fingerprint("labels", {})

    @property
    def comet_fingerprint(self) -> str:
        """Return the content address of COMET's scores, within the folder of the hypotheses."""
        return fingerprint("score", {"comet": self.comet.model_dump(mode="json")})

    def copy_fingerprint(self, task: str) -> str:
        """Return the content address of the copied sources of a task and their scores."""
        return fingerprint("score", {"task": self.tasks[task].fingerprint, "limit": self.decoding[task].max_sentences})

    def external_fingerprint(self, output: ExternalOutput) -> str:
        """Return the content address of translations from elsewhere and their scores, within the task's folder."""
        limit = self.decoding[output.task].max_sentences
        value = {"task": self.tasks[output.task].fingerprint, "limit": limit, "external": dict(output.sums)}
        return fingerprint("score", value)

    def find_external(self, task: str, system: str, fp: str) -> ExternalOutput:
        """Return the translations from elsewhere with the given parts of a path.

        Raises:
            KeyError: the study has none there.
        """
        for output in self.external:
            if (output.task, output.system) == (task, system) and self.external_fingerprint(output) == fp:
                return output
        raise KeyError(f"study {self.name} has no translations {fp} of {task} by {system}")

    def limit_of(self, task: str) -> list[str]:
        """Return, as an option, how many test sentences of each domain are decoded and scored; nothing for all."""
        most = self.decoding[task].max_sentences
        return ["--limit", str(most)] if most else []

    @property
    def analysis_fingerprint(self) -> str:
        """Return the content address of a run's analyses, within the run's folder; all runs have the same one."""
        return fingerprint("analyse", self.config.analysis.model_dump(mode="json"))


def pretrained_weights(run: Run) -> tuple[str, str | None] | None:
    """Return name and revision of the pretrained weights that a run starts from; None where it starts from none."""
    options = run.spec.architecture if run.spec is not None else {}
    return (options["weights"], options.get("revision")) if "weights" in options else None
