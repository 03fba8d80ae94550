"""Train or resume one run; exit status 75 means saved, start again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--spec", required=True, help="the run as JSON (mdnmt.config.run.RunSpec)")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--initial", type=Path, help="model.safetensors of the run that the spec starts from")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="folder of pretrained weights")
    parser.add_argument("--method", default="", help="the method's name, for run.json")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, ... (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes that train together; one GPU each")
    parser.add_argument(
        "--worker-timeout-minutes", type=float, default=30.0, help="time after which a silent worker counts as lost"
    )
    parser.add_argument("--threads", type=int, help="CPU threads of each worker")
    parser.add_argument("--on-nan", choices=["stop", "rollback"], default="stop", help="on a NaN or infinite loss")
    parser.add_argument(
        "--graphs", choices=["auto", "on", "off"], default="auto", help="CUDA graphs; on: stop where they fail"
    )
    parser.add_argument("--save-every-minutes", type=float, default=10.0, help="default: %(default)s")
    parser.add_argument("--save-every-updates", type=int, default=0, help="in addition to validations; 0: none")
    parser.add_argument("--stop-after-minutes", type=float, help="save and exit 75 after this time")
    parser.add_argument(
        "--in-job", type=int, default=0, metavar="ATTEMPT", help="number of the attempt, in a cluster job"
    )
    parser.add_argument(
        "--job-minutes", type=float, help="with --in-job: time limit of the job; the run stops before it"
    )
    parser.add_argument(
        "--max-attempts", type=int, default=3, help="with --in-job: attempts without progress; 0: no limit"
    )
    parser.add_argument(
        "--accept-code-change", action="store_true", help="resume from a checkpoint that other training code wrote"
    )
    parser.add_argument("--tensorboard", action="store_true", help="write TensorBoard files while training")
    parser.add_argument(
        "--profile", type=int, default=0, metavar="N", help="write a trace of N updates to the run's folder"
    )


def run(args: argparse.Namespace) -> None:
    """Train the run, in this process or as several workers that it starts."""
    import torch

    from mdnmt.errors import ConfigError
    from mdnmt.train.attempts import minutes_to_train
    from mdnmt.train.data_parallel import LostWorker, from_environment

    count = from_environment().count
    if args.workers < 1 or (count > 1 and args.workers not in {1, count}):
        there = f", and WORLD_SIZE is {count}" if count > 1 else ""
        raise ConfigError(f"found --workers {args.workers}{there}, expected 1 or more; under torchrun 1 or WORLD_SIZE")
    if args.in_job and args.job_minutes is not None:
        minutes = minutes_to_train(args.job_minutes)
        args.stop_after_minutes = min(minutes, args.stop_after_minutes or minutes)
    with _attempt(args) if args.in_job else nullcontext():
        if args.workers > 1 and count == 1:
            from mdnmt.train.launch import launch

            limit = args.stop_after_minutes
            launch(partial(_train, args), args.workers, device=args.device, limit_minutes=limit)
            return
        try:
            _train(args)
        except LostWorker as error:
            if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                error.leave()
            raise


def _train(args: argparse.Namespace) -> None:
    from mdnmt.config.loader import parse_spec
    from mdnmt.config.run import RunSpec
    from mdnmt.machine import require_address
    from mdnmt.methods import pretrained
    from mdnmt.train.run import train_run
    from mdnmt.train.trainer import RuntimeOptions

    spec = parse_spec(args.spec, RunSpec)
    require_address(args.out, spec.fingerprint)
    options: dict[str, Any] = {
        "method_name": args.method,
        "device": args.device,
        "threads": args.threads,
        "runtime": RuntimeOptions(
            args.save_every_minutes,
            args.save_every_updates,
            args.stop_after_minutes,
            args.on_nan,
            args.worker_timeout_minutes,
            args.accept_code_change,
            args.tensorboard,
            args.profile,
            args.graphs,
        ),
    }
    module = pretrained(spec.builder)
    if module is not None:
        module.make_run(spec, args.task, args.out, root=args.pretrained, **options)
    else:
        train_run(spec, args.task, args.out, initial=args.initial, **options)


@contextmanager
def _attempt(args: argparse.Namespace) -> Iterator[None]:
    """Count the attempt of a cluster job, and ask SLURM to requeue the job if it should run again."""
    from mdnmt.errors import Interrupted, LeaseError
    from mdnmt.train.attempts import counted, requeue

    try:
        with counted(args.out, limit=args.max_attempts, is_first=args.in_job == 1):
            yield
    except (Interrupted, LeaseError) as error:
        if done := requeue(error, args.out):
            print(f"{error}; {done}", flush=True)
        raise
