"""The Python environment of COMET: its library needs older packages than the rest, so it has an environment of its own.

The environment is in the project's folder; a link to one elsewhere will do. The rules that score with COMET start
`mdnmt comet` by the path of its Python. The package's own code is linked into it, not installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from mdnmt.errors import ConfigError
from mdnmt.fsio import write_text
from mdnmt.workspace import PACKAGED

FOLDER = Path(".venv-comet")
PYTHON = FOLDER / "bin" / "python"
MADE = FOLDER / "made"  # written last: what the environment is made of
_PACKAGE = Path(__file__).resolve().parents[2]
_LOCK = PACKAGED / "envs" / "lock"
_LOCKS = ("comet.txt", "torch-cpu.txt", "torch-cuda.txt")


def make() -> None:
    """Make the environment, or bring it to the lock; it has the same build of torch as the one that runs.

    Raises:
        ConfigError: it could not be made: no network, no fitting Python, a full disk.
    """
    build = "cpu" if metadata.version("torch").endswith("+cpu") else "cuda"
    command = ["sh", str(PACKAGED / "envs" / "setup.sh"), sys.executable, str(FOLDER), "comet"]
    done = subprocess.run(
        command, env={**os.environ, "TORCH": build, "EXTRAS": ""}, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        *before, last = done.stderr.strip().splitlines() or [f"{FOLDER}: {command[1]} ended with {done.returncode}"]
        print(*before, sep="\n", file=sys.stderr, end="")
        raise ConfigError(last.removeprefix("mdnmt: "))
    [libraries] = FOLDER.glob("lib/python3.*/site-packages")
    link = libraries / "mdnmt"
    link.unlink(missing_ok=True)
    link.symlink_to(_PACKAGE)
    write_text(MADE, identity())


def forget_stale() -> None:
    """Remove the mark `MADE` if its Python no longer starts, or the lock or the place of this package is another now.

    The next job that needs the environment then waits until it is made again.
    """
    if MADE.is_file() and not (MADE.read_text(encoding="utf-8") == identity() and _starts()):
        MADE.unlink()


def identity() -> str:
    """Return what `MADE` says of an environment as it is locked now."""
    lock = b"".join((_LOCK / name).read_bytes() for name in _LOCKS)
    return f"{hashlib.sha256(lock).hexdigest()}\n{_PACKAGE}\n"


def _starts() -> bool:
    try:
        done = subprocess.run([PYTHON, "-c", "import mdnmt"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0
