"""What a campaign consists of: jobs, each with the command lines of one run."""

from __future__ import annotations

from pathlib import Path

from mdnmt.config.base import Frozen


class Step(Frozen):
    """One command: the arguments of `mdnmt`, and the files that exist once it has ended."""

    arguments: tuple[str, ...]
    makes: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        """Say whether its files exist."""
        return all(Path(name).exists() for name in self.makes)


class Job(Frozen):
    """All steps of one run.

    Attributes:
        run: the run's address, below results/runs.
        task: the folder of the task's data.
        steps: in their order; those that are done are skipped.
        after: the address of the run whose weights it starts from; "": none.
        is_pretrained: it needs pretrained weights and their packages.
    """

    run: str
    task: str
    steps: tuple[Step, ...]
    after: str = ""
    is_pretrained: bool = False

    @property
    def is_done(self) -> bool:
        """Say whether all its files exist."""
        return all(step.is_done for step in self.steps)


class Campaign(Frozen):
    """The runs of a study, and what has to be made before all of them."""

    study: str
    jobs: tuple[Job, ...]
    before: tuple[Step, ...] = ()
