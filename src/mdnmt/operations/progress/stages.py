"""Count the jobs of a Snakemake run by stage, from the events that Snakemake sends to logger plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Stage -> its rules. Rules that start no program (`all`) belong to no stage, although Snakemake counts them.
STAGES: dict[str, frozenset[str]] = {
    "corpora": frozenset({"fetch", "fetch_weights", "comet_environment"}),
    "tasks": frozenset({"text", "tokens", "codes", "arrays", "first_downloads", "predicted_labels"}),
    "trainings": frozenset({"train"}),
    "translations": frozenset({"decode"}),
    "scores": frozenset(
        {
            *("score", "score_copy", "requested_metric", "word_accuracy", "comet", "external"),
            "analyse",
            *("significance", "ambiguity", "measure"),
        }
    ),
    "exhibits": frozenset(
        {
            *("table", "figure", "claims", "audit", "numbers", "report"),
        }
    ),
}
_STAGE_OF = {rule: stage for stage, rules in STAGES.items() for rule in rules}


def stage_of(rule: str) -> str | None:
    """Return the stage of a rule; a workflow that imports ours may put a prefix before the name (`mdnmt_train`)."""
    words = rule.split("_")
    names = ("_".join(words[at:]) for at in range(len(words)))
    return next((_STAGE_OF[name] for name in names if name in _STAGE_OF), None)


@dataclass
class Job:
    """A job: its rule, readable title, the run that it trains if any, and its logs."""

    rule: str
    title: str
    run: str | None
    logs: list[str]


@dataclass
class Stage:
    """Job counts of one stage."""

    total: int = 0
    done: int = 0
    failed: int = 0


@dataclass
class Progress:
    """What Snakemake has done so far.

    Attributes:
        stages: stage -> its job counts.
        running: job number -> job.
        failed: job number -> job, for jobs that failed and have not succeeded since.
    """

    stages: dict[str, Stage] = field(default_factory=lambda: {name: Stage() for name in STAGES})
    running: dict[int, Job] = field(default_factory=dict)
    failed: dict[int, Job] = field(default_factory=dict)
    _known: dict[int, Job] = field(default_factory=dict)

    def plan(self, jobs_of_rule: Mapping[str, object]) -> None:
        """Add the job counts that Snakemake announces when it starts."""
        for rule, number in jobs_of_rule.items():
            if (stage := stage_of(rule)) is not None and isinstance(number, int):
                self.stages[stage].total += number

    def start(self, number: int, rule: str, title: str | None, wildcards: Mapping[str, str], logs: list[str]) -> Job:
        """Record that a job starts; return it."""
        run = None
        if stage_of(rule) == "trainings" and {"task", "method", "seed", "fp"} <= wildcards.keys():
            run = f"{wildcards['task']}/{wildcards['method']}/seed{wildcards['seed']}-{wildcards['fp']}"
        shown_title = title or " ".join([rule, *map(str, wildcards.values())])
        job = Job(rule, shown_title, run, logs)
        self.running[number] = self._known[number] = job
        return job

    def finish(self, number: int) -> Job | None:
        """Record that a job finished; return it, or None where its start was not seen."""
        job = self.running.pop(number, None)
        if job is not None and (stage := self._stage(job)) is not None:
            stage.done += 1
            stage.failed -= self.failed.pop(number, None) is not None
            # Snakemake does not announce the jobs that a checkpoint rule adds.
            stage.total = max(stage.total, stage.done)
        return job

    def fail(self, number: int, *, stopped: bool = False) -> Job | None:
        """Record that a job failed, or was stopped; return it, or None where its start was not seen."""
        self.running.pop(number, None)
        job = self._known.get(number)
        if job is not None and number not in self.failed and not stopped:
            self.failed[number] = job
            if (stage := self._stage(job)) is not None:
                stage.failed += 1
        return job

    def _stage(self, job: Job) -> Stage | None:
        name = stage_of(job.rule)
        return self.stages[name] if name is not None else None

    def summary(self) -> str:
        """Return all stages that have jobs in one line."""
        return ", ".join(f"{name} {one.done}/{one.total}" for name, one in self.stages.items() if one.total)
