"""The quick way for float32 products stays as exact as float32, and leaves torch's settings as they were."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from mdnmt.train.device import has_native_bf16, quick_float32

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


def test_the_setting_is_put_back_after_an_error() -> None:
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    try:
        with quick_float32(CPU):
            raise ValueError
    except ValueError:
        pass
    assert matmul.fp32_precision == before


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
