"""Show the runs of a study: progress, time left, attempts, and whether Snakemake and SLURM agree."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="STUDY | -- SNAKEMAKE ...",
        help="a study of config/studies (default: that of config/config.yaml); with --restart the command",
    )
    parser.add_argument("--folder", type=Path, default=Path(), help="the project's folder (default: this one)")
    parser.add_argument("--once", action="store_true", help="print the table once and exit")
    parser.add_argument("--every", type=float, default=30.0, metavar="SECONDS", help="default: %(default)s")
    parser.add_argument(
        "--restart",
        action="store_true",
        help="run the command, and restart it if it waits for jobs that SLURM has lost",
    )
    parser.add_argument(
        "--patience", type=float, default=240.0, metavar="SECONDS", help="a job is lost after this time: %(default)s"
    )


def run(args: argparse.Namespace) -> int | None:
    """Print the table once or repeatedly; with --restart, run the command and supervise it.

    Raises:
        ConfigError: the study is invalid, or --restart names no command.
    """
    import select

    from mdnmt.config.loader import load_model
    from mdnmt.config.project import ProjectConfig
    from mdnmt.errors import ConfigError
    from mdnmt.extras.watch.overview import Overview, overview_text, read_overview
    from mdnmt.extras.watch.supervise import Supervisor
    from mdnmt.operations.plan.benchmark_paths import name_of
    from mdnmt.studies.resolve import resolve
    from mdnmt.workspace import config_file

    folder: Path = args.folder.resolve()
    project = load_model(config_file(folder / "config", "config.yaml"), ProjectConfig)

    if args.restart and not args.words:
        raise ConfigError("--restart: names no command; expected e.g. --restart -- snakemake --profile ...")
    # The study of a command is in its `--config`.
    named = [word.removeprefix("study=") for word in args.words if word.startswith("study=")]
    name = (named or [None])[-1] if args.restart else next(iter(args.words), None)

    def updates() -> dict[str, int | None]:
        # Resolved each time, because corpora that were missing may have been fetched.
        study = resolve(folder / "config", name or project.study, folder / "resources/corpora", project.seeds)
        # For a budget in epochs, the run's own log gives the number of updates.
        return {
            f"{name_of(one)}-{one.fingerprint}": one.spec.training.max_updates
            if one.spec and one.spec.training.max_epochs is None
            else None
            for one in study.makeable()
        }

    def view() -> Overview:
        return read_overview(folder, updates())

    if args.restart:
        return Supervisor(
            args.words, folder, view, patience_seconds=args.patience, every_seconds=min(args.every, args.patience)
        )()
    while True:
        print(overview_text(view()), flush=True)
        if args.once:
            return None
        print(flush=True)
        select.select([], [], [], args.every)
