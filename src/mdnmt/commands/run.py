"""Make a study from corpora to report, with one display of its progress; calls snakemake."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdnmt.config.study import StudyConfig

_SETS_CORES = ("--cores", "-c", "--jobs", "-j", "--profile", "--workflow-profile")
_NAMES_WORKFLOW = ("--snakefile", "-s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study of config/studies")
    parser.add_argument(
        "options",
        nargs=argparse.REMAINDER,
        metavar="OPTION",
        help="--only KEY: one table or figure and what it needs; others are for snakemake, e.g. --cores 2 or -n",
    )


def run(args: argparse.Namespace) -> int:
    """Start snakemake on the study and return its exit status.

    Raises:
        ConfigError: there is no such study.
        LeaseError: another snakemake is at work here.
    """
    import os
    import shlex
    import signal
    import subprocess
    import sys

    from mdnmt.commands import unlock
    from mdnmt.config.study import load_study
    from mdnmt.workspace import SNAKEFILE, has_snakefile

    config = load_study(Path("config"), args.study)
    options: list[str] = [word for word in args.options if word != "--"]
    again = ["mdnmt", "run", args.study, *options]
    options = _with_targets(args.study, config, options)
    # A second --config would replace the first one.
    at = options.index("--config") + 1 if "--config" in options else len(options)
    study = [f"study={args.study}"] if "--config" in options else ["--config", f"study={args.study}"]
    cores = [] if any(word.startswith(_SETS_CORES) for word in options) else ["--cores", "all"]
    has_own = has_snakefile(Path()) or any(word.startswith(_NAMES_WORKFLOW) for word in options)
    workflow = [] if has_own else ["--snakefile", str(SNAKEFILE)]
    command = [sys.executable, "-m", "snakemake", *workflow, *cores, *options[:at], *study, *options[at:]]
    is_dry = not {"-n", "--dry-run", "--dryrun"}.isdisjoint(options)
    if not is_dry:
        unlock.run(argparse.Namespace(folder=Path()))  # remove the lock of a snakemake that was killed
        if "--logger" not in options:
            command += ["--logger", "mdnmt"]
    # The rules call `mdnmt`, and must find that of this environment first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    page = Path("results", args.study, "report.html")
    before = _written(page)
    process = subprocess.Popen(
        command, env={**os.environ, "MDNMT_COMMAND": shlex.join(again), "PATH": path, **_cache_folder()}
    )
    # As Ctrl-C in a terminal, which reaches Snakemake and its jobs, so that trainings save.
    signal.signal(signal.SIGTERM, lambda *_: _interrupt(process.pid))
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:  # the terminal sends Ctrl-C to Snakemake as well, which ends its jobs in order
            continue
    # A single table may have been asked for.
    if status == 0 and not is_dry and (not options or _written(page) != before):
        print(f"the report: {page}")
    return status if status >= 0 else 128 - status


def _interrupt(snakemake: int) -> None:
    import signal
    from contextlib import suppress

    import psutil

    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(snakemake)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGINT)


def _with_targets(name: str, config: StudyConfig, options: list[str]) -> list[str]:
    """Return the options with the file of a table or figure in the place of `--only KEY`.

    Raises:
        ConfigError: the study shows no such table or figure.
    """
    from mdnmt.config.loader import did_you_mean
    from mdnmt.errors import ConfigError

    if "--only" not in options:
        return options
    at = options.index("--only")
    key = "".join(options[at + 1 : at + 2])
    files = {key: f"results/{name}/tables/{key}.md" for key in config.tables}
    files |= {key: f"results/{name}/figures/{key}.png" for key in config.figures}
    if key not in files:
        raise ConfigError(
            f"study {name} shows no table or figure {key!r}{did_you_mean(key, files)}; expected one of: "
            f"{', '.join(files) or 'none, it shows nothing'}"
        )
    # First, because snakemake takes what follows --config or --forcerun as theirs.
    return [files[key], *options[:at], *options[at + 2 :]]


def _written(page: Path) -> int | None:
    return page.stat().st_mtime_ns if page.is_file() else None


def _cache_folder() -> dict[str, str]:
    """Return a variable that moves Snakemake's cache into the project if the one at home cannot be written."""
    import os

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.environ.get("HOME", "~"), ".cache").expanduser())
    try:
        (cache / "snakemake").mkdir(parents=True, exist_ok=True)
        is_writable = os.access(cache / "snakemake", os.W_OK | os.X_OK)
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        is_writable = False
    return {} if is_writable else {"XDG_CACHE_HOME": str(Path(".snakemake/cache").absolute())}
