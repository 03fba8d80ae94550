"""Make a study from corpora to report, with one display of its progress; calls snakemake."""

from __future__ import annotations

import argparse
from pathlib import Path

_SETS_CORES = ("--cores", "-c", "--jobs", "-j", "--profile", "--workflow-profile")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study of config/studies")
    parser.add_argument(
        "options", nargs=argparse.REMAINDER, metavar="OPTION", help="for snakemake, e.g. --cores 2 (default: all) or -n"
    )


def run(args: argparse.Namespace) -> int:
    """Start snakemake on the study and return its exit status.

    Raises:
        ConfigError: there is no such study.
        LeaseError: another snakemake is at work here.
    """
    import os
    import shlex
    import subprocess
    import sys

    from mdnmt.commands import unlock
    from mdnmt.config.study import load_study

    load_study(Path("config"), args.study)
    options: list[str] = [word for word in args.options if word != "--"]
    # A second --config would replace the first one.
    at = options.index("--config") + 1 if "--config" in options else len(options)
    study = [f"study={args.study}"] if "--config" in options else ["--config", f"study={args.study}"]
    cores = [] if any(word.startswith(_SETS_CORES) for word in options) else ["--cores", "all"]
    command = [sys.executable, "-m", "snakemake", *cores, *options[:at], *study, *options[at:]]
    is_dry = not {"-n", "--dry-run", "--dryrun"}.isdisjoint(options)
    if not is_dry:
        unlock.run(argparse.Namespace(folder=Path()))  # remove the lock of a snakemake that was killed
        if "--logger" not in options:
            command += ["--logger", "mdnmt"]
    again = ["mdnmt", "run", args.study, *options]
    # The rules call `mdnmt`, and must find that of this environment first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    process = subprocess.Popen(command, env={**os.environ, "MDNMT_COMMAND": shlex.join(again), "PATH": path})
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:  # the terminal sends Ctrl-C to Snakemake as well, which ends its jobs in order
            continue
    if status == 0 and not is_dry:
        print(f"the report: results/{args.study}/report.html")
    return status if status >= 0 else 128 - status
