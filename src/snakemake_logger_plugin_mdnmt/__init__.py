"""A logger plugin of Snakemake: `snakemake --logger mdnmt` shows the progress of a study and explains failures.

Snakemake finds logger plugins by this package's name (snakemake-interface-logger-plugins) and expects `LogHandler`.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
from pathlib import Path

from rich.console import Console
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from mdnmt.operations.progress.display import Display

COMMAND = "MDNMT_COMMAND"  # set by `mdnmt run`: the command that a user should repeat
_KEPT = ("Nothing to be done", "Complete log")  # lines without an event that a user should see


class LogHandler(LogHandlerBase):
    """Passes Snakemake's events to a display; a dry run is printed as Snakemake prints it."""

    def __post_init__(self) -> None:
        """Make the display; Snakemake calls this after it has made the handler."""
        settings = self.common_settings
        console = Console(
            file=sys.stdout if settings.stdout else sys.stderr, no_color=settings.nocolor, highlight=False
        )
        command = os.environ.get(COMMAND) or shlex.join(["snakemake", *sys.argv[1:]])
        self.display = Display(console, command, Path())

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record of Snakemake's log."""
        try:
            self._show(record, getattr(record, "event", None))
        except Exception:  # a display must never end the run; logging's own handlers do the same
            self.handleError(record)

    def _show(self, record: logging.LogRecord, event: str | None) -> None:
        fields = record.__dict__
        if self.common_settings.dryrun:
            self.display.line(self.format(record))
        elif event == LogEvent.RUN_INFO:
            self.display.begin(fields["stats"])
        elif event == LogEvent.JOB_INFO:
            wildcards, logs = dict(fields["wildcards"]), [str(log) for log in fields["log"]]
            self.display.started(fields["jobid"], fields["rule_name"], fields["rule_msg"], wildcards, logs)
        elif event == LogEvent.JOB_FINISHED:
            self.display.finished(fields["job_id"])
        elif event == LogEvent.JOB_ERROR:
            self.display.failed(fields["jobid"], fields["rule_name"], [str(log) for log in fields["log"]])
        elif event == LogEvent.ERROR and fields.get("exception") == "RuleException":
            pass  # repeats the command of a job whose failure is explained
        elif record.levelno >= logging.WARNING or record.getMessage().startswith(_KEPT):
            self.display.line(self.format(record))

    def close(self) -> None:
        """Stop redrawing."""
        self.display.end()
        super().close()

    @property
    def writes_to_stream(self) -> bool:
        """Return True: Snakemake then adds no output of its own."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Return False."""
        return False

    @property
    def has_filter(self) -> bool:
        """Return True: Snakemake's own filter would drop events under `--quiet`."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Return False: Snakemake's own formatter writes warnings and errors."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """Return False."""
        return False
