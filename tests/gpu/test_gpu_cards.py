"""On a real card: every method computes what it computes on the CPU, runs resume, cards are leased, workers agree.

`pytest tests/gpu` on a machine with an NVIDIA GPU. The rest of the tests needs none.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import generated_task
import numpy as np
import pytest
import torch

import mdnmt.train.trainer as trainer_module
from mdnmt import gpu
from mdnmt.errors import Interrupted
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.device import choose_device, make_deterministic
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.kernel_choice import why_no_triton
from mdnmt.train.layout import Layout, make_batch, why_padded
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.run import build_method, train_run
from mdnmt.train.sharding import Shard
from mdnmt.train.trainer import RuntimeOptions

# Asked of nvidia-smi, not of torch, whose first answer settles what the process may see.
CARDS = gpu.count_visible()
ENVIRONMENT = dict(os.environ)  # before a lease of this process narrows it
pytestmark = pytest.mark.skipif(
    not CARDS, reason="no NVIDIA GPU, or torch without CUDA: run `pytest tests/gpu` on a machine that has both"
)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "transformer": ("transformer", {"share_embeddings": "all"}),
    "domain-tag": ("domain_tag", {}),
    "waldm": ("waldm", {}),
    "naive": ("naive_waldm", {}),
    "multitask": ("multitask", {}),
    "word-context": ("word_context", {}),
    "dsa": ("domain_aware_attention", {"guidance_weight": 1.0}),
    "latent-depth": ("latent_depth", {}),
    "adapters": ("adapters", {}),
    "dmoe": ("dmoe", {"gate_input": "mix", "balance_losses": "both"}),
}
TRAINED = ["transformer", "waldm", "dsa", "latent-depth", "dmoe", "adapters"]


def spec_of(make_spec: Any, name: str, **training: Any) -> Any:
    builder, architecture = METHODS[name]
    dropout = training.pop("dropout", 0.0)
    training = {"validation_bleu_sentences": 3, **training}  # greedy search between updates
    return make_spec(builder, architecture={"dropout": dropout, **architecture}, **training)


def one_step(
    spec: Any,
    task: Path,
    device: torch.device,
    dtype: torch.dtype | None,
    *,
    double: bool,
    layout: Layout = "padded",
) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    """Return losses and gradients of a batch, from the same first weights on every device."""
    make_deterministic(spec.seed, None)
    data = TaskData.load(task)
    method = build_method(spec, data, device)
    if double:
        method.model.double()
    method.begin_update(5, 10)
    method.model.eval()  # what is drawn in training differs between devices
    split = data.split("train")
    rows = np.arange(0, len(split), 7, dtype=np.int64)
    batch = make_batch(split, Shard(0, rows, rows), spec.training, method, layout, 1)
    found = forward_backward(method, [batch], spec.training, device, dtype)
    losses = {name: float(value) for name, value in found.losses[0].items()}
    return losses, {n: p.grad.cpu() for n, p in method.model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", list(METHODS))
def test_a_step_on_the_gpu_is_that_of_the_cpu(name: str, make_spec: Any, toy_task: Path) -> None:
    spec = spec_of(make_spec, name)
    on_cpu, gradients = one_step(spec, toy_task, torch.device("cpu"), None, double=True)
    on_gpu, others = one_step(spec, toy_task, choose_device("cuda"), None, double=True)
    assert on_gpu == pytest.approx(on_cpu, rel=1e-5)  # some parts of losses are in float32 whatever the model is in
    assert gradients.keys() == others.keys()
    for parameter, value in gradients.items():
        assert torch.allclose(others[parameter], value, rtol=1e-3, atol=1e-6), parameter


def test_triton_computes_the_plain_loss() -> None:
    pytest.importorskip("triton")
    assert why_no_triton(choose_device("cuda")) == ""


@pytest.mark.parametrize("name", list(METHODS))
def test_bfloat16_on_the_gpu_is_near_float32(name: str, make_spec: Any, toy_task: Path) -> None:
    spec, device = spec_of(make_spec, name), choose_device("cuda")
    exact, _ = one_step(spec, toy_task, device, None, double=False)
    rough, gradients = one_step(spec, toy_task, device, torch.bfloat16, double=False)
    assert rough["generation"] == pytest.approx(exact["generation"], rel=0.02)
    assert all(gradient.dtype == torch.float32 and gradient.isfinite().all() for gradient in gradients.values())


@pytest.mark.parametrize(("dtype", "rel"), [(None, 1e-4), (torch.bfloat16, 0.05)])
@pytest.mark.parametrize("name", list(METHODS))
def test_a_packed_step_on_the_gpu_is_that_of_a_padded_one(
    name: str, dtype: torch.dtype | None, rel: float, make_spec: Any, toy_task: Path
) -> None:
    # So many tokens that the one batch of this test fits.
    spec, device = spec_of(make_spec, name, max_tokens=4000), choose_device("cuda")
    method = build_method(spec, TaskData.load(toy_task), torch.device("cpu"))
    if why_padded(method, spec.training) is not None:
        assert name in {"domain-tag", "naive"}
        return
    (padded, gradients), (packed, others) = (
        one_step(spec, toy_task, device, dtype, double=False, layout=layout) for layout in ("padded", "packed")
    )
    assert packed == pytest.approx(padded, rel=rel)
    assert gradients.keys() == others.keys()
    norm = torch.nn.utils.get_total_norm(gradients.values())
    assert torch.nn.utils.get_total_norm([others[key] - gradients[key] for key in gradients]) <= rel * norm


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", TRAINED)
def test_stopped_and_resumed_on_the_gpu_it_is_bit_equal(
    name: str, precision: str, make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    spec = spec_of(make_spec, name, dropout=0.2, precision=precision)
    original, sent = trainer_module.learning_rate, []

    def schedule(number: int, recipe: Any) -> float:
        if number == 6 and not sent:
            sent.append(number)
            signal.raise_signal(signal.SIGTERM)
        return original(number, recipe)

    train_run(spec, toy_task, tmp_path / "whole", device="cuda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer_module, "learning_rate", schedule)
        with pytest.raises(Interrupted):
            train_run(spec, toy_task, tmp_path / "run", device="cuda")
    torch.manual_seed(1)
    train_run(spec, toy_task, tmp_path / "run", device="cuda")
    whole, paths = RunPaths(tmp_path / "whole"), RunPaths(tmp_path / "run")
    assert paths.model.read_bytes() == whole.model.read_bytes()
    assert paths.curves.read_bytes() == whole.curves.read_bytes()
    record = json.loads(paths.record.read_text())
    assert record["device"].startswith("cuda:") and record["provenance"]["gpu"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", TRAINED)
def test_replayed_graphs_have_the_bits_of_eager_updates(
    name: str, precision: str, make_spec: Any, tmp_path: Path
) -> None:
    pairs = {"train": 6000, "valid": 12, "test": 10}  # of one length, so that all batches have one shape
    task = generated_task.write_task(
        tmp_path / "task", pairs=pairs, vocab_size=40, mean_length=31, spread=0.0, domains=("economy", "law")
    )
    spec = spec_of(make_spec, name, dropout=0.2, precision=precision, max_tokens=4000, max_updates=24)
    for graphs in ("on", "off"):
        train_run(spec, task, tmp_path / graphs, device="cuda", runtime=RuntimeOptions(graphs=graphs))
    replayed, eager = RunPaths(tmp_path / "on"), RunPaths(tmp_path / "off")
    assert replayed.model.read_bytes() == eager.model.read_bytes()
    assert replayed.curves.read_bytes() == eager.curves.read_bytes()
    assert read_metrics(replayed.metrics)[-1]["replayed_updates"] == 23


def test_two_processes_do_not_land_on_one_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDNMT_LOCKS", str(tmp_path))
    monkeypatch.delenv("MDNMT_GPU_HELD", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpu.visible_cards()[0].token)
    code = (
        "import sys, torch\nfrom mdnmt.train.device import choose_device\n"
        "print(choose_device('auto').type, torch.cuda.device_count(), flush=True)\nsys.stdin.read()\n"
    )
    first = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None and first.stdout.readline() == "cuda 1\n"
    with pytest.raises(Interrupted, match="no GPU came free"):
        gpu.acquire(limit_minutes=0.0)
    first.communicate()
    assert len(gpu.acquire(limit_minutes=0.0)) == 1


@pytest.mark.skipif(CARDS < 2, reason="two workers on GPUs need two of them: run it on such a machine")
def test_two_workers_on_two_cards_have_the_curve_of_one(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = spec_of(make_spec, "waldm", log_every=1)
    curves = []
    environment = {**ENVIRONMENT, "MDNMT_LOCKS": str(tmp_path / "locks")}  # this process may hold one of the cards
    for count in (1, 2):
        paths = RunPaths(tmp_path / str(count))
        command = ["--spec", spec.model_dump_json(), "--task", str(toy_task), "--out", str(paths.folder)]
        command += ["--device", "cuda", "--workers", str(count)]
        subprocess.run([sys.executable, "-m", "mdnmt.cli", "train", *command], check=True, env=environment)
        lines = [line.split("\t") for line in paths.curves.read_text().splitlines()]
        curves.append([float(line[lines[0].index("loss")]) for line in lines[1:]])
    assert curves[1] == pytest.approx(curves[0], rel=1e-4)
