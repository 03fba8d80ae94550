"""Choose the kernels of a run: those for CPUs, the plain formulas, or these with Triton's kernel for the loss."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.models.cross_entropy import linear_cross_entropy
from mdnmt.models.kernels import Kernels, using

# Largest relative difference, in float32, at which Triton's kernel counts as right.
TOLERANCE = 1e-4


def choose_kernels(recipe: Training, device: torch.device) -> Kernels:
    """Return the kernels of a run that begins on a device; `auto` on a GPU: Triton's, if they work there.

    Raises:
        ConfigError: the recipe asks for kernels that do not exist for the device.
    """
    if recipe.kernels == "cpu" and device.type != "cpu":
        raise ConfigError(f"found training.kernels: cpu on device {device}, expected auto or plain there")
    if recipe.kernels != "auto":
        return recipe.kernels
    if device.type == "cpu":
        return "cpu"
    return "plain" if why_no_triton(device) else "triton"


@cache
def why_no_triton(device: torch.device) -> str:
    """Return why Triton's kernel is not used on a device; "": it computes what the plain form does.

    Triton compiles the kernel when it is first called, with a C compiler that may be missing, so it is tried here, with
    a small loss in float32.
    """
    if device.type != "cuda":
        return f"it is for GPUs, not for device {device}"
    if find_spec("triton") is None:
        return "Triton is not installed"
    try:
        found, plain = _small_loss(device, "triton"), _small_loss(device, "plain")
        error = max(float((a - b).norm() / b.norm()) for a, b in zip(found, plain, strict=True))
    except Exception as failure:  # Triton raises errors of many kinds
        return f"Triton failed: {next(iter(str(failure).splitlines()), '') or type(failure).__name__}"
    # Not `error > TOLERANCE`, which NaN would pass.
    return "" if error <= TOLERANCE else f"Triton's loss differs from the plain one by {error:.1e}"


def _small_loss(device: torch.device, kernels: Kernels) -> list[Tensor]:
    """Return a loss and its gradients."""
    # Drawn from a generator of its own: those of the run stay as they are.
    generator = torch.Generator().manual_seed(1)
    hidden_ND, weight_VD = (torch.randn(n, 64, generator=generator).to(device).requires_grad_() for n in (50, 5000))
    label_N, mask_N = torch.arange(50, device=device) * 99, torch.arange(50, device=device) < 45
    with using(kernels), torch.enable_grad():
        loss = linear_cross_entropy(hidden_ND, weight_VD, label_N, 0.1, mask_N=mask_N)
        return [loss.detach(), *torch.autograd.grad(loss, (hidden_ND, weight_VD))]
