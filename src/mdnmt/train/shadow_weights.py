"""Weights in bfloat16 beside those in float32: all are cast by one operator an update, their gradients by another.

Autocast casts every weight where it is used, and every gradient on its way back: two launches a weight on a GPU. The
results have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mdnmt.models.kernels import takes_cpu_kernel


class _Reads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Observes which storages are read by nothing but casts to a type."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.dtype = dtype
        self.cast: set[int] = set()
        self.read: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note what an operator reads, and run it."""
        kwargs = kwargs or {}
        if not func.is_view:
            casts = func is torch.ops.aten._to_copy.default and kwargs.get("dtype") == self.dtype
            noted = self.cast if casts else self.read
            noted |= {_storage(value) for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)}
        return func(*args, **kwargs)


class ShadowWeights:
    """Copies of the weights of a model that only matrix products read, in the type of the products.

    The first forward pass runs with the weights themselves and shows which these are. The copies are leaves with
    gradients of their own; `collect` adds these to the gradients of the weights.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._parameters = [one for one in model.parameters() if one.requires_grad]
        self._places = [
            (module._parameters, key, one)
            for module in model.modules()
            for key, one in module._parameters.items()
            if one is not None
        ]
        self._shadow_of: dict[nn.Parameter, Tensor] | None = None

    def __len__(self) -> int:
        """Return the number of copies; 0 before the first forward pass."""
        return len(self._shadow_of or {})

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Let a forward pass, under autocast, read the copies."""
        if self._shadow_of is None:
            with _Reads(self._dtype) as reads:
                yield
            chosen = [one for one in self._parameters if _storage(one) in reads.cast - reads.read]
            self._shadow_of = {one: one.detach().to(self._dtype).requires_grad_() for one in chosen}
            return
        for place, key, parameter in self._places:
            place[key] = self._shadow_of.get(parameter, parameter)  # type: ignore[assignment]
        try:
            yield
        finally:
            for place, key, parameter in self._places:
                place[key] = parameter

    @torch.no_grad()
    def refresh(self) -> None:
        """Copy the weights, which have changed since."""
        if self._shadow_of:
            torch._foreach_copy_(list(self._shadow_of.values()), list(self._shadow_of))

    @torch.no_grad()
    def collect(self) -> None:
        """Add the gradients of the copies to those of the weights, after a backward pass."""
        shadows = self._shadow_of or {}
        found = [(one, copy.grad) for one, copy in shadows.items() if copy.grad is not None]
        added = [(one.grad, gradient) for one, gradient in found if one.grad is not None]
        made = [(torch.empty_like(one), gradient, one) for one, gradient in found if one.grad is None]
        if added:
            torch._foreach_add_([total for total, _ in added], [gradient for _, gradient in added])
        if made:
            torch._foreach_copy_([total for total, _, _ in made], [gradient for _, gradient, _ in made])
        for total, _, one in made:
            one.grad = total
        for copy in shadows.values():
            copy.grad = None


_KNOWN: WeakKeyDictionary[nn.Module, ShadowWeights] = WeakKeyDictionary()


def shadow_weights(model: nn.Module, dtype: torch.dtype | None) -> ShadowWeights | None:
    """Return the copies of a model's weights, made at the first call; None in float32 or with the CPU's kernels."""
    if dtype is None or takes_cpu_kernel(next(model.parameters())):
        return None
    if model not in _KNOWN:
        _KNOWN[model] = ShadowWeights(model, dtype)
    return _KNOWN[model]


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
