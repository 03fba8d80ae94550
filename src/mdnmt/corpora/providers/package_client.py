"""Run a package client (pip, npm, apt-get) that downloads a file into a folder."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mdnmt.errors import FetchError

# provider -> its client, and how to get the client.
CLIENTS = {
    "pip": ("pip", "`python -m ensurepip`"),
    "npm": ("npm", "it comes with Node.js"),
    "apt": ("apt-get", "it comes with Debian and its relatives"),
    "apt-list": ("apt-get", "it comes with Debian and its relatives"),
}


def why_client_missing(provider: str) -> str | None:
    """Return a message if the client of a provider is missing, else None."""
    if provider not in CLIENTS:
        return None
    client, remedy = CLIENTS[provider]
    there = importlib.util.find_spec("pip") if provider == "pip" else shutil.which(client)
    where = "Python" if provider == "pip" else "machine"
    return None if there else f"this {where} has no {client} to fetch it; {remedy}"


def run_client(
    command: Sequence[str], what: str, folder: Path | None = None, remedy: str = "check the network, then try again"
) -> None:
    """Run a client, in `folder` if one is given; its output is shown on a terminal.

    Raises:
        FetchError: it cannot be started, or failed; the message has the line that says why.
    """
    client = "pip" if command[0] == sys.executable else command[0]
    # Clients draw progress on standard output, but ours belongs to the caller.
    shown = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=shown, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    except OSError as error:
        raise FetchError(f"{what}: {client} cannot be started ({error})") from None
    if done.returncode != 0:
        reason = _reason(done.stderr) or f"exit status {done.returncode}"
        raise FetchError(f"{what}: {client} could not download it: {reason}; {remedy}")


def _reason(said: str) -> str:
    """Return the line that says why: the last one, or npm's first error line after the error code."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    of_npm = [line for line in lines if line.startswith("npm error") and not line.startswith("npm error code")]
    return of_npm[0] if of_npm else lines[-1] if lines else ""
