"""Show the progress of a study: one display that is redrawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mdnmt.errors import printable
from mdnmt.operations.progress.failures import explain, was_stopped
from mdnmt.operations.progress.run_states import RunState, duration, run_states
from mdnmt.operations.progress.stages import Progress, stage_of

READ_EVERY_SECONDS = 5.0  # how often the files of the runs in training are read


class Display:
    """Draws a `Progress`.

    Attributes:
        progress: what is drawn.
        command: the command that continues the study after a failure.
    """

    def __init__(
        self, console: Console, command: str, folder: Path, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.progress = Progress()
        self.command = command
        self._console, self._folder, self._clock = console, folder, clock
        self._live: Live | None = None
        self._states: list[RunState] = []
        self._read_at: float | None = None

    def begin(self, jobs_of_rule: dict[str, object]) -> None:
        """Start with the job counts that Snakemake announces."""
        self.progress.plan(jobs_of_rule)
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(get_renderable=self.render, console=self._console, refresh_per_second=2)
                self._live.start()
        else:
            self.line(f"to do: {self.progress.summary()}")

    def started(self, number: int, rule: str, title: str | None, wildcards: dict[str, str], logs: list[str]) -> None:
        """Show that a job starts."""
        job = self.progress.start(number, rule, title, wildcards, logs)
        if self._live is None and stage_of(rule) is not None:  # `all` starts nothing
            self.line(f"start: {job.title}")

    def finished(self, number: int) -> None:
        """Show that a job finished."""
        job = self.progress.finish(number)
        if self._live is None and job is not None and stage_of(job.rule) is not None:
            self.line(f"done: {job.title} ({self.progress.summary()})")

    def failed(self, number: int, rule: str, logs: list[str]) -> None:
        """Explain a failure, or that the job was stopped. On a terminal, the lines stay above the display."""
        job = self.progress.fail(number, stopped=was_stopped(logs))
        for line in explain(job.title if job else rule, logs, self.command):
            self.line(line, style="red" if line.startswith("FAILED") else None)

    def line(self, text: str, style: str | None = None) -> None:
        """Print a line, above the display if there is one."""
        for part in text.splitlines() or [""]:
            self._console.print(Text(printable(part), style=style or ""), soft_wrap=True)

    def end(self) -> None:
        """Draw the last state and stop redrawing."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def render(self) -> RenderableType:
        """Return the display: a bar per stage, the runs in training, the other running jobs, the failures."""
        stages = Table.grid(padding=(0, 2))
        for name, stage in self.progress.stages.items():
            if stage.total:
                failed = f"[red]{stage.failed} failed[/red]" if stage.failed else ""
                bar = ProgressBar(total=stage.total, completed=stage.done, width=24)
                stages.add_row(name, bar, f"{stage.done}/{stage.total}", failed)
        parts: list[RenderableType] = [stages]
        if states := self._read_states():
            runs = Table("run", "update", "loss", "left", box=None, padding=(0, 2, 0, 0), header_style="bold")
            for one in states:
                updates = f"{one.update:,}/{one.updates:,}" if one.updates else f"{one.update:,}"
                left = "" if one.seconds_left is None else duration(one.seconds_left)
                runs.add_row(escape(one.name), updates, "" if one.loss is None else f"{one.loss:.3f}", left)
            parts.append(runs)
        others = [job.title for job in self.progress.running.values() if job.run is None]
        parts += [Text(printable(f"now: {title}"), overflow="ellipsis", no_wrap=True) for title in others]
        parts += [
            Text(printable(f"failed: {job.title}; see {', '.join(job.logs) or 'above'}"), style="red")
            for job in self.progress.failed.values()
        ]
        return Group(*parts)

    def _read_states(self) -> list[RunState]:
        names = sorted(job.run for job in list(self.progress.running.values()) if job.run is not None)
        now = self._clock()
        is_old = self._read_at is None or now - self._read_at >= READ_EVERY_SECONDS
        if is_old or names != [state.name for state in self._states]:
            self._states, self._read_at = run_states(self._folder, dict.fromkeys(names)), now
        return self._states
