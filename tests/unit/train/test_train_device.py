"""A GPU has an index, and float32 products through oneDNN stay exact and leave torch's settings as they were."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.errors import ConfigError
from mdnmt.train import device as device_module
from mdnmt.train.data_parallel import GradientSum, Workers
from mdnmt.train.device import choose_device, has_native_bf16, quick_float32, refuse_one_gpu_for_all
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
GROWTH = """
from pathlib import Path
import torch
from mdnmt.train.device import make_deterministic

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 2**20

make_deterministic(1, 1)
weight = torch.ones(256, 256, dtype=torch.bfloat16)
torch.ones(1000, 256, dtype=torch.bfloat16) @ weight
before = resident()
for rows in range(1, 500):
    torch.ones(rows, 256, dtype=torch.bfloat16) @ weight
print(resident() - before)
"""


def test_products_are_exact_and_the_setting_is_put_back() -> None:
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    generator = torch.Generator().manual_seed(1)
    for rows, inner, columns in ((300, 512, 256), (17, 1024, 512), (512, 300, 1024)):
        left, right = torch.randn(rows, inner, generator=generator), torch.randn(inner, columns, generator=generator)
        with quick_float32(CPU):
            products = (left @ right, (right.t() @ left.t()).t())
        assert matmul.fp32_precision == before
        true = left.double() @ right.double()
        for product in products:
            # bfloat16 would be off by some 1e-3 of the largest.
            assert (product.double() - true).abs().max() < 1e-5 * true.abs().max()


@pytest.mark.parametrize(("dtype", "inside"), [(torch.bfloat16, "tf32"), (None, None)])
def test_a_gpu_takes_tf32_in_bf16_runs_alone(dtype: torch.dtype | None, inside: str | None) -> None:
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    assert before != "tf32"
    with quick_float32(torch.device("cuda", 0), dtype):
        assert matmul.fp32_precision == (inside or before)
    assert matmul.fp32_precision == before


def test_the_setting_is_put_back_after_an_error() -> None:
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    try:
        with quick_float32(CPU):
            raise ValueError
    except ValueError:
        pass
    assert matmul.fp32_precision == before


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_shapes_unless_somebody_wants_it() -> None:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    plain = {name: value for name, value in os.environ.items() if name not in names}
    grown = []
    for environment in (plain, {**plain, **dict.fromkeys(names, "1024")}):
        done = subprocess.run(
            [sys.executable, "-c", GROWTH], env=environment, capture_output=True, text=True, check=True
        )
        grown.append(int(done.stdout))
    ours, theirs = grown
    assert ours < 60, grown
    if has_native_bf16(CPU):  # else the products are not made by oneDNN
        assert theirs > 200, grown


def _pretend_cuda(monkeypatch: pytest.MonkeyPatch, *, count: int) -> None:
    zeros = torch.zeros

    def made(size: int, *, device: torch.device) -> torch.Tensor:
        assert device.index is not None
        if device.index >= count:
            raise RuntimeError("CUDA error: invalid device ordinal")
        return zeros(size)

    monkeypatch.setattr(device_module, "acquire", lambda number=None: [])
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch, "zeros", made)


@pytest.mark.parametrize(
    ("name", "local_rank", "count", "index"),
    [
        ("auto", None, 1, 0),
        ("cuda", None, 4, 0),
        ("cuda:2", None, 4, 2),
        ("cuda", "3", 4, 3),
        ("auto", "3", 1, 0),  # it locked one card and sees no other
    ],
)
def test_a_gpu_has_the_index_that_torch_needs(
    monkeypatch: pytest.MonkeyPatch, name: str, local_rank: str | None, count: int, index: int
) -> None:
    _pretend_cuda(monkeypatch, count=count)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if local_rank is not None:
        monkeypatch.setenv("LOCAL_RANK", local_rank)
    chosen = choose_device(name)
    assert (chosen.type, chosen.index) == ("cuda", index)


def test_gradients_on_a_gpu_have_an_nccl_group_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # What torch.cuda.set_device does first: without an index it raises ValueError.
    seen: list[Any] = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda d: seen.append(torch.cuda._utils._get_device_index(d)))
    monkeypatch.setattr(torch.distributed, "new_group", lambda **options: seen.append(options["backend"]))
    monkeypatch.setattr(torch.nn.parallel, "DistributedDataParallel", lambda module, **_: module)
    _pretend_cuda(monkeypatch, count=2)
    monkeypatch.setenv("LOCAL_RANK", "1")
    model = torch.nn.Linear(1, 1)
    GradientSum(Workers(1, 2), model, choose_device("cuda"), 1.0)
    assert seen == [1, "nccl"]
    with pytest.raises(ValueError, match="specified index"):
        GradientSum(Workers(1, 2), model, torch.device("cuda"), 1.0)


def test_a_gpu_too_many_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend_cuda(monkeypatch, count=2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ConfigError, match=r"no device 'cuda'; there are: auto, cpu, cuda:0, cuda:1"):
        choose_device("cuda")


def test_several_workers_never_share_a_named_gpu(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="found --device cuda:1 for 2 workers"):
        refuse_one_gpu_for_all("cuda:1", 2)
    for name, count in (("cuda:1", 1), ("cuda", 2), ("auto", 2), ("cpu", 2)):
        refuse_one_gpu_for_all(name, count)
    with pytest.raises(ConfigError, match="found --device cuda:0 for 2 workers"):  # as one of torchrun's
        train_run(make_spec(), toy_task, tmp_path / "run", device="cuda:0", workers=Workers(1, 2))
    assert not (tmp_path / "run").exists()
