"""Set the runs of a method aside, so that Snakemake trains them again; they can be moved back."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from mdnmt.config.loader import did_you_mean
from mdnmt.errors import ConfigError, LeaseError
from mdnmt.operations.snakemake_locks import running_snakemake
from mdnmt.studies.study import Run, Study
from mdnmt.train.lease import lease_holders

SET_ASIDE = "set-aside"  # in the folder of results


def runs_to_retrain(study: Study, method: str, seeds: Collection[int], results: Path) -> list[Run]:
    """Return the runs of a method that have a folder, and those that start from the weights of one of them.

    Args:
        study: the study that names them.
        method: the method's name, or that of its folder (`single-law`).
        seeds: only these; empty for all.
        results: the folder of results.

    Raises:
        ConfigError: the study has no such method or seed, or nothing of it is trained here.
    """
    names = dict.fromkeys(name for run in study.runs for name in (run.method, run.directory))
    if method not in names:
        raise ConfigError(
            f"study {study.name} has no method {method!r}{did_you_mean(method, names)}; it has {', '.join(names)}; "
            "--study NAME names another study"
        )
    chosen = [run for run in study.makeable() if method in (run.method, run.directory)]
    if missing := sorted(set(seeds) - {run.seed for run in chosen}):
        have = ", ".join(map(str, sorted({run.seed for run in chosen}))) or "none"
        raise ConfigError(f"study {study.name} has no run of {method!r} with seed {missing[0]}; it has {have}")
    chosen = [run for run in chosen if not seeds or run.seed in seeds]
    found = [run for run in chosen if (results / "runs" / run.address).is_dir()]
    if not found:
        raise ConfigError(
            f"{results}/runs: holds none of the {len(chosen)} runs of {method!r} in study {study.name}, so nothing "
            f"is to be trained again; `mdnmt plan {study.name}` says what is missing"
        )
    started = [run for run in study.makeable() if study.start_of(run) in chosen and run not in chosen]
    return [*found, *(run for run in started if (results / "runs" / run.address).is_dir())]


def set_aside(runs: Collection[Run], results: Path) -> dict[str, Path]:
    """Move the folders of runs to `results/set-aside/`, and return address -> where it is now.

    Raises:
        LeaseError: a Snakemake works in this project, or a trainer on one of the runs.
    """
    addresses = list(dict.fromkeys(run.address for run in runs))
    leases = [results / "runs" / address / "lease" for address in addresses]
    holders = zip(addresses, lease_holders(leases, wait=True), strict=True)
    trainer = next((f"the trainer of {address} ({holder})" for address, holder in holders if holder), None)
    if busy := running_snakemake(results.absolute().parent) or trainer:
        raise LeaseError(f"{results}: {busy} is at work; wait for it or stop it, then start this command again")
    moved = {}
    for address in addresses:
        number = 1
        while (place := results / SET_ASIDE / f"{address}.{number}").exists():
            number += 1
        place.parent.mkdir(parents=True, exist_ok=True)
        (results / "runs" / address).rename(place)
        moved[address] = place
    return moved
