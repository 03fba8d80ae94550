"""Where the time of a training update goes: by stage, by part of the model and by operator.

    python benchmarks/profile_training.py --material benchmarks/work/law [--size papers] [--precision fp32]
        [--model waldm-edc] [--device cuda] [--json found.json]

Forward and backward pass of a part of the model are counted together: torch numbers each operator of the forward pass,
and its derivative carries the same number. On a CUDA device the times are those of its kernels. Without --material the
batches are random words.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
import workload
from torch import nn
from torch._C._autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function

from mdnmt import fsio, provenance
from mdnmt.config.training import Training
from mdnmt.methods.method import Method
from mdnmt.train.batches import collate, epoch_batches, usable
from mdnmt.train.device import autocast_dtype, choose_device, make_deterministic
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.optimiser import Optimiser

PART, STAGE = "part: ", "stage: "
# What the time of a module is booked under, less that of named modules in it.
PARTS = {
    "Embedding": "embedding",
    "SelfAttention": "self-attention",
    "CrossAttention": "cross-attention",
    "FeedForward": "feed-forward",
    "DomainExperts": "feed-forward",
    "Residual": "residual sum, dropout, norm",
    "DomainProportion": "domain proportion",
    "Gate": "gate",
}


def name_parts(model: nn.Module) -> None:
    """Let every named part of the model show up in the profile."""
    for module in model.modules():
        if part := PARTS.get(type(module).__name__):
            open_ranges = ExitStack()
            module.register_forward_pre_hook(
                lambda *_, stack=open_ranges, part=part: stack.enter_context(record_function(PART + part)) and None
            )
            module.register_forward_hook(lambda *_, stack=open_ranges: stack.close())
    # The keys and values of the memory are made by a method, not by a call.
    for module in model.modules():
        if type(module).__name__ == "CrossAttention":
            module.keys_values = _within(module.keys_values, "cross-attention")


def _within(function: Any, part: str) -> Any:
    def called(*arguments: Any) -> Any:
        with record_function(PART + part):
            return function(*arguments)

    return called


def ancestor(event: FunctionEvent, start: str) -> FunctionEvent | None:
    """Return the event, or the innermost one around it, whose name starts so."""
    found: FunctionEvent | None = event
    while found is not None and not found.name.startswith(start):
        found = found.cpu_parent
    return found


def by_part(events: list[FunctionEvent], seconds: Any) -> dict[str, float]:
    """Return seconds by part of the model, forward and backward together."""
    part_of: dict[int, str] = {}
    for event in events:
        if event.sequence_nr >= 0 and (part := ancestor(event, PART)) is not None:
            part_of.setdefault(event.sequence_nr, part.name)
    found: defaultdict[str, float] = defaultdict(float)
    for event in events:
        node = ancestor(event, "autograd::engine::evaluate_function")
        around = ancestor(event, PART) or ancestor(event, STAGE)
        if node is not None:
            is_leaf = "AccumulateGrad" in node.name
            name = part_of.get(node.sequence_nr, "sums of gradients" if is_leaf else "elsewhere")
        else:
            name = around.name if around is not None else "elsewhere"
        found[name.removeprefix(PART).removeprefix(STAGE)] += seconds(event)
    return found


def run_updates(
    method: Method, optimiser: Optimiser, split: Any, chosen: list[Any], recipe: Training, device: torch.device
) -> int:
    """Do the updates of the given batches; return their target words."""
    words, dtype = 0, autocast_dtype(recipe, device)
    for rows in chosen:
        with record_function(STAGE + "batch"):
            batch = collate(split, rows, bos=1)
        words += batch.num_target_tokens
        with record_function(STAGE + "elsewhere in the model"):
            forward_backward(method, [batch], recipe, device, dtype)
        with record_function(STAGE + "optimiser"):
            optimiser.step(1e-4)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return words


def table(title: str, found: dict[str, float], updates: int, rows: int) -> dict[str, float]:
    """Print and return milliseconds an update."""
    total, ordered = sum(found.values()), sorted(found.items(), key=lambda one: -one[1])
    print(f"\n| {title} | ms an update | % |\n|---|---|---|")
    for name, seconds in ordered[:rows]:
        print(f"| {name} | {1000 * seconds / updates:.1f} | {100 * seconds / total:.1f} |")
    print(f"| all | {1000 * total / updates:.1f} | 100.0 |")
    return {name: 1000 * seconds / updates for name, seconds in ordered}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--material", type=Path, help="a folder of material.py; without it random words")
    parser.add_argument("--model", choices=sorted(workload.MODELS), default="transformer")
    parser.add_argument("--size", choices=sorted(workload.SIZES), default="papers")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=4096)
    parser.add_argument("--updates", type=int, default=4, help="that are profiled, after as many that are not")
    parser.add_argument("--rows", type=int, default=24, help="operators in the table")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    make_deterministic(1, options.threads)
    device = choose_device(options.device)
    split, vocab_size = workload.training_pairs(options.material)
    method = workload.make_method(options.model, workload.SIZES[options.size], vocab_size)
    method.model.to(device).train()
    recipe = Training(max_tokens=options.max_tokens, precision=options.precision)
    batches = epoch_batches(
        split, usable(split, [*range(workload.DOMAINS)], 250), max_tokens=recipe.max_tokens, seed=1, epoch=0
    )
    optimiser = Optimiser(method.model, recipe)
    name_parts(method.model)
    each = options.updates
    run_updates(method, optimiser, split, batches[:each], recipe, device)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])]
    with profile(activities=activities) as found:
        words = run_updates(method, optimiser, split, batches[each : 2 * each], recipe, device)
    events = [event for event in found.events() or [] if event.device_type == DeviceType.CPU]
    quantity = "self_device_time_total" if device.type == "cuda" else "self_cpu_time_total"

    def seconds(event: FunctionEvent) -> float:
        return float(getattr(event, quantity)) / 1e6

    operators: defaultdict[str, float] = defaultdict(float)
    for event in events:
        operators[event.name] += seconds(event)
    title = f"{options.model}, {options.size}, {options.precision}, {device}"
    print(f"{title}: {words / each:.0f} target words an update")
    parts = table("part of the model", by_part(events, seconds), each, 100)
    shares = table("operator", operators, each, options.rows)
    if options.json:
        setting = {name: str(value) for name, value in vars(options).items()}
        made = provenance.collect()
        fsio.write_json(options.json, {"options": setting, "parts": parts, "operators": shares, "provenance": made})


if __name__ == "__main__":
    main()
