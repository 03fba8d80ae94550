"""Snakemake's locks on a working directory, and the processes that may still need them."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from mdnmt.errors import LeaseError
from mdnmt.train.lease import lease_holders


def locks(folder: Path) -> list[Path]:
    """Return the lock files of a working directory."""
    return sorted((folder / ".snakemake" / "locks").glob("*.lock"))


def running_snakemake(folder: Path) -> str | None:
    """Describe a snakemake process on this host that works in `folder`; None if there is none."""
    here = folder.resolve()
    # The snakemake that called us (from a rule or a test) is no reason to wait.
    ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        words, cwd = process.info["cmdline"] or [], process.info["cwd"]
        # With --mode, a snakemake runs inside a job of another one and locks nothing.
        if process.pid in ours or cwd is None or Path(cwd) != here or "--mode" in words:
            continue
        if any(Path(word).name == "snakemake" for word in words[:3]) or words[1:3] == ["-m", "snakemake"]:
            return f"snakemake (process {process.pid})"
    return None


def refuse_running_snakemake(folder: Path) -> None:
    """Refuse to remove results while a snakemake works in `folder`, on this host or, by its lock, on another one.

    Raises:
        LeaseError: there is one, or the lock of one that was killed.
    """
    if holder := running_snakemake(folder):
        raise LeaseError(f"{folder.name}: {holder} is at work; nothing more was removed: wait for it or stop it")
    if locks(folder):
        raise LeaseError(
            f"{folder.name}: is locked by a snakemake; nothing more was removed: wait for it, or if it was killed, "
            "start `mdnmt unlock` on the machine where it ran"
        )


def running_trainer(folder: Path) -> str | None:
    """Describe a trainer, on any host, that holds the lease of a run in `folder`; None if there is none."""
    leases = sorted((folder / "results" / "runs").glob("*/*/*/lease"))
    for lease, holder in zip(leases, lease_holders(leases, wait=True), strict=True):
        if holder:
            return f"the trainer of {lease.parent.name} ({holder})"
    return None


def remove_locks(found: list[Path]) -> None:
    """Remove lock files."""
    for lock in found:
        lock.unlink(missing_ok=True)
