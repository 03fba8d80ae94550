"""Build the data of one task, or one stage of it: text (clean, split), tokens, codes, arrays."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdnmt.tasks.task_lock import Splits
    from mdnmt.tasks.task_spec import TaskSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--spec", required=True, metavar="JSON", help="the task, as the workflow writes it")
    parser.add_argument("--corpora", type=Path, metavar="DIR", help="folder of the fetched corpora, for the text")
    parser.add_argument(
        "--stage",
        choices=("text", "tokens", "codes", "arrays"),
        help="make only this one (default: all of them that are missing, and the arrays)",
    )
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="DIR",
        help="the task's folder, or TASKS/STAGE/HASH of an earlier stage",
    )
    parser.add_argument(
        "--lock", type=Path, metavar="FILE", help="compare its splits with this lock; a new task is recorded beside it"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes (default 1); same data for any number"
    )


def run(args: argparse.Namespace) -> int | None:
    """Build the task or stage into `--out`; progress goes to stderr."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.errors import ConfigError, DataError
    from mdnmt.tasks.build import build_task
    from mdnmt.tasks.task_data import MANIFEST
    from mdnmt.tasks.task_lock import check_or_record
    from mdnmt.tasks.task_spec import ARRAYS, STAGES, TaskSpec

    spec = parse_spec(args.spec, TaskSpec)
    stages = (args.stage,) if args.stage else (*STAGES, ARRAYS)
    if "text" in stages and args.corpora is None:
        raise ConfigError("--corpora: expected the folder of the fetched corpora; the text is made from them")

    def accept(splits: Splits) -> None:
        if args.lock is None:
            return
        try:
            check_or_record(args.lock, spec.name, spec.fingerprint, splits)
        except DataError:
            (args.out / MANIFEST).unlink(missing_ok=True)  # an earlier build of it does not count as finished either
            raise

    build_task(
        spec,
        args.corpora or Path(),
        _task_folder(spec, args.stage, args.out),
        args.jobs,
        say=lambda line: print(line, file=sys.stderr, flush=True),
        stages=stages,
        accept=accept,
    )
    if ARRAYS in stages:
        _print_ceilings(args.out)
    return None


def _print_ceilings(out: Path) -> None:
    """Print what a perfect system would score, so that a lossy tokenizer is seen before anything is trained."""
    from mdnmt.errors import MdnmtError
    from mdnmt.score.ceiling import ceiling
    from mdnmt.score.test_sets import load_test_sets

    sets, found = load_test_sets(out), []
    try:
        for domain in sets.domains:
            of = ceiling(tuple(sets.references(domain)), sets.target_lang, sets.target_tokenizer, ("bleu", "chrf"))
            found.append(f"{domain} {of['bleu']:.1f}/{of['chrf']:.1f}")
    except MdnmtError as error:  # the task is built; scoring will say the same
        print(f"warning: {error}", file=sys.stderr)
        return
    print(f"ceilings (BLEU/chrF of a perfect system): {', '.join(found)}", file=sys.stderr)


def _task_folder(spec: TaskSpec, stage: str | None, out: Path) -> Path:
    """Return the folder of the task whose stage is made in `out`.

    Raises:
        ConfigError: `out` is not the folder of this stage of this task.
    """
    from mdnmt.errors import ConfigError

    if stage not in spec.stages:
        return out
    if out.parts[-2:] != (stage, spec.stages[stage]):
        raise ConfigError(f"--out: found {out}, expected a folder that ends in {stage}/{spec.stages[stage]}")
    return out.parent.parent / f"{spec.name}-{spec.fingerprint}"
