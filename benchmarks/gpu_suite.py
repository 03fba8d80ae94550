"""All that a GPU can show of this project, in stages that can be stopped and started again: `make gpu`.

    python benchmarks/gpu_suite.py [--out results/gpu] [--stages N]

1. the machine: its GPU and the rate of its matrix products;
2. the tests in tests/gpu;
3. three models trained by the trainer for some hundred updates: speed, launches, synchronisations, memory; the plain
   one, and one as small as the demo's, also with torch.compile;
4. one method of each paper at its printed size and with its recipe, for some hundred updates of generated text: memory
   beside the plan's, and the hours of the whole training;
5. the study gpu-demo: four methods, width 512, 6 + 6 layers, on the demo's text where results/tasks has it, else on
   generated text.

Each stage is a process of at most 8 minutes. What it found is written to OUT/stages; a stage that is done there, with
the same GPU, torch and commit, is not done again. A training that takes longer is saved and goes on in another process.
At the end OUT/gpu.json and OUT/gpu.html hold everything. Exit status 75: stages are left, start the same command again;
2: something is missing, and one line says what.

Needs torch 2.11 or newer with CUDA, numpy, pydantic, PyYAML, safetensors and sacrebleu; no network.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"torch": "torch", "numpy": "numpy", "pydantic": "pydantic", "yaml": "PyYAML",
            "safetensors": "safetensors", "sacrebleu": "sacrebleu"}  # fmt: skip
OLDEST_TORCH = (2, 11)
STAGE_MINUTES = 8
MAX_SLICES = 6  # of one stage: a training that is not done by then is reported as it is
METHODS = ("mixed", "waldm-edc", "dsa", "damha-dmoe-domain")
SPEEDS: dict[str, dict[str, str]] = {  # what benchmarks/gpu.py measures
    "transformer": {"model": "transformer"},
    "waldm-edc": {"model": "waldm-edc"},
    "damha-dmoe": {"model": "damha-dmoe"},
    "transformer-compiled": {"model": "transformer", "compile": "default"},
    "transformer-cuda-graphs": {"model": "transformer", "compile": "reduce-overhead"},
    "small": {"model": "transformer", "size": "demo"},
    "small-compiled": {"model": "transformer", "size": "demo", "compile": "default"},
    "small-cuda-graphs": {"model": "transformer", "size": "demo", "compile": "reduce-overhead"},
}
# Method -> task of the study `paper`: one method of each paper.
PRINTED = {"waldm-edc": "jiang-en-de", "dsa": "zhang-zh-en", "damha-dmoe-mix-loss": "song-en-fr"}
TESTS = {"tests-steps": "step_on_the_gpu or bfloat16", "tests-runs": "not step_on_the_gpu and not bfloat16"}
STAGES = (
    "machine",
    *TESTS,
    *(f"speed-{name}" for name in SPEEDS),
    *(f"printed-{name}" for name in PRINTED),
    *(f"demo-{name}" for name in METHODS),
)
STUDY = {  # of gpu-demo: sizes and recipe; the second set is for tests on a CPU
    False: (
        {"model_dim": 512, "ffn_dim": 2048, "num_heads": 8, "encoder_layers": 6, "decoder_layers": 6},
        {"max_updates": 3000, "max_tokens": 8000, "learning_rate": 1e-3, "warmup_updates": 500, "validate_every": 1000},
        ({"train": 200_000, "valid": 800, "test": 400}, 8000, 18),
    ),
    True: (
        {"model_dim": 16, "ffn_dim": 32, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1},
        {"max_updates": 40, "max_tokens": 300, "learning_rate": 5e-3, "warmup_updates": 10, "validate_every": 20},
        ({"train": 400, "valid": 16, "test": 8}, 60, 6),
    ),
}


def missing(device: str) -> str | None:
    """Say in one line what is missing here; None: nothing."""
    lacking = [name for module, name in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if lacking:
        return f"found no package {', '.join(lacking)} for {sys.executable}, expected it installed: run `make setup`"
    import torch

    found = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    if found < OLDEST_TORCH:
        return f"found torch {torch.__version__}, expected 2.11 or newer"
    if device == "cpu":
        return None
    if torch.version.cuda is None:
        return f"found torch {torch.__version__}, built without CUDA, expected a CUDA build and an NVIDIA GPU"
    if not torch.cuda.is_available():
        return (
            f"found no NVIDIA GPU that torch {torch.__version__} can use, expected one: is there a card and a driver?"
        )
    return None


def machine(options: argparse.Namespace) -> dict[str, Any]:
    """Return what computes here."""
    import gpu
    import torch

    from mdnmt.train.device import choose_device

    device = choose_device(options.device)
    on_gpu = device.type == "cuda"
    return {
        "memory_mib": torch.cuda.get_device_properties(device).total_memory / 2**20 if on_gpu else 0.0,
        "matrix_rate": gpu.matrix_rate(device, [4096, 8192, 16384] if on_gpu else [256]),
    }


def run_tests(options: argparse.Namespace) -> dict[str, Any]:
    """Return how a part of tests/gpu ended."""
    if importlib.util.find_spec("pytest") is None:
        return {"outcome": "not run: pytest is not installed"}
    command = [sys.executable, "-m", "pytest", "-rf", "tests/gpu", "-k", TESTS[options.stage]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    log = options.out / f"{options.stage}.log"
    log.write_text(done.stdout + done.stderr)
    if failed:
        failed.append(f"{log} has the whole output")
    return {"outcome": lines[-1].strip("= ") if lines else done.stderr.strip()[-200:], "failed": failed}


def measure_speed(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a model of benchmarks/gpu.py."""
    import gpu

    chosen: dict[str, Any] = dict(SPEEDS[options.stage.partition("-")[2]])
    if options.toy:
        chosen["size"] = "tiny"
    return gpu.measure(**chosen, **_measuring(options))


def measure_printed(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a method at its printed size."""
    import gpu

    method = options.stage.partition("-")[2]
    return gpu.measure_printed(PRINTED[method], method, **_measuring(options), toy=options.toy)


def _measuring(options: argparse.Namespace) -> dict[str, Any]:
    rate = read(options.out, "machine")["matrix_rate"]
    return {"device": options.device, "updates": 24 if options.toy else 240, "rate": rate, "work": options.out / "work"}


def train_method(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return the figures of a method of the study; None: saved, to be gone on with."""
    import generated_task

    from mdnmt.cli import main as mdnmt_main
    from mdnmt.config.method import load_method
    from mdnmt.config.run import RunSpec
    from mdnmt.config.training import Training, merge_recipes
    from mdnmt.fsio import read_json
    from mdnmt.methods import validate
    from mdnmt.train.metrics_log import read_metrics

    sizes, recipe, (pairs, vocab, length) = STUDY[options.toy]
    demo = sorted((ROOT / "results" / "tasks").glob("demo-en-fr-*/task.json"))
    if demo and not options.toy:
        task = demo[-1].parent
    else:
        folder = options.out / "work" / "gpu-demo-task"
        task = generated_task.write_task(folder, pairs=pairs, vocab_size=vocab, mean_length=length)
    manifest, name = read_json(task / "task.json"), options.stage.partition("-")[2]
    config = load_method(ROOT / "config", name)
    shared = {**sizes, "share_embeddings": "decoder"}
    common = {"log_every": 20 if options.toy else 100, "average_checkpoints": 0, "training_sample_sentences": 0}
    spec = RunSpec(
        task_fingerprint=manifest["fingerprint"],
        builder=config.builder,
        architecture=validate(config.builder, {**config.architecture, **shared}, where=name).model_dump(),
        training=Training.model_validate(merge_recipes([config.training, common, recipe])),
        domains=tuple(manifest["domains"]),
        seed=1,
    )
    run = options.out / "work" / f"gpu-demo-{name}-{spec.fingerprint}"
    minutes = options.stage_minutes * 0.85  # the rest is for reading, saving and the last validation
    verb = ["train", "--spec", spec.model_dump_json(), "--task", str(task), "--out", str(run), "--method", name]
    status = mdnmt_main([*verb, "--device", options.device, "--stop-after-minutes", str(minutes)])
    if status == 75:
        return None
    if status:
        raise SystemExit(status)
    record, lines = read_json(run / "run.json"), read_metrics(run / "metrics.jsonl")
    speeds = sorted(one["tokens_per_second"] for one in lines if one.get("split") == "train")
    return {
        "text": "the demo's" if task in [path.parent for path in demo] else "generated",
        "parameters": record["num_parameters"],
        "updates": record["updates"],
        "tokens_per_second": speeds[len(speeds) // 2],
        "bleu": record["validation"]["all"]["bleu"],
        "ppl": record["validation"]["all"]["ppl"],
        "train_seconds": record["seconds"],
    }


def key(options: argparse.Namespace) -> dict[str, Any]:
    """Return what all stages of one report have in common."""
    import torch

    from mdnmt.provenance import git_state

    name = torch.cuda.get_device_name() if options.device != "cpu" else "CPU"
    commit, changed = git_state()
    return {"device": name, "torch": torch.__version__, "commit": commit, "changed": changed, "toy": options.toy}


def stage_file(out: Path, stage: str) -> Path:
    """Return where a stage leaves what it found."""
    return out / "stages" / f"{stage}.json"


def read(out: Path, stage: str) -> dict[str, Any]:
    """Return what a stage left."""
    from mdnmt.fsio import read_json

    found: dict[str, Any] = read_json(stage_file(out, stage))["found"]
    return found


def run_stage(options: argparse.Namespace) -> int:
    """Do one stage in this process; 75: it has to go on."""
    from mdnmt import fsio

    kinds = {
        "machine": machine,
        "tests": run_tests,
        "speed": measure_speed,
        "printed": measure_printed,
        "demo": train_method,
    }
    found = kinds[options.stage.partition("-")[0]](options)
    if found is None:
        return 75
    fsio.write_json(stage_file(options.out, options.stage).with_suffix(".found.json"), found)
    return 0


def is_done(out: Path, stage: str, wanted: dict[str, Any]) -> bool:
    """Say whether a stage was done by this commit on this machine."""
    from mdnmt.fsio import read_json

    path = stage_file(out, stage)
    return path.exists() and read_json(path)["key"] == wanted


def do_slice(options: argparse.Namespace, stage: str, wanted: dict[str, Any]) -> bool:
    """Do one stage, or go on with it for one process; return whether it is done. What it took is added up."""
    from mdnmt import fsio
    from mdnmt.energy import EnergyMeter

    begun = stage_file(options.out, stage).with_suffix(".begun.json")
    so_far = fsio.read_json(begun) if begun.exists() else {}
    if so_far.get("key") != wanted:
        so_far = {"key": wanted, "seconds": 0.0, "joules": 0.0, "slices": 0}
    command = [sys.executable, __file__, "--stage", stage, "--device", options.device, "--out", str(options.out)]
    command += ["--stage-minutes", str(options.stage_minutes), *(["--toy"] if options.toy else [])]
    print(f"mdnmt: stage {stage} ({STAGES.index(stage) + 1} of {len(STAGES)})", flush=True)
    started = time.monotonic()
    meter = EnergyMeter(options.device)
    try:
        status = subprocess.run(command, timeout=60 * options.stage_minutes, close_fds=False).returncode
    except subprocess.TimeoutExpired:
        status = 75
    seconds = time.monotonic() - started
    so_far["seconds"] += seconds
    so_far["joules"] += meter.joules("gpu") or 0.0
    so_far["slices"] += 1
    fsio.write_json(begun, so_far)
    found_file = stage_file(options.out, stage).with_suffix(".found.json")
    if status == 75 and so_far["slices"] < MAX_SLICES:
        return False
    if status == 0:
        found = fsio.read_json(found_file)
    else:
        found = {"error": f"exit status {status}" if status != 75 else f"not done in {MAX_SLICES} slices"}
    fsio.write_json(stage_file(options.out, stage), {"stage": stage, **so_far, "found": found})
    begun.unlink()
    found_file.unlink(missing_ok=True)
    return True


@contextmanager
def only_one(out: Path) -> Iterator[None]:
    """Wait until no other process works on this report; stages inherit the lock, so one that outlived a kill counts."""
    out.mkdir(parents=True, exist_ok=True)
    lock = os.open(out / "lock", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"mdnmt: another process works on {out}, or a stage of a killed one; waiting for it", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def main(argv: list[str] | None = None) -> int:
    """Do what is left; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "gpu")
    parser.add_argument("--stages", type=int, default=0, help="end with status 75 after so many; 0: do all")
    parser.add_argument("--device", default="cuda", help=argparse.SUPPRESS)
    parser.add_argument("--toy", action="store_true", help=argparse.SUPPRESS)  # tiny sizes: tests on a CPU
    parser.add_argument("--stage-minutes", type=float, default=STAGE_MINUTES, help=argparse.SUPPRESS)
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.out = options.out.resolve()
    if line := missing(options.device):
        print(f"mdnmt: {line}", file=sys.stderr)
        return 2
    source = str(ROOT / "src")
    if source not in os.environ.get("PYTHONPATH", "").split(os.pathsep):  # this tree, whatever is installed
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    if source not in sys.path:
        sys.path.insert(0, source)
    if options.stage:
        return run_stage(options)
    with only_one(options.out):
        return do_all(options)


def do_all(options: argparse.Namespace) -> int:
    """Do the stages that are left, then write the page."""
    wanted, slices = key(options), 0
    for stage in STAGES:
        while not is_done(options.out, stage, wanted):
            if options.stages and slices == options.stages:
                print(f"mdnmt: stages are left, {stage} is the next: start the same command again", file=sys.stderr)
                return 75
            do_slice(options, stage, wanted)
            slices += 1
    import gpu_page

    page = gpu_page.write(options.out, wanted, STAGES)
    print(f"mdnmt: everything is in {page} and {page.with_suffix('.json')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
