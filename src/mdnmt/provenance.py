"""Record what made a result: version, commit, packages, machine, time; never a user, a host or an absolute path."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from mdnmt import __version__

KEY_PACKAGES = (
    "torch", "numpy", "pydantic", "PyYAML", "safetensors", "sacrebleu", "sacremoses", "subword-nmt",
    "snakemake", "pandas", "matplotlib", "scikit-learn", "jinja2", "scipy", "jieba", "transformers",
)  # fmt: skip
# Those whose version can change a number of a run: its data, its training, its translations.
NUMERIC_PACKAGES = (
    "torch", "numpy", "sacrebleu", "sacremoses", "subword-nmt", "scikit-learn", "jieba", "transformers",
)  # fmt: skip

CODE_FOLDERS = ("src", "plugins", "workflow", "config")  # what decides results; a new file there is a change
_NO_LOCKS = ":(top,exclude)config/*.lock.yaml"


def _git(*arguments: str) -> str | None:
    """Return what git prints for the folder of this file, or None without git or a repository."""
    # --no-optional-locks: never write to the index, because somebody may be committing at this moment.
    command = ["git", "--no-optional-locks", "-C", str(Path(__file__).resolve().parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def git_state() -> tuple[str | None, bool | None]:
    """Return (commit, dirty) of the repository this package is run from; (None, None) outside one.

    A package that is installed inside another repository (in a virtual environment, say) is not part of it: git must
    track this very file. Dirty means that a tracked file differs from the commit, or that one of `CODE_FOLDERS` has a
    file that git neither tracks nor ignores; the locks in config/ do not count, because jobs add to them.
    """
    if not _git("ls-files", "--error-unmatch", Path(__file__).name):
        return None, None
    commit = _git("rev-parse", "HEAD")
    if not commit:
        return None, None
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", _NO_LOCKS)
    if changes == "":
        # Asked separately, because here git reads four folders and not the whole repository.
        inside = (f":(top){name}" for name in CODE_FOLDERS)
        changes = _git("ls-files", "--others", "--exclude-standard", "--", *inside, _NO_LOCKS)
    return commit, None if changes is None else bool(changes)


def committed_files(folder: Path) -> set[Path] | None:
    """Return the files below a folder of this package that HEAD has; None outside a repository of it."""
    listed = _git("-C", str(folder), "ls-tree", "-r", "-z", "--name-only", "HEAD")
    return {folder / name for name in listed.split("\0") if name} if listed else None


def package_versions(names: Iterable[str] = KEY_PACKAGES) -> dict[str, str]:
    """Return the versions of those of these packages that are installed."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def cpu_model() -> str:
    """Return the processor's name, as the system reports it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Return the number of cores that this process may use; a container or a scheduler may limit it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def made_by(code: str) -> dict[str, Any]:
    """Return what every exhibit records about how it was made: version, commit, dirty, and the hash of the code.

    It has no time or machine, so the same code writes the same bytes everywhere.
    """
    return {"mdnmt": __version__, **_commit_of_this_process(), "code": code}


@cache
def _commit_of_this_process() -> dict[str, Any]:
    # Asked only once: the process keeps the modules that it imported, even if a commit is made while it runs.
    commit, dirty = git_state()
    return {"commit": commit, "dirty": dirty}


def collect() -> dict[str, Any]:
    """Return what made a result, as plain JSON values.

    Keys: mdnmt, commit and dirty (None outside a repository), python, packages, platform, cpu, cores,
    utc (ISO 8601, seconds).
    """
    commit, dirty = git_state()
    return {
        "mdnmt": __version__,
        "commit": commit,
        "dirty": dirty,
        "python": platform.python_version(),
        "packages": package_versions(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "utc": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
