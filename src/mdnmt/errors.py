"""Errors for users: what was found and where, what was expected, what to do."""

from __future__ import annotations

import os
import pwd
import stat
import unicodedata
from pathlib import Path

EXIT_USER = 2
_MOST = 2000  # characters of a message
EXIT_RESUME = 75  # EX_TEMPFAIL: state is saved, start the same command again


def printable(text: str) -> str:
    r"""Return `text` as one harmless line: control and invisible characters are written like `\x1b`."""
    # Format characters (Cf) can reverse text; separators (Zl, Zp) and controls (Cc) break lines or control a terminal.
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    if text.isascii() and text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in hidden else c for c in text)


def printable_lines(text: str) -> str:
    """Return `text` with every line made harmless, for a terminal."""
    return "\n".join(map(printable, text.split("\n")))


def owned_by_another(path: Path) -> str:
    """Return a note on who owns a path or its nearest existing parent; empty if it is this user."""
    try:
        while not path.exists() and path != path.parent:
            path = path.parent
        owner = path.stat().st_uid
    except OSError:
        return ""
    if owner == os.geteuid():
        return ""
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"user {owner}"
    return f" ({path} belongs to {name})"


def refuse_special_file(path: str | bytes | os.PathLike[str]) -> None:
    """Refuse a pipe, socket or device where a file is expected: reading may never end, and writing would replace it.

    Raises:
        DataError: the path is one of them.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  (may be bytes)
    except (OSError, ValueError):
        return  # whoever opens it reports that
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise DataError(f"{os.fsdecode(path)}: is a {kind}, expected a file; write the text to a file, and name that")


class MdnmtError(Exception):
    """Base of every error that is shown as one line, without a traceback."""

    exit_code = EXIT_USER

    def __str__(self) -> str:
        """Return the message as one printable line, shortened if it is very long."""
        line = super().__str__()
        return printable(line if len(line) <= _MOST else f"{line[: _MOST - 505]} ... {line[-500:]}")


class ConfigError(MdnmtError):
    """A configuration file asks for something impossible."""


class DataError(MdnmtError):
    """A corpus or the data of a task is missing, damaged or malformed."""


class DamagedTask(DataError):
    """A file of a task's data differs from what was written."""

    def __init__(self, found: str) -> None:
        super().__init__(f"{found}; remove the task's folder and start the same command again")


class FetchError(DataError):
    """A corpus could not be fetched, or is not the file that was pinned."""


class CheckpointError(MdnmtError):
    """A checkpoint is damaged, incomplete, or belongs to another run."""


class TrainingError(MdnmtError):
    """Training cannot continue: no usable data, a sentence that is too long, or a NaN or infinite value."""


class LeaseError(MdnmtError):
    """Another process holds the run directory."""

    exit_code = EXIT_RESUME


class Interrupted(MdnmtError):
    """Work was interrupted; everything is saved, and the same command resumes."""

    exit_code = EXIT_RESUME
