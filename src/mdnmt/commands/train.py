"""Train one run, or go on with it; exit 75 means saved, start again."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--spec", required=True, help="the run as JSON (mdnmt.config.run.RunSpec)")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--initial", type=Path, help="model.safetensors of the run that the spec starts from")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="where weights of others stand")
    parser.add_argument("--method", default="", help="the method's name, for run.json")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ... (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument("--save-every-minutes", type=float, default=10.0, help="default: %(default)s")
    parser.add_argument("--save-every-updates", type=int, default=0, help="beside validations; 0: none")
    parser.add_argument("--stop-after-minutes", type=float, help="save and exit 75 after this time")
    parser.add_argument("--tensorboard", action="store_true", help="write TensorBoard files at the end")


def run(args: argparse.Namespace) -> None:
    """Train."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.config.run import RunSpec
    from mdnmt.pretrained.config import BUILDER
    from mdnmt.pretrained.run import make_run
    from mdnmt.train.run import train_run
    from mdnmt.train.trainer import Habits

    spec = parse_spec(args.spec, RunSpec)
    options = {
        "method_name": args.method,
        "device": args.device,
        "threads": args.threads,
        "habits": Habits(args.save_every_minutes, args.save_every_updates, args.stop_after_minutes),
    }
    if spec.builder == BUILDER:
        make_run(spec, args.task, args.out, root=args.pretrained, **options)
    else:
        train_run(spec, args.task, args.out, initial=args.initial, **options)
    if args.tensorboard:
        from mdnmt.train.tensorboard import write_events

        write_events(args.out)
