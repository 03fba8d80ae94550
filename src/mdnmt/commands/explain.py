"""Say which line of which file sets an option of a run, and what it overrides."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("run", metavar="STUDY/TASK/METHOD", help="the runs of a method on a task of a study")
    parser.add_argument("key", nargs="?", metavar="KEY", help="an option, e.g. learning_rate; none: all that are set")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Resolve the study and print where its options come from.

    Raises:
        ConfigError: there is no such run or option.
    """
    from mdnmt.config.loader import did_you_mean
    from mdnmt.errors import ConfigError, printable_lines
    from mdnmt.studies.explain import explain
    from mdnmt.studies.resolve import resolve_options

    name, task, method = (*args.run.split("/"), "", "")[:3]
    study, options = resolve_options(args.config_folder, name, args.corpora, provisional=True)
    found = {one.key: one for one in explain(study, options, task, method)}
    if args.key is None:
        lines = [f"{key}: {one.value}  {one.settings[-1].place}" for key, one in found.items() if one.is_set]
        print(printable_lines("\n".join(lines)))
        return
    wanted = [one for key, one in found.items() if args.key in (key, key.partition(".")[2])]
    if not wanted:
        names = [key.partition(".")[2] for key in found]
        raise ConfigError(f"no option {args.key!r}{did_you_mean(args.key, names)}; there are: {', '.join(found)}")
    for one in wanted:
        lines = [f"{one.key} of {task}/{method} in the study {name}: {one.value}"]
        for number, setting in enumerate(reversed(one.settings)):
            what = "overridden" if number else "decides" if one.is_set else "decides, in its place"
            lines.append(f"  {setting.place}: {setting.option}: {setting.value} ({what})")
        lines.append(f"  default: {one.default}" + ("" if one.settings else " (decides)"))
        print(printable_lines("\n".join(lines)))
