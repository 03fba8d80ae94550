"""Explain a failed job: the end of its log, and the row of the troubleshooting page that matches it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGE = Path("docs/troubleshooting.md")
ACCEPT = "--accept-code-change"  # a training that names it was refused because its code changed
LAST_LINES = 5
# The last line of a job that ended in order, on Ctrl-C, SIGTERM or its time limit (mdnmt.cli, mdnmt.train.trainer).
_STOPPED = re.compile(r"stopped by Ctrl-C$|: saved at update \d+ of \d+; the same command goes on from there$")
_LAST_BYTES = 16_384
_LEAST_LITERAL = 10  # characters of a row that must occur literally; fewer would match almost anything
# Parts of an example that differ from one message to the next.
_VARIABLE = re.compile(r"'[^']*'|\b0x[0-9a-f]+|\d[\d,]*|[\w/.-]*\w\.(?:en|fr|py|yaml)\b")


@dataclass(frozen=True)
class Cause:
    """A row of the troubleshooting page.

    Attributes:
        pieces: lower-case substrings that a message must contain in this order.
        literal: the number of characters of the pieces; the row with the most is the best match.
        advice: what to do, as Markdown.
    """

    pieces: tuple[str, ...]
    literal: int
    advice: str

    def explains(self, line: str) -> bool:
        """Say whether a line contains the pieces one after the other."""
        line, at = line.lower(), 0
        for piece in self.pieces:
            found = line.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True


@cache
def causes(page: Path) -> tuple[Cause, ...]:
    """Return the rows of a page's tables; none where the page does not exist."""
    if not page.is_file():
        return ()
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = (line[2:-2].partition(" | ") for line in lines if line.startswith("| ") and line.endswith(" |"))
    return tuple(cause for messages, bar, advice in rows if bar for cause in _causes_of(messages, advice))


def _causes_of(lines: str, advice: str) -> list[Cause]:
    found = []
    for message in re.findall(r"`([^`]+)`", lines) or [lines]:
        # In an example, `...` matches any text.
        pieces = [piece.lower() for part in message.split("...") for piece in _VARIABLE.split(part.strip())]
        length = sum(len(piece.strip(" :;,")) for piece in pieces)
        if length >= _LEAST_LITERAL:
            found.append(Cause(tuple(pieces), length, advice))
    return found


def last_lines(log: Path, number: int = LAST_LINES) -> list[str]:
    """Return the last lines of a log that are not blank; none where it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _LAST_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-number:]


def likely_cause(lines: list[str]) -> str | None:
    """Return the advice of the troubleshooting page for the last of these lines that it explains; None: for none."""
    for line in reversed(lines):
        matching = [cause for cause in causes(PAGE.absolute()) if cause.explains(line)]
        if matching:
            return max(matching, key=lambda cause: cause.literal).advice
    return None


def was_stopped(logs: list[str]) -> bool:
    """Say whether a job was stopped, which is no failure: its log ends with the line that says so."""
    ends = [end[-1] for log in logs if (end := last_lines(Path(log)))]
    return any(_STOPPED.search(line) for line in ends)


def explain(title: str, logs: list[str], command: str) -> list[str]:
    """Return the lines that explain a failed job.

    Args:
        title: the job in words.
        logs: its log files.
        command: the command that continues the study.
    """
    ends = {log: last_lines(Path(log)) for log in logs}
    if was_stopped(logs):
        reasons = [end[-1] for end in ends.values() if end]
        return [f"stopped: {title}", *(f"    {line}" for line in reasons), f"  to continue: {command}"]
    lines = [f"FAILED: {title}"]
    for log, end in ends.items():
        lines += [f"  log: {log}", *(f"    {line}" for line in end)]
    advice = likely_cause([line for end in ends.values() for line in end])
    lines.append(f"  likely cause and remedy: {advice}" if advice else f"  {PAGE} lists common messages")
    # The same command would be refused again.
    if any(ACCEPT in line for end in ends.values() for line in end):
        return [*lines, f"  to continue with this code: {_with_config(command, 'accept_code_change=true')}"]
    return [*lines, f"  to continue: {command}"]


def _with_config(command: str, pair: str) -> str:
    """Return a command of snakemake or `mdnmt run` with one more pair for --config; a second --config replaces it."""
    words = shlex.split(command)
    at = words.index("--config") + 1 if "--config" in words else len(words)
    return shlex.join([*words[:at], *([] if "--config" in words else ["--config"]), pair, *words[at:]])
