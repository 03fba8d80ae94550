"""Where the time of a finished study goes: train, decode and score, and all that lies outside of them.

    python benchmarks/overhead.py FOLDER [--log FILE] [--json found.json]

FOLDER is the project that the study was made in; its newest log of Snakemake is read, which has to be of one start that
made everything. What is counted are core-seconds: the seconds from Snakemake's start to its last line, times its cores.
A job occupies its cores (`--wide`: rules that take all of them) from the line that starts it to the line that finishes
it; the log tells whole seconds, which is right on the average of many jobs. What no job occupies is Snakemake's, or is
waited away: reading the workflow, choosing jobs, a core that nothing is ready for. What Snakemake computes while every
core has its job is part of the jobs' time, since it makes them slower.

Inside are the rules that train, translate and score. `measure` is one of them: all it does is to train and translate
each row under a stopwatch, alone on the machine. The share with it outside is printed as well.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mdnmt import fsio, provenance

INSIDE = {"train", "decode", "word_accuracy", "comet", "comets", "score", "score_copy", "requested_metric", "measure"}
STOPWATCH = "measure"
NOTHING = "no job"
DATE = re.compile(r"\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\]")
BEGUN = re.compile(r"(?:Job (\d+): |    jobid: (\d+)$)")
ENDED = re.compile(r"Finished jobid: (\d+) \(Rule: (\w+)\)")
STARTED_AT = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}\.\d+)\.snakemake\.log")


@dataclass(frozen=True)
class Job:
    """One job: its rule, when it began and ended (seconds of the epoch)."""

    rule: str
    begun: float
    ended: float


@dataclass(frozen=True)
class Log:
    """What a log of Snakemake tells.

    Attributes:
        jobs: that were finished.
        cores: that Snakemake had.
        begun, ended: of Snakemake itself, seconds of the epoch.
        steps: how many jobs it had to make.
    """

    jobs: list[Job]
    cores: int
    begun: float
    ended: float
    steps: int


def read_log(path: Path) -> Log:
    """Read a log; ends the program where it is not one of a finished study."""
    now, begun, jobs, cores, steps = 0.0, {}, [], 0, 0
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := DATE.match(line):
            now = datetime.strptime(found[1], "%a %b %d %H:%M:%S %Y").timestamp()
        elif found := BEGUN.match(line):
            begun[found[1] or found[2]] = now
        elif found := ENDED.match(line):
            if found[1] in begun:  # `all` has no job
                jobs.append(Job(found[2], begun[found[1]], now))
        elif line.startswith("Provided cores: "):
            cores = int(line.split()[2])
        elif line.startswith("total "):
            steps = int(line.split()[1])
    name = STARTED_AT.fullmatch(path.name)
    if not jobs or not cores or not name:
        sys.exit(f"{path}: found no finished jobs of a local start of Snakemake; expected a log in .snakemake/log")
    return Log(jobs, cores, datetime.strptime(name[1], "%Y-%m-%dT%H%M%S.%f").timestamp(), now, steps)


def occupied(log: Log, wide: Iterable[str]) -> dict[str, tuple[int, float]]:
    """Return rule -> (jobs, core-seconds), and what no job occupies under its own name."""
    rows: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for job in log.jobs:
        count, seconds = rows[job.rule]
        rows[job.rule] = (count + 1, seconds + (job.ended - job.begun) * (log.cores if job.rule in wide else 1))
    rest = log.cores * (log.ended - log.begun) - sum(seconds for _, seconds in rows.values())
    return {**rows, NOTHING: (0, max(0.0, rest))}


def table(rows: dict[str, tuple[int, float]], total: float) -> None:
    print("| rule | jobs | core-seconds | a job | share | |\n|---|---:|---:|---:|---:|---|")
    for rule, (count, seconds) in sorted(rows.items(), key=lambda row: -row[1][1]):
        each = f"{seconds / count:.2f}" if count else ""
        inside = "train, decode, score" if rule in INSIDE else ""
        print(f"| {rule} | {count or ''} | {seconds:.0f} | {each} | {100 * seconds / total:.1f} % | {inside} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="project with a finished study")
    parser.add_argument("--log", type=Path, help="of Snakemake (default: the newest)")
    parser.add_argument("--wide", nargs="*", default=["measure"], help="rules that take all cores")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    path = options.log or max((options.folder / ".snakemake" / "log").glob("*.log"), default=None)
    if path is None:
        sys.exit(f"{options.folder}: found no log of Snakemake; expected .snakemake/log/*.log")
    log = read_log(path)
    rows, total = occupied(log, options.wide), log.cores * (log.ended - log.begun)
    print(
        f"{path.name}: {log.ended - log.begun:.0f} s on {log.cores} cores, {len(log.jobs)} jobs of {log.steps} steps\n"
    )
    table(rows, total)
    inside = sum(seconds for rule, (_, seconds) in rows.items() if rule in INSIDE)
    outside = 100 * (1 - inside / total)
    with_measured = outside + 100 * rows.get(STOPWATCH, (0, 0.0))[1] / total
    print(f"\nOutside of train, decode and score {outside:.1f} %, or {with_measured:.1f} % with {STOPWATCH}")
    found: dict[str, Any] = {
        "provenance": provenance.collect(),
        "log": path.name,
        "seconds": log.ended - log.begun,
        "cores": log.cores,
        "rules": {rule: {"jobs": count, "core_seconds": seconds} for rule, (count, seconds) in rows.items()},
        "outside_percent": outside,
        "outside_percent_with_measure": with_measured,
    }
    if options.json:
        fsio.write_json(options.json, found)


if __name__ == "__main__":
    main()
