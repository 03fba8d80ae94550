"""Save and restore the states of all random generators, so that a resumed run draws the same numbers."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


def capture() -> dict[str, Tensor]:
    """Return the states of torch's generators (CPU and CUDA, if in use), of Python's and of numpy's legacy one."""
    version, numbers, cached = random.getstate()
    name, keys, position, has_gauss, cached_gaussian = np.random.get_state(legacy=True)
    assert name == "MT19937", "numpy's legacy generator has been MT19937 since it exists"
    states = {
        "torch.cpu": torch.get_rng_state(),
        "python.state": torch.tensor([version, *numbers], dtype=torch.int64),
        # Python draws Gaussians in pairs and caches the second one (no element: nothing is cached).
        "python.cached": torch.tensor([] if cached is None else [cached], dtype=torch.float64),
        "numpy.keys": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "numpy.counters": torch.tensor([position, has_gauss], dtype=torch.int64),
        "numpy.cached": torch.tensor([cached_gaussian], dtype=torch.float64),
    }
    # Reading CUDA states would initialise an unused CUDA, which costs memory on every device.
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        for device in range(torch.cuda.device_count()):
            states[f"torch.cuda.{device}"] = torch.cuda.get_rng_state(device)
    return states


def restore(states: Mapping[str, Tensor]) -> None:
    """Restore the states that `capture` returned.

    States of CUDA devices that this machine lacks are skipped with a warning on stderr.
    """
    version, *numbers = states["python.state"].tolist()
    position, has_gauss = states["numpy.counters"].tolist()
    keys = states["numpy.keys"].numpy().astype(np.uint32)
    random.setstate((version, tuple(numbers), next(iter(states["python.cached"].tolist()), None)))
    np.random.set_state(("MT19937", keys, position, has_gauss, states["numpy.cached"].item()))
    torch.set_rng_state(states["torch.cpu"])
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for name, state in sorted(states.items()):
        if not name.startswith("torch.cuda."):
            continue
        device = int(name.rsplit(".", 1)[1])
        if device < devices:
            torch.cuda.set_rng_state(state, device)
        else:
            print(
                f"mdnmt: the checkpoint holds the generator of CUDA device {device}, which is not here: "
                "the run continues, but not bit for bit as it would have",
                file=sys.stderr,
            )
