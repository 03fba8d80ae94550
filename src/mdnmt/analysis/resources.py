"""Measure time, throughput, memory and energy in the same way for every method (Song et al. 2026, Table 4)."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mdnmt.config.budget import in_updates
from mdnmt.config.decoding import Decoding
from mdnmt.config.run import RunSpec
from mdnmt.decode.translator import open_run
from mdnmt.energy import JOULES_PER_WATT_HOUR, energy_meter
from mdnmt.fsio import read_json
from mdnmt.gpu import processes_on
from mdnmt.methods import pretrained
from mdnmt.methods.method import Trainable
from mdnmt.paths import PRETRAINED, RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import epoch_batches, usable
from mdnmt.train.device import autocast_dtype
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.layout import choose_layout, make_batch
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.run import Setup
from mdnmt.train.sharding import Shard

WARMUP_UPDATES, TIMED_UPDATES = 3, 10
DECODED_SENTENCES = 48

Values = dict[str, list[float]]  # quantity -> its value at each repeat


def measure_run(
    run_folder: Path,
    task_folder: Path,
    decoding: Decoding,
    *,
    device: torch.device,
    repeats: int,
    root: Path = PRETRAINED,
) -> dict[str, Any]:
    """Measure what one run's method costs: medians over `repeats`, and all measured values under `values`.

    Every run of a task trains on the same batches and decodes the same test sentences, so the results can be compared.
    Nothing is written, and the run's weights do not change. Call this in a process of its own: peak memory (MiB) is
    that of the whole process, or of the GPU, and is measured in training. A pretrained model that is used as published
    (from `root`) has no training measurements; its peak memory is that of decoding.

    `others_percent` is the percentage of all CPU time that other processes used meanwhile, `others_on_gpu` the number
    of other processes on the same GPU. Both are left out if they are unknown.
    """
    data = TaskData.load(task_folder, verify=False)
    record = read_json(RunPaths(run_folder).record)
    spec = RunSpec.model_validate(record["spec"])
    result: dict[str, Any] = {"num_parameters": record["num_parameters"], "repeats": repeats}
    others, values = others_percent(), {}
    module = pretrained(spec.builder)
    if (setup := module.setup_of(spec, root) if module is not None else Setup()) is not None:
        read = setup.read(spec, data)
        method = setup.build(spec, read, device)
        result |= parameters_of_a_domain(method, len(spec.domains))
        values = _measure_training(spec, read, method, device, repeats)
        result["peak_memory_mb"] = _peak_memory_mb(device)
    values |= _measure_decoding(run_folder, data, decoding, device, repeats, root)
    result.setdefault("peak_memory_mb", _peak_memory_mb(device))
    result |= {name: statistics.median(found) for name, found in values.items()}
    processes = processes_on(str(device))
    other_use = {"others_percent": others(), "others_on_gpu": max(0, processes - 1) if processes is not None else None}
    return {**result, "values": values, **{name: value for name, value in other_use.items() if value is not None}}


def parameters_of_a_domain(method: Trainable, num_domains: int) -> dict[str, float]:
    """Return how many parameters belong to one domain alone; nothing if all domains share and train all parameters.

    A model of one domain is that domain's. In a frozen model that reads labels, the trained parameters are those of the
    domains.
    """
    total = sum(one.numel() for one in method.model.parameters())
    trained = sum(one.numel() for one in method.model.parameters() if one.requires_grad)
    if num_domains > 1 and (trained == total or not method.needs_domain):
        return {}
    return {"parameters_per_domain": trained / num_domains}


def _measure_training(spec: RunSpec, data: TaskData, method: Trainable, device: torch.device, repeats: int) -> Values:
    method.model.train()
    recipe, split = spec.training, data.split("train")
    dtype = autocast_dtype(recipe, device)
    optimiser = Optimiser(method.model, recipe)
    indices = usable(split, [data.domains.index(domain) for domain in spec.domains], recipe.max_length)
    order = epoch_batches(
        split, indices, max_tokens=recipe.max_tokens, batch_sentences=recipe.batch_sentences, seed=0, epoch=0
    )
    per_update = recipe.accumulate_batches
    # Scheduled values, such as loss weights, are set to those in the middle of training.
    updates = in_updates(recipe, -(-len(order) // per_update)).max_updates
    method.begin_update(max(1, updates // 2), updates)
    layout = choose_layout(method, recipe, device)
    taken = [order[index % len(order)] for index in range((WARMUP_UPDATES + TIMED_UPDATES) * per_update)]
    batches = [
        make_batch(split, Shard(0, rows, rows), recipe, method, layout, data.target_vocab.bos).to(device)
        for rows in taken
    ]
    words = [int(split.target.lengths[rows].sum()) for rows in taken]

    def train_on(first: int, end: int) -> None:
        """Train on these batches with a learning rate of zero."""
        for start in range(first, end, per_update):
            these = slice(start, start + per_update)
            forward_backward(method, batches[these], recipe, device, dtype, num_target_tokens=sum(words[these]))
            optimiser.step(0.0)

    first_timed = WARMUP_UPDATES * per_update
    train_on(0, first_timed)
    times, energies = _repeated(lambda: train_on(first_timed, len(batches)), device, repeats)
    tokens = sum(words[first_timed:])
    epoch_ratio = int(split.target.lengths[indices].sum()) / tokens  # tokens of an epoch / of the timed batches
    return {
        "train_seconds_per_update": [seconds / TIMED_UPDATES for seconds in times],
        "train_tokens_per_second": [tokens / seconds for seconds in times],
        "epoch_seconds": [epoch_ratio * seconds for seconds in times],
        **_named("epoch_watt_hours", [epoch_ratio * joules / JOULES_PER_WATT_HOUR for joules in energies]),
    }


def _measure_decoding(
    run_folder: Path, data: TaskData, decoding: Decoding, device: torch.device, repeats: int, root: Path
) -> Values:
    translator = open_run(run_folder, device, root)
    per_domain = max(1, DECODED_SENTENCES // len(data.domains))
    texts = {domain: data.text("test", domain, data.source_lang)[:per_domain] for domain in data.domains}
    lines = [line for text in texts.values() for line in text]
    domains = [domain for domain, text in texts.items() for _ in text]
    pieces = sum(len(best[0].pieces) + 1 for best in translator.translate(lines, decoding, domains))
    times, energies = _repeated(lambda: translator.translate(lines, decoding, domains), device, repeats)
    return {
        "decode_seconds_per_batch": times,
        "decode_tokens_per_second": [pieces / seconds for seconds in times],
        "decode_sentences_per_second": [len(lines) / seconds for seconds in times],
        **_named("decode_joules_per_batch", energies),
    }


def _named(name: str, values: list[float]) -> Values:
    """Return the values under their name; an empty mapping if there are none."""
    return {name: values} if values else {}


def _repeated(work: Callable[[], object], device: torch.device, repeats: int) -> tuple[list[float], list[float]]:
    """Return seconds and joules of each repetition; no joules if the machine does not report them."""
    times, energies = [], []
    meter, part = energy_meter(str(device)), "gpu" if device.type == "cuda" else "cpu"
    _wait(device)
    before = meter.joules(part)
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        _wait(device)
        times.append(time.perf_counter() - started)
        after = meter.joules(part)
        if before is not None and after is not None:
            energies.append(after - before)
        before = after
    return times, energies if len(energies) == repeats else []


def others_percent() -> Callable[[], float | None]:
    """Return a function that returns the percentage of all CPU time that others used since this call; None: unknown."""
    try:
        import psutil
    except ImportError:
        return lambda: None
    own = psutil.Process()

    def used() -> tuple[float, float, float]:
        """Return core seconds since boot: in total, in use, and used by this process."""
        cores, mine = psutil.cpu_times(), own.cpu_times()
        idle = cores.idle + getattr(cores, "iowait", 0.0)
        return sum(cores[:8]), sum(cores[:8]) - idle, mine.user + mine.system

    before = used()

    def since() -> float | None:
        all_cores, busy, mine = (now - then for now, then in zip(used(), before, strict=True))
        return max(0.0, 100.0 * (busy - mine) / all_cores) if all_cores else None

    return since


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _peak_memory_mb(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    try:
        # getrusage() would also count the memory of the parent process at the time of the fork.
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("VmHWM:")[2].split()[0]) / 2**10
    except (OSError, IndexError, ValueError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
