"""Kernels that exist only to be fast on a CPU or on a GPU, each called from the block whose formula it computes.

A CPU is fast if intermediate results stay in its caches, a GPU if it launches few operators. `training.kernels: plain`
runs a GPU's form on a CPU as well, so that CPU tests cover the code that a GPU runs. Both compute the same up to
rounding; dropout draws different random numbers. `triton` are the plain formulas with Triton's kernel for the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

Kernels = Literal["plain", "cpu", "triton"]

# A process-wide variable rather than a context variable, because translation uses several threads.
_selected: Kernels = "cpu"


@contextmanager
def using(kernels: Kernels) -> Iterator[None]:
    """Select the kernels; tensors on other devices than a CPU never use the kernels for CPUs."""
    global _selected
    before, _selected = _selected, kernels
    try:
        yield
    finally:
        _selected = before


def takes_cpu_kernel(x: Tensor) -> bool:
    """Return whether a block uses its CPU kernel for x; torch.compile gets the plain formulas and fuses them itself."""
    return x.device.type == "cpu" and _selected == "cpu" and not torch.compiler.is_compiling()


def takes_triton_kernel(x: Tensor) -> bool:
    """Return whether a block uses its Triton kernel for x, which computes in float32 at most."""
    return _selected == "triton" and x.dtype != torch.float64 and not torch.compiler.is_compiling()
