"""Analyse a finished run for figures: domain proportions, gates, sentence vectors."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--spec", default="{}", help="how much text, as JSON (mdnmt.config.study.AnalysisConfig)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")


def run(args: argparse.Namespace) -> None:
    """Analyse the run and write the results."""
    from mdnmt.analysis.model_internals import analyse, tied_slots
    from mdnmt.config.loader import parse_spec
    from mdnmt.config.study import AnalysisConfig
    from mdnmt.decode.translator import Translator
    from mdnmt.fingerprint import fingerprint
    from mdnmt.machine import require_address
    from mdnmt.paths import RunPaths
    from mdnmt.tasks.task_data import TaskData
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic
    from mdnmt.training_code import made_by, say_other_code

    config = parse_spec(args.spec, AnalysisConfig)
    require_address(args.out, fingerprint("analyse", config.model_dump(mode="json")))
    data = TaskData.load(args.task)
    make_deterministic(SEED_OF_LOADING, args.threads)
    translator = Translator(args.run, choose_device(args.device))
    say_other_code([args.run])
    record = RunPaths(args.run).record
    made = made_by("analyse", args.run, task=args.task)
    analyse(translator, data, config, args.out, tied_slots(args.run, data), [record], made)
