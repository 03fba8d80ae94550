"""Where the results of a study are. The rules name their outputs by the same patterns, with wildcards."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mdnmt.studies.study import ExternalOutput, Run, Study
from mdnmt.tasks.task_spec import STAGES


@dataclass(frozen=True, eq=False)
class ResultPaths:
    """The paths of everything that a study is made of.

    Attributes:
        study: the study.
        results: the folder with all results.
        audited: papers with a file in config/audit.
        partial: tables, figures and the list of runs are those of a report on what exists, in a folder of their own.
    """

    study: Study
    results: Path
    audited: Collection[str] = ()
    partial: bool = False

    @property
    def _own(self) -> str:
        return f"{self.results}/{self.study.name}"

    @property
    def _shown(self) -> str:
        return f"{self._own}/partial" if self.partial else self._own

    def task(self, name: str) -> str:
        """Return the folder of a task's data."""
        return f"{self.results}/tasks/{name}-{self.study.tasks[name].fingerprint}"

    def stage(self, stage: str, name: str) -> str:
        """Return the manifest of an earlier stage of a task's data."""
        return f"{self.results}/tasks/{stage}/{self.study.tasks[name].stages[stage]}/{stage}.json"

    def run(self, run: Run) -> str:
        """Return the folder of a run."""
        return f"{self.results}/runs/{run.address}"

    def test(self, run: Run) -> str:
        """Return the folder of a run's hypotheses and scores, for its label condition and split."""
        return f"{self.run(run)}/{run.translation(self.study.decode_fingerprint(run))}"

    def comet(self, run: Run) -> str:
        """Return a run's scores by COMET."""
        return f"{self.test(run)}/comet-{self.study.comet_fingerprint}.json"

    def analysis(self, run: Run) -> str:
        """Return the folder of a run's analyses."""
        return f"{self.run(run)}/analysis-{self.study.analysis_fingerprint}"

    def labels(self, task: str) -> str:
        """Return the domains that a classifier predicts for the test sentences of a task."""
        return f"{self.task(task)}/predicted-labels-{self.study.labels_fingerprint}.json"

    def copied(self, task: str) -> str:
        """Return the folder of a task's copied sources and their scores."""
        return f"{self.task(task)}/copied-{self.study.copy_fingerprint(task)}"

    def external(self, output: ExternalOutput) -> str:
        """Return the folder of translations from elsewhere and their scores."""
        return f"{self.task(output.task)}/external-{output.system}-{self.study.external_fingerprint(output)}"

    def ambiguity(self, task: str) -> str:
        """Return the ambiguous words of a task."""
        return f"{self._own}/ambiguity/{task}.json"

    def significance(self, key: str) -> str:
        """Return the comparisons of a table."""
        return f"{self._own}/significance/{key}.json"

    def measure(self, task: str) -> str:
        """Return the time and memory that the methods need on a task."""
        return f"{self._own}/measure/{task}.json"

    def table(self, key: str, kind: str) -> str:
        """Return a table, as a file of some kind."""
        return f"{self._shown}/tables/{key}.{kind}"

    def figure(self, key: str, kind: str) -> str:
        """Return a figure, as a file of some kind."""
        return f"{self._shown}/figures/{key}.{kind}"

    @property
    def runs_table(self) -> str:
        """Return the list of runs."""
        return f"{self._shown}/runs.tsv"

    def claims(self, paper: str) -> str | None:
        """Return the verdicts on a paper's claims; None if it has none."""
        return f"{self._own}/claims/{paper}.json" if self.study.claims[paper] else None

    def audit(self, paper: str) -> str | None:
        """Return the audit of a paper; None if it is not audited."""
        return f"{self.results}/audit/{paper}.json" if paper in self.audited else None


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
