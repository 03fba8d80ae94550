"""Time, throughput and memory of a method, measured the same way for every row (Song et al. 2026, Table 4)."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from mdnmt.config.decoding import Decoding
from mdnmt.config.run import RunSpec
from mdnmt.fsio import read_json
from mdnmt.models.batch import Batch
from mdnmt.paths import RunPaths
from mdnmt.pretrained.files import PRETRAINED
from mdnmt.pretrained.run import setup_of
from mdnmt.pretrained.translator import open_run
from mdnmt.tasks.data import TaskData
from mdnmt.train.batches import collate, epoch_batches, usable
from mdnmt.train.device import autocast_dtype
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.run import Setup
from mdnmt.train.step import leave_gradients

WARMUP_UPDATES, TIMED_UPDATES = 3, 10
DECODED_SENTENCES = 48


def measure_run(
    run_folder: Path,
    task_folder: Path,
    decoding: Decoding,
    *,
    device: torch.device,
    repeats: int,
    pretrained: Path = PRETRAINED,
) -> dict[str, float | int]:
    """Return the resources of one run's method; medians over `repeats`.

    The same batches of an epoch are trained on and the same test sentences decoded for every run of a task, so that
    the figures can be compared. Nothing is written; the run's weights stay as they are. Meant to have its process
    for itself: peak memory (MiB) is that of the process, or of the GPU. What is not trained, but taken from the folder
    `pretrained` as it is, has no figures of training.
    """
    data = TaskData.load(task_folder, verify=False)
    record = read_json(RunPaths(run_folder).record)
    spec = RunSpec.model_validate(record["spec"])
    result: dict[str, float | int] = {"num_parameters": record["num_parameters"]}
    if (setup := setup_of(spec, pretrained)) is not None:
        result.update(_measure_training(spec, data, setup, device, repeats))
        result["peak_memory_mb"] = _peak_memory_mb(device)
    result.update(_measure_decoding(run_folder, data, decoding, device, repeats, pretrained))
    result["repeats"] = repeats
    return result


def _measure_training(
    spec: RunSpec, data: TaskData, setup: Setup, device: torch.device, repeats: int
) -> dict[str, float | int]:
    data = setup.read(spec, data)
    method = setup.build(spec, data, device)
    method.model.train()
    # What changes in the course of training stands as it does half-way.
    method.begin_update(max(1, spec.training.max_updates // 2), spec.training.max_updates)
    recipe, split = spec.training, data.split("train")
    dtype = autocast_dtype(recipe, device)
    optimiser = Optimiser(method.model, recipe)
    indices = usable(split, [data.domains.index(domain) for domain in spec.domains], recipe.max_length)
    order = epoch_batches(split, indices, max_tokens=recipe.max_tokens, seed=0, epoch=0)
    each = recipe.accumulate_batches
    batches = [
        collate(split, order[index % len(order)], bos=data.target_vocab.bos).to(device)
        for index in range((WARMUP_UPDATES + TIMED_UPDATES) * each)
    ]

    def train_on(chosen: list[Batch]) -> None:
        """Do the updates of these batches, with a learning rate of zero."""
        for start in range(0, len(chosen), each):
            leave_gradients(method, chosen[start : start + each], recipe, device, dtype)
            optimiser.step(0.0)

    warmup, timed = batches[: WARMUP_UPDATES * each], batches[WARMUP_UPDATES * each :]
    train_on(warmup)
    seconds = _median_seconds(lambda: train_on(timed), device, repeats)
    words = sum(batch.num_target_tokens for batch in timed)
    words_per_second = words / seconds
    epoch_words = int(split.target.lengths[indices].sum())
    return {
        "train_seconds_per_update": seconds / TIMED_UPDATES,
        "train_tokens_per_second": words_per_second,
        "epoch_seconds": epoch_words / words_per_second,
    }


def _measure_decoding(
    run_folder: Path, data: TaskData, decoding: Decoding, device: torch.device, repeats: int, pretrained: Path
) -> dict[str, float]:
    translator = open_run(run_folder, device, pretrained)
    each = max(1, DECODED_SENTENCES // len(data.domains))
    texts = {domain: data.text("test", domain, data.source_lang)[:each] for domain in data.domains}
    lines = [line for text in texts.values() for line in text]
    domains = [domain for domain, text in texts.items() for _ in text]
    pieces = sum(len(best[0].pieces) + 1 for best in translator.translate(lines, decoding, domains))
    seconds = _median_seconds(lambda: translator.translate(lines, decoding, domains), device, repeats)
    return {
        "decode_seconds_per_batch": seconds,
        "decode_tokens_per_second": pieces / seconds,
        "decode_sentences_per_second": len(lines) / seconds,
    }


def _median_seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        _wait(device)
        started = time.perf_counter()
        work()
        _wait(device)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _peak_memory_mb(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        # Of this program alone: getrusage() also counts what its parent held when it was started.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("VmHWM:")[2].split()[0]) / 2**10
    except (OSError, IndexError, ValueError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
