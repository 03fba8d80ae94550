"""What each stage of gpu_slot.py measures: a stage is a list of named cases, each of which returns its figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import gpu
import numpy as np
import torch
import workload

from mdnmt.config.training import Training
from mdnmt.errors import Interrupted
from mdnmt.fsio import write_json
from mdnmt.models.kernels import varlen_attention
from mdnmt.paths import RunPaths
from mdnmt.train import trainer
from mdnmt.train.cuda_graph import recorder_for
from mdnmt.train.device import choose_device, make_deterministic
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.packed_batches import collate_packed, packed_shape
from mdnmt.train.run import train_run
from mdnmt.train.schedule import learning_rate

Case = Callable[[], dict[str, Any]]
NO_GRAPHS = "device cpu has no CUDA graphs"


class Absent(Exception):
    """This cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Slot:
    """What the stages have in common.

    Attributes:
        device: as in `mdnmt train`.
        tiny: sizes for a CPU, whose figures say nothing about speed.
        work: folder for text and runs.
        updates: of each timed training.
        rate: of bf16 matrix products, operations a second.
        why_eager: why graphs failed in the gate; "": they did not.
        why_padded: the same of packed batches.
    """

    device: str
    tiny: bool
    work: Path
    updates: int
    rate: float = 0.0
    why_eager: str = ""
    why_padded: str = ""

    def graphs(self) -> str:
        """Return the value of `graphs` with which they are measured.

        Raises:
            Absent: they cannot be.
        """
        if self.device == "cpu" or self.why_eager:
            raise Absent(NO_GRAPHS if self.device == "cpu" else f"the gate failed: {self.why_eager}")
        return "auto"

    def layout(self, wanted: str = "") -> dict[str, str]:
        """Return the options of a layout; of none in particular: packed where it works.

        Raises:
            Absent: packed batches are wanted, and do not work.
        """
        if wanted == "packed" and self.why_padded:
            raise Absent(f"the gate failed: {self.why_padded}")
        return {"layout": wanted or ("padded" if self.why_padded else "packed")}

    def measure(self, model: str, layout: str = "", graphs: bool = False, **how: Any) -> dict[str, Any]:
        """Return the figures of a model of `workload`."""
        training = {**self.layout(layout), **(gpu.TINY if self.tiny else {}), **how.pop("training", {})}
        size = "tiny" if self.tiny else "papers"
        return gpu.measure(model, size=size, training=training, **self._how(graphs), **how)

    def printed(self, method: str, layout: str = "", graphs: bool = False, **how: Any) -> dict[str, Any]:
        """Return the figures of a method at its printed size."""
        how |= self._how(graphs)
        return gpu.measure_printed(PRINTED[method], method, tiny=self.tiny, training=self.layout(layout), **how)

    def _how(self, graphs: bool) -> dict[str, Any]:
        own = {"device": self.device, "rate": self.rate, "work": self.work}
        return {**own, "graphs": self.graphs() if graphs else "off"}


def _card(slot: Slot) -> dict[str, Case]:
    def card() -> dict[str, Any]:
        device = choose_device(slot.device)
        on_gpu = device.type == "cuda"
        return {
            "name": torch.cuda.get_device_name(device) if on_gpu else "CPU",
            "torch": torch.__version__,
            **({"memory_mib": torch.cuda.get_device_properties(device).total_memory / 2**20} if on_gpu else {}),
            "cores": len(os.sched_getaffinity(0)),
            "mps": shutil.which("nvidia-cuda-mps-control") is not None,
            "matrix_rate": gpu.matrix_rate(device, [4096, 8192] if on_gpu else [256]),
        }

    return {"card": card}


# The families of methods, with the builder's options.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {"share_embeddings": "all"}),
    "waldm-edc": ("waldm", {"mixed_sides": "both"}),
    "dsa": ("domain_aware_attention", {"guidance_weight": 1.0}),
    "damha-dmoe": ("dmoe", {"damha": True, "encoder_ffn": "dmoe", "gate_input": "domain"}),
    "damha-dmoe-mix": ("dmoe", {"damha": True, "encoder_ffn": "dmoe", "gate_input": "mix", "balance_losses": "both"}),
}


def _gate(slot: Slot) -> dict[str, Case]:
    """Return what may fail in a capture, packed attention, and families: captured, bit-equal, resumed bit-equal."""
    found: dict[str, Case] = {f"capture: {name}": partial(_captured, slot, probe) for name, probe in PROBES.items()}
    precisions = ("fp32", "bf16")
    found |= {f"attention, {precision}, packed": partial(_attention, slot, precision) for precision in precisions}
    families = [(name, precision, "packed") for name in FAMILIES for precision in precisions]
    families += [("transformer", precision, "padded") for precision in precisions]
    return found | {", ".join(one): partial(_replayed, slot, *one) for one in families}


def _attention(slot: Slot, precision: str) -> dict[str, Any]:
    """Compare a GPU's attention over packed sentences with the plain form, and with itself."""
    device, split = choose_device(slot.device), workload.random_split(40, 100)
    if device.type == "cpu":
        raise Absent("device cpu computes the plain form")
    make_deterministic(1, None)
    shape = packed_shape(split, np.arange(40), Training(max_tokens=4096))
    packing = collate_packed(split, np.arange(40), shape, bos=1).to(device).target_packing
    assert packing is not None
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    x = torch.randn(3, 1, 8, shape.tokens, 64, device=device, dtype=dtype).masked_fill(packing.is_padding_N[:, None], 0)

    def computed(attention: Callable[..., torch.Tensor], dropout: float, how: dict[str, Any]) -> list[torch.Tensor]:
        torch.manual_seed(7)
        q, k, v = (one.clone().requires_grad_() for one in x)
        y = attention(q, k, v, packing, packing, dropout=dropout, is_causal=True, scale=0.125, **how)
        return [y, *torch.autograd.grad(y.float().square().sum(), (q, k, v))]

    plain = computed(varlen_attention._plain, 0.0, {})
    found = computed(varlen_attention.varlen_attention, 0.0, {})
    one, other = (computed(varlen_attention.varlen_attention, 0.1, {}) for _ in range(2))
    errors = [((a - b).norm() / b.norm()).item() for a, b in zip(found, plain, strict=True)]
    return {"error": max(errors), "bits_equal": all(map(torch.equal, one, other))}


def _replayed(slot: Slot, family: str, precision: str, layout: str) -> dict[str, Any]:
    """Train a family without graphs, with them, and with them stopped in between; compare the bytes."""
    builder, options = FAMILIES[family]
    layers = 1 if slot.tiny else 2
    size = {"model_dim": 32, "ffn_dim": 64} if slot.tiny else {"model_dim": 256, "ffn_dim": 512}
    size |= {"encoder_layers": layers, "decoder_layers": layers, "num_heads": 4}
    tokens, stop_in = 96 if slot.tiny else 4096, 6
    recipe = {"max_tokens": tokens, "accumulate_batches": 2, "precision": precision, "layout": layout}
    # Lengths that differ little: packed, batches have two shapes; of equal lengths, padded ones have one.
    vocab, pairs = (60, 100) if slot.tiny else (8000, 4000)
    task = gpu.write_text(slot.work, vocab, pairs, spread=0.1 if layout == "packed" else 0.0)
    architecture = {**size, "attention_dropout": 0.1, **options}
    recipe |= {"kernels": "plain" if slot.device == "cpu" else "auto", "clip_norm": 1.0}
    spec = gpu.make_spec(task, builder, architecture, {**gpu.short(8), **recipe})
    folder, rate = slot.work / "gate", learning_rate
    shutil.rmtree(folder, ignore_errors=True)

    def trained(name: str, graphs: Any) -> tuple[bytes, bytes]:
        train_run(spec, task, folder / name, device=slot.device, runtime=trainer.RuntimeOptions(graphs=graphs))
        return RunPaths(folder / name).model.read_bytes(), RunPaths(folder / name).curves.read_bytes()

    def stop(update: int, recipe: Any) -> float:
        if update == stop_in:
            signal.raise_signal(signal.SIGTERM)
        return rate(update, recipe)

    eager, graphs = trained("eager", "off"), trained("graphs", "auto")
    end = read_metrics(RunPaths(folder / "graphs").metrics)[-1]
    replayed = end.get("replayed_updates", 0)
    with mock.patch.object(trainer, "learning_rate", stop), suppress(Interrupted):
        trained("stopped", "auto")
    return {
        "target_tokens": tokens,
        "replayed_updates": replayed,
        "why_eager": NO_GRAPHS
        if slot.device == "cpu"
        else end["graphs_failed"] or ("" if replayed else "none replayed"),
        "bits_equal": graphs == eager,
        "resumed_bits_equal": trained("stopped", "auto") == eager,
    }


def _captured(slot: Slot, probe: Callable[[torch.device], Any]) -> dict[str, Any]:
    """Capture a probe, and compare a replay on other numbers with an eager run, in deterministic mode."""
    make_deterministic(1, None)
    recorder = recorder_for(device := choose_device(slot.device))
    if recorder is None:
        raise Absent(NO_GRAPHS)
    run, change = probe(device)
    replay, out = recorder.record(run)
    change()
    torch.manual_seed(7)
    wanted = run().clone()
    torch.manual_seed(7)
    replay()
    return {"bits_equal": torch.equal(out, wanted)}


def _embedding_backward(device: torch.device) -> Any:
    table, ids = torch.randn(8000, 256, device=device, requires_grad=True), torch.zeros(4096, device=device).long()

    def run() -> torch.Tensor:
        return torch.autograd.grad(torch.nn.functional.embedding(ids, table).square().sum(), table)[0]

    return run, lambda: ids.random_(0, 8000)


def _index_put(device: torch.device) -> Any:
    rows, values = torch.zeros(8192, device=device).long(), torch.randn(8192, 64, device=device)
    run = partial(torch.zeros(4096, 64, device=device).index_put, (rows,), values, accumulate=True)
    return run, lambda: rows.random_(0, 4096)


def _dropout(device: torch.device) -> Any:
    x = torch.ones(1 << 20, device=device)
    return partial(torch.nn.functional.dropout, x, 0.1), lambda: x.fill_(2.0)


PROBES: dict[str, Callable[[torch.device], Any]] = {
    "backward of an embedding with 4,096 indices": _embedding_backward,
    "index_put that adds": _index_put,
    "dropout": _dropout,
}
PRINTED = {"waldm-edc": "jiang-en-de", "dsa": "zhang-zh-en", "damha-dmoe-mix-loss": "song-en-fr"}
LARGE = {"transformer": "transformer", "E/DC": "waldm-edc", "DAMHA+DMoE": "damha-dmoe"}


def _papers(slot: Slot) -> dict[str, Case]:
    """Return a method of each paper at its printed size: eager in both layouts, and with graphs."""
    return {
        f"{name}, {layout}{', graphs' if graphs else ''}": partial(
            slot.printed, name, layout, graphs, updates=slot.updates
        )
        for name in PRINTED
        for layout, graphs in (("padded", False), ("packed", False), ("packed", True))
    }


def _large(slot: Slot) -> dict[str, Case]:
    """Return three models with 25,000 tokens a batch."""
    found: dict[str, Case] = {}
    for name, model in LARGE.items():
        found[f"{name}, padded"] = partial(slot.measure, model, "padded", updates=slot.updates)
        found[f"{name}, packed, graphs"] = partial(slot.measure, model, "packed", True, updates=slot.updates)
    return found


# Category -> what the name of a kernel contains; the first that fits counts.
CATEGORIES = {
    "attention": r"flash|fmha|efficient_attention|mem_eff",
    "matrix products": r"gemm|cutlass|nvjet|xmma|cublas|splitk",
    "optimiser, norms of gradients, weights in bf16": r"adam|multi_tensor|lpnorm|foreach",
    "loss and softmax": r"softmax|nll|cross_entropy",
    "layer norm": r"layer_?norm",
    "dropout": r"dropout|bernoulli",
    "gather, scatter and sort": r"index|gather|scatter|sort|embedding|radix|krn_partial",
    "copies and casts": r"copy|memcpy|memset|catarray|fill",
    "sums": r"reduce",
    "element by element": r"elementwise",
    "other": "",
}


def by_category(trace: dict[str, Any], updates: int) -> dict[str, Any]:
    """Return milliseconds and launches an update by category, and the share of the time in which kernels ran.

    Raises:
        Absent: the trace has no kernels.
    """
    events = [event for event in trace["traceEvents"] if event.get("cat") in {"kernel", "gpu_memcpy", "gpu_memset"}]
    if not events:
        raise Absent("the trace has no kernels of a GPU")
    spent: dict[str, float] = {}
    for event in events:
        kernel = event["name"] if event["cat"] == "kernel" else event["cat"]
        name = next(name for name, pattern in CATEGORIES.items() if re.search(pattern, kernel, re.IGNORECASE))
        spent[name] = spent.get(name, 0.0) + event["dur"] / 1000 / updates
    span = max(one["ts"] + one["dur"] for one in events) - min(one["ts"] for one in events)
    return {
        "kernel_ms": dict(sorted(spent.items(), key=lambda one: -one[1])),
        "launches_per_update": len(events) / updates,
        "busy_share": sum(one["dur"] for one in events) / span,
    }


def _kernels(slot: Slot) -> dict[str, Case]:
    """Return the time of kernels by category, eager, for the papers' recipes and for 25,000 tokens."""

    def traced(measure: Callable[..., Any], name: str) -> dict[str, Any]:
        measure(name, updates=12, profile_updates=4)
        return by_category(json.loads((slot.work / "run" / "trace.json").read_bytes()), 4)

    count = 1 if slot.tiny else None  # of each kind
    found: dict[str, Case] = {name: partial(traced, slot.printed, name) for name in list(PRINTED)[:count]}
    large = list(LARGE.items())[:count]
    return found | {f"{name}, 25,000 tokens": partial(traced, slot.measure, model) for name, model in large}


def _compiled(slot: Slot) -> dict[str, Case]:
    """Return the plain Transformer with torch.compile and without, and with the plain loss in place of Triton's."""

    def measured(**options: str) -> dict[str, Any]:
        if slot.device == "cpu":
            raise Absent("on a CPU, torch.compile needs a C++ compiler and minutes, and Triton a GPU")
        return slot.measure("transformer", "padded", updates=slot.updates, training=options)

    found: dict[str, Case] = {mode: partial(measured, compile=mode) for mode in ("off", "default")}
    return found | {"off, plain loss": partial(measured, kernels="plain")}


def _small(slot: Slot) -> dict[str, Case]:
    """Return many small trainings side by side on one card."""
    counts = (1, 2) if slot.tiny else (1, 4, 16)
    found: dict[str, Case] = {f"{count}, eager": partial(_side_by_side, slot, count, False) for count in counts}
    found |= {f"{count}, graphs": partial(_side_by_side, slot, count, True) for count in counts}
    return found | {f"{counts[-1]}, graphs, MPS": partial(_with_mps, slot, counts[-1])}


def _side_by_side(slot: Slot, count: int, graphs: bool) -> dict[str, Any]:
    """Let processes train the demo's model for some seconds; return the sum of their tokens a second."""
    chosen = slot.graphs() if graphs else "off"
    environment = {**os.environ, "MDNMT_GPU_SLOTS": str(count), "OMP_NUM_THREADS": "1"}
    size = gpu.SIZES["tiny" if slot.tiny else "demo"]
    gpu.write_text(slot.work, size.vocab, 500 if slot.tiny else 100_000)  # before all processes would
    command = [sys.executable, str(Path(__file__).with_name("gpu_slot.py")), "--device", slot.device]
    command += [
        "--work",
        str(slot.work),
        "--worker",
        chosen,
        "--why-padded",
        slot.why_padded,
        *(["--tiny"] if slot.tiny else []),
    ]
    outs = [slot.work / f"small-{number}.json" for number in range(count)]
    processes = [subprocess.Popen([*command, "--out", str(out)], env=environment) for out in outs]
    if statuses := [status for process in processes if (status := process.wait())]:
        raise RuntimeError(f"{len(statuses)} of {count} processes ended with status {statuses[0]}")
    rates = [json.loads(out.read_text()) for out in outs]
    replayed = sum(one.get("replayed_updates", 0) for one in rates) / sum(one["updates"] for one in rates)
    total = sum(one["tokens_per_second"] for one in rates)
    return {"processes": count, "tokens_per_second": total, "replayed_share": replayed}


def train_small(slot: Slot, out: Path, graphs: str) -> None:
    """Train the demo's model for some seconds, and write its figures: what one of many processes does."""
    seconds, recipe = 2.0 if slot.tiny else 8.0, {"log_every": 2 if slot.tiny else 10, "precision": "auto"}
    options = {"seconds": seconds, "graphs": graphs, "folder": out.with_suffix("")}
    size = "tiny" if slot.tiny else "demo"
    how: dict[str, Any] = {"device": slot.device, "work": slot.work, "updates": 10**6, **options}
    write_json(out, gpu.measure("transformer", size=size, training={**recipe, **slot.layout()}, **how))


def _with_mps(slot: Slot, count: int) -> dict[str, Any]:
    """Do the same under NVIDIA's multi-process service, started for this alone."""
    if (control := shutil.which("nvidia-cuda-mps-control")) is None:
        raise Absent("found no nvidia-cuda-mps-control")
    places = dict.fromkeys(("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"), str(slot.work / "mps"))
    (slot.work / "mps").mkdir(exist_ok=True)
    with mock.patch.dict(os.environ, places):
        subprocess.run([control, "-d"], check=True, timeout=20)
        try:
            return _side_by_side(slot, count, True)
        finally:
            subprocess.run([control], input="quit\n", text=True, check=False, timeout=20)


STAGES: dict[str, Callable[[Slot], dict[str, Case]]] = {
    "card": _card,
    "gate": _gate,
    "papers": _papers,
    "large": _large,
    "kernels": _kernels,
    "compiled": _compiled,
    "small": _small,
}
