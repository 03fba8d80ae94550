"""Models of which only the shapes are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_DRAWS = ("normal_", "uniform_")


class _NoDraws(TorchFunctionMode):
    """Leaves tensors as they are where a model would fill them with random numbers."""

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
    """Let models be made without memory for their weights, on the `meta` device, and without drawing any.

    Draws would be without effect there, but torch imports its compiler for the first and takes milliseconds for each.
    """
    with torch.device("meta"), _NoDraws():
        yield
