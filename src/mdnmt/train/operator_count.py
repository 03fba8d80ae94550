"""Count operators, and calls that make the host wait for the device.

Tests and benchmarks use it on one update: on a CPU, on fake CUDA tensors, or on a GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Reads of a tensor's values that never reach the dispatcher for a tensor in CPU memory.
_READS = {torch.Tensor.tolist: "tolist", torch.Tensor.numpy: "numpy"}
_VIEWS = {"aten.view", "aten.t", "aten.transpose", "aten.slice", "aten.select", "aten.expand", "aten.unsqueeze"}
_VIEWS |= {"aten.squeeze", "aten.permute", "aten.alias", "aten.detach", "aten.split", "aten._unsafe_view"}


class OperatorCount:
    """Counts what runs inside its `with` block.

    Usage:
        with OperatorCount() as count:
            ...  # one update
        assert not count.waits, count.waits

    A wait is a call after which a host with a GPU continues only when the GPU has caught up:

    - a value that Python reads: `.item()`, `float()`, `bool()`, `.tolist()`, `.numpy()`;
    - a tensor made from Python numbers (`torch.tensor(3.0)`), which reaches the device by a blocking copy;
    - a copy between devices without `non_blocking`;
    - an operator whose result has a shape that depends on values (`nonzero`, indexing with a mask, `unique`).

    With `device="cuda"`, only operators with a CUDA tensor among arguments or results count, so what prepares batches
    on the host is left out; this also works in `FakeTensorMode`. On a CPU run everything counts, as if the CPU were the
    device. Then leave host work out with `paused()`.

    Attributes:
        operators: name -> calls, backward included. Each is one launch or a few on a GPU; views are none.
        waits: name -> calls.
    """

    def __init__(self, device: str | None = None) -> None:
        self.operators: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self._device, self._paused, self._modes = device, False, ExitStack()

    @property
    def launches(self) -> int:
        """Return the number of operators that are no views: an estimate of kernel launches from below."""
        return sum(number for name, number in self.operators.items() if name not in _VIEWS)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing inside the block."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def __enter__(self) -> Self:
        self._modes.enter_context(_Operators(self))
        self._modes.enter_context(_Reads(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._modes.close()

    def note_operator(self, operator: Any, arguments: Any, options: dict[str, Any], result: Any) -> None:
        """Count a call of an operator."""
        devices = {leaf.device.type for leaf in tree_leaves((arguments, options)) if isinstance(leaf, torch.Tensor)}
        made = {leaf.device.type for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)}
        if self._paused or (self._device is not None and self._device not in devices | made):
            return
        name = str(operator).removesuffix(f".{operator._overloadname}")
        self.operators[name] += 1
        copies = name in {"aten._to_copy", "aten.copy_"} and len(devices | made) > 1
        blocking = copies and not (options.get("non_blocking") or (name == "aten.copy_" and arguments[2:] == (True,)))
        reads = name in {"aten._local_scalar_dense", "aten.lift_fresh", "aten.equal"}
        if reads or blocking or _has_unknown_shape(operator, name, arguments):
            self.waits[name] += 1

    def note_read(self, name: str, tensor: torch.Tensor) -> None:
        """Count a read that is no operator."""
        if not self._paused and self._device in (None, tensor.device.type):
            self.waits[name] += 1


def _has_unknown_shape(operator: Any, name: str, arguments: Any) -> bool:
    if name.startswith("aten.index"):  # torch tags it even for numbers as indices, with which the shape is known
        indices = [leaf for leaf in tree_leaves(arguments[1:2]) if isinstance(leaf, torch.Tensor)]
        return any(index.dtype in {torch.bool, torch.uint8} for index in indices)
    return torch.Tag.dynamic_output_shape in operator.tags


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, count: OperatorCount) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._count = count

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self._count.note_operator(func, args, kwargs or {}, result)
        return result


class _Reads(TorchFunctionMode):
    def __init__(self, count: OperatorCount) -> None:
        super().__init__()
        self._count = count

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in _READS:
            self._count.note_read(_READS[func], args[0])
        return func(*args, **(kwargs or {}))
