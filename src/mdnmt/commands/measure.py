"""Measure time, throughput and memory of finished runs, one after the other, each in its own process."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--runs", required=True, help="JSON: name of the row -> folder of the run")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--decoding", default="{}", help="beam search as JSON")
    parser.add_argument(
        "--repeats", type=int, default=3, help="repetitions; the median is reported (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, required=True, help="measure.json")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="folder of pretrained weights")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")


def run(args: argparse.Namespace) -> None:
    """Measure each run in its own process, so that peak memory is that of one run."""
    import json
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    from mdnmt.errors import MdnmtError
    from mdnmt.training_code import say_other_code

    if args.repeats < 1:
        raise MdnmtError(f"found --repeats {args.repeats}, expected 1 or more")
    runs: dict[str, str] = json.loads(args.runs)
    say_other_code(map(Path, runs.values()))
    rows: dict[str, dict[str, Any]] = {}
    device = "none"  # the child processes choose it: choosing it here would import torch
    # Fork each child from a process that has imported torch and sacremoses already: the imports take longer than small
    # runs do.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mdnmt.analysis.resources", "sacremoses"])
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as processes:
        for name, folder in runs.items():
            try:
                device, rows[name] = processes.submit(_measure, args, folder).result()
            except MdnmtError as error:
                raise MdnmtError(f"measuring {name} ({folder}) failed: {error}") from None
            except BrokenProcessPool:
                raise MdnmtError(f"measuring {name} ({folder}) failed: its process was killed") from None
            print(f"{name}: {rows[name]['decode_tokens_per_second']:,.0f} target tokens/s in translation", flush=True)
    _write(args, rows, device)


def _measure(args: argparse.Namespace, folder: str) -> tuple[str, dict[str, Any]]:
    from mdnmt.analysis.resources import measure_run
    from mdnmt.config.decoding import Decoding
    from mdnmt.config.loader import parse_spec
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic

    make_deterministic(SEED_OF_LOADING, args.threads)
    device = choose_device(args.device)
    decoding = parse_spec(args.decoding, Decoding)
    options: dict[str, Any] = {"device": device, "repeats": args.repeats, "root": args.pretrained}
    return str(device), measure_run(Path(folder), args.task, decoding, **options)


def _write(args: argparse.Namespace, rows: dict[str, dict[str, Any]], device: str) -> None:
    import json

    from mdnmt import fsio, provenance
    from mdnmt.training_code import made_by

    made = provenance.collect()
    hardware = {
        "cpu": made["cpu"],
        "cores": args.threads or made["cores"],
        "device": device,
        # Above a few per cent, other processes were busy meanwhile and the figures mean little.
        "busy_percent": max((row["others_percent"] for row in rows.values() if "others_percent" in row), default=None),
        "others_on_gpu": max((row["others_on_gpu"] for row in rows.values() if "others_on_gpu" in row), default=None),
    }
    # Not tied to the runs' records: time and memory stay what they are when a record is written again.
    options = {"runs": json.loads(args.runs), "decoding": json.loads(args.decoding), "repeats": args.repeats}
    code = made_by("measure", *map(Path, options["runs"].values()))
    found = {"hardware": hardware, "rows": rows, "provenance": made}
    fsio.write_sealed(args.out, found, made_with=options, made_by=code)
