"""Make models without memory for their weights, where only shapes are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_DRAWS = ("normal_", "uniform_")


class _NoDraws(TorchFunctionMode):
    """Skips the functions that fill tensors with random numbers."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", None) in _DRAWS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


@contextmanager
def on_meta_device() -> Iterator[None]:
    """Make models on the `meta` device, without memory for their weights and without drawing random numbers.

    Drawing has no effect there, but torch would import its compiler for the first draw and take milliseconds for each.
    """
    with torch.device("meta"), _NoDraws():
        yield
