"""List, and with --yes remove, tasks and runs that no study names any more."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--stale", action="store_true", required=True, help="tasks and runs that no study names")
    parser.add_argument("--yes", action="store_true", help="remove them (without it they are only listed)")
    parser.add_argument("--config", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Compare the results with all studies of the config folder, and list or remove what none of them names.

    Raises:
        ConfigError: a study cannot be read.
        LeaseError: a snakemake is at work here; its runs may be named on its command line alone.
    """
    import sys

    from mdnmt.config.loader import load_model
    from mdnmt.config.project import ProjectConfig
    from mdnmt.errors import ConfigError, MdnmtError
    from mdnmt.fsio import remove_tree
    from mdnmt.operations.snakemake_locks import refuse_running_snakemake
    from mdnmt.operations.stale_results import find_stale
    from mdnmt.studies.resolve import resolve
    from mdnmt.workspace import config_file, config_files

    project = args.results.absolute().parent
    if args.yes:
        refuse_running_snakemake(project)
    seeds = load_model(config_file(args.config, "config.yaml"), ProjectConfig).seeds
    names = [path.stem for path in config_files(args.config, "studies/*.yaml")]
    # Keep the runs of both: the seeds set for all studies in config.yaml, and each study's own seeds.
    studies, broken = [], []
    for name in names:
        try:
            studies += [resolve(args.config, name, args.corpora, chosen) for chosen in {seeds, None}]
        except MdnmtError as error:
            broken.append(name)
            print(f"mdnmt clean: study {name} is left out: {error}", file=sys.stderr)
    if broken and args.yes:
        raise ConfigError(
            f"nothing was removed: the folders of {', '.join(broken)} are not known while it cannot be read; fix it, "
            "or move its file out of the folder, and start again"
        )
    stale, kept = find_stale(studies, args.results, wait=args.yes)
    for folder in kept:
        print(f"kept: {folder} (a study was started with it, though no configuration names it: other seeds?)")
    if not stale:
        print(f"nothing stale: every task and run in {args.results} is named by one of {', '.join(names)}")
        return
    if broken:
        print(f"some of this may belong to {', '.join(broken)}, which cannot be read:")
    for found in stale:
        note = f"  in use: {found.held_by}" if found.held_by else ""
        if args.yes and not found.held_by:
            refuse_running_snakemake(project)  # again, because watching leases and removing folders take time
            remove_tree(found.folder)
            note = "  removed"
        print(f"{found.size_bytes / 1e6:8.1f} MB  {found.folder}{note}")
    if not args.yes:
        total = sum(found.size_bytes for found in stale) / 1e6
        print(f"{len(stale)} stale, {total:.1f} MB in all; `mdnmt clean --stale --yes` removes them")
