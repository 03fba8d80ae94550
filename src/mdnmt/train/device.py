"""Choose the device, precision and random state of a run."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch

from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.gpu import acquire


def choose_device(name: str = "auto") -> torch.device:
    """Return the named device, or a GPU if there is one for `auto`; this process then owns the GPU until it ends.

    A GPU is always returned with its index, which `torch.cuda.set_device` and NCCL need.

    Raises:
        ConfigError: there is no such device, or it does not work.
    """
    # acquire() must precede the first CUDA call, which fixes the visible devices.
    is_set_up = bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
    if name.startswith(("auto", "cuda")) and torch.version.cuda is not None and not is_set_up:
        acquire(number=int(number) if (number := name.partition(":")[2]).isdecimal() else None)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", _index_of_this_worker())
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        there = ["auto", "cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
        why = str(error).partition("\n")[0]
        raise ConfigError(f"no device {name!r}; there are: {', '.join(there)} (torch says: {why})") from None
    return device


def _index_of_this_worker() -> int:
    # A process that locked a card sees only that one. If several are visible (the cards cannot be listed, or the parent
    # process locked them), torchrun's LOCAL_RANK chooses.
    local_rank = os.environ.get("LOCAL_RANK", "")
    if local_rank.isdecimal() and torch.cuda.device_count() > 1:
        return int(local_rank)
    return torch.cuda.current_device()


def refuse_one_gpu_for_all(name: str, count: int) -> None:
    """Refuse a device that names one GPU for several workers: all of them would compute on that card.

    Raises:
        ConfigError: the device names one GPU, and there are several workers.
    """
    if count > 1 and ":" in name:
        raise ConfigError(f"found --device {name} for {count} workers, expected auto, cpu or cuda")


def autocast_dtype(recipe: Training, device: torch.device) -> torch.dtype | None:
    """Return bfloat16 if the recipe asks for it, or says `auto` and the device supports it natively; None: float32."""
    if recipe.precision == "bf16" or (recipe.precision == "auto" and has_native_bf16(device)):
        return torch.bfloat16
    return None


def has_native_bf16(device: torch.device) -> bool:
    """Return whether the device multiplies bfloat16 in hardware; a CPU that only emulates it is slower with it."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        return bool(_cpu_features().get("avx512_bf16") or _cpu_features().get("amx_bf16"))
    return False


@contextmanager
def quick_float32(device: torch.device, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Choose the fastest matrix products for tensors that stay float32.

    On a GPU in a bf16 run (`dtype` of autocast): TF32, whose 10 mantissa bits are three more than those of bf16. A run
    in fp32 keeps full float32 products.

    On an AMD CPU: oneDNN, because MKL, torch's first choice, takes a slow path there. torch passes products to oneDNN
    only if oneDNN may round their factors to bfloat16. On processors without matrix units oneDNN does not round, which
    is tested first.
    """
    if device.type == "cuda" and dtype == torch.bfloat16:
        with _rounding_allowed(torch.backends.cuda.matmul, "tf32"):
            yield
        return
    if device.type != "cpu" or "AMD" not in str(_cpu_features().get("cpu_name")) or not _is_exact_in_onednn():
        yield
        return
    with _rounding_allowed(torch.backends.mkldnn.matmul, "bf16"):  # type: ignore[attr-defined]
        yield


@contextmanager
def _rounding_allowed(products: Any, precision: str) -> Iterator[None]:
    before, products.fp32_precision = products.fp32_precision, precision
    try:
        yield
    finally:
        products.fp32_precision = before


@cache
def _is_exact_in_onednn() -> bool:
    if not hasattr(getattr(torch.backends.mkldnn, "matmul", None), "fp32_precision"):
        return False
    factor = torch.full((512, 512), 1.0 + 2.0**-12)  # bfloat16, with 8 significant bits, would round this to 1
    with _rounding_allowed(torch.backends.mkldnn.matmul, "bf16"):  # type: ignore[attr-defined]
        products = (factor @ factor.t(), factor.t() @ factor)
    exact = 512 * (1.0 + 2.0**-12) ** 2
    return all(bool(((product - exact).abs() < 1e-5 * exact).all()) for product in products)


def _cpu_features() -> dict[str, object]:
    # Some supported releases of torch lack this function; the CPU is then assumed to have none of the features.
    features: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return features


def _keep_few_products() -> None:
    # oneDNN and torch's layer above it each cache 1,024 compiled products of half a MiB, one for each shape. Nearly
    # every batch of text has a new shape, and the cached objects fragment the heap. Compiling one again takes less than
    # a millisecond. Both libraries read these variables at their first product.
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "32")


# No run may have this seed (config/study.py). If a loaded model drew the same initial weights as in training, nobody
# would notice a weight that was never saved.
SEED_OF_LOADING = 2**32 - 1


def make_deterministic(seed: int, threads: int | None) -> None:
    """Seed all generators and ask torch for repeatable kernels.

    Raises:
        ConfigError: `threads` is below 1.
    """
    if threads is not None and threads < 1:
        raise ConfigError(f"found {threads} CPU threads, expected 1 or more")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    _keep_few_products()
    if threads is not None:
        torch.set_num_threads(threads)
    # The same as use_deterministic_algorithms(True), which would also import torch's compiler and take a second.
    torch.set_deterministic_debug_mode("error")
    # Filling every new tensor only helps to find reads of uninitialised memory, and costs one write of all of it.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
