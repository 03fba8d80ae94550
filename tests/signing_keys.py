"""Signing keys of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


def write_keys(folder: Path, name: str) -> tuple[Path, Path]:
    """Make an SSH key pair; return the private and the public file."""
    private = folder / name
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(private)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return private, private.with_suffix(".pub")
