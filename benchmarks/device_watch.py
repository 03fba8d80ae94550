"""Record what a piece of training asks of a device: operators, synchronisations, copied scalars, float64.

A dispatch mode sees every operator of the forward and backward pass. It works on a real device and on fake tensors,
which show on a machine without a GPU what a GPU would have to do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Kind = Literal["synchronisation", "scalar copy", "float64"]

# Operators that make the CPU wait for the device, because their result or its size depends on data.
_WAITING = {
    "_local_scalar_dense",
    "_unique2",
    "allclose",
    "bincount",
    "equal",
    "is_nonzero",
    "masked_select",
    "nonzero",
    "unique_consecutive",
    "unique_dim",
}
_COPIES = {"_to_copy", "copy_"}
_INDEXING = {"index", "index_put", "index_put_"}


@dataclass(frozen=True)
class Finding:
    """One operator that should not be in an update.

    Attributes:
        kind: what is wrong with it.
        operator: its name.
        place: file and line of the project's code that called it.
    """

    kind: Kind
    operator: str
    place: str

    def __str__(self) -> str:
        return f"{self.place}: {self.kind} ({self.operator})"


class DeviceWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Count the operators of a device within a `with` block, and list what makes the CPU wait for it.

    Attributes:
        operators: number of operators that computed something on the device; each launches at least one kernel.
        findings: synchronisations, scalars copied to the device, and results in float64, in order.
    """

    def __init__(self, device_type: str = "cuda") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device_type = device_type
        self.operators = 0
        self.findings: list[Finding] = []

    def count(self, kind: Kind) -> int:
        """Return the number of findings of a kind."""
        return sum(finding.kind == kind for finding in self.findings)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Inspect an operator before it runs, and its results afterwards."""
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        inputs = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
        for kind in self._faults(name, args, kwargs, inputs):
            self._note(kind, name)
        result = func(*args, **kwargs)
        results = [value for value in tree_leaves(result) if isinstance(value, Tensor)]
        here = [value for value in results if self._is_here(value)]
        if here and not func.is_view:
            self.operators += 1
            if any(value.dtype == torch.float64 for value in here):
                self._note("float64", name)
        return result

    def _faults(self, name: str, args: Any, kwargs: Mapping[str, Any], inputs: list[Tensor]) -> Iterator[Kind]:
        here = any(self._is_here(value) for value in inputs)
        if name in _COPIES:
            yield from self._faults_of_copy(name, args, kwargs)
        elif here and (name in _WAITING or (name in _INDEXING and _has_mask(args)) or _has_open_size(name, kwargs)):
            yield "synchronisation"

    def _faults_of_copy(self, name: str, args: Any, kwargs: Mapping[str, Any]) -> Iterator[Kind]:
        source = args[1] if name == "copy_" else args[0]
        to = args[0].device.type if name == "copy_" else torch.device(kwargs.get("device") or source.device).type
        if to == source.device.type or self.device_type not in (to, source.device.type):
            return
        if to == self.device_type and source.dim() == 0:
            yield "scalar copy"
        waits = not (kwargs.get("non_blocking") or (name == "copy_" and len(args) > 2 and args[2]))
        if waits:
            yield "synchronisation"

    def _is_here(self, value: Tensor) -> bool:
        return value.device.type == self.device_type

    def _note(self, kind: Kind, operator: str) -> None:
        self.findings.append(Finding(kind, operator, place_of_call()))


def _has_mask(args: Any) -> bool:
    return any(isinstance(one, Tensor) and one.dtype in (torch.bool, torch.uint8) for one in tree_leaves(args[1]))


def _has_open_size(name: str, kwargs: Mapping[str, Any]) -> bool:
    return name == "repeat_interleave" and kwargs.get("output_size") is None


def place_of_call() -> str:
    """Return file and line of the innermost frame outside torch and the file of the caller, a dispatch mode."""
    torch_folder, frame = str(Path(torch.__file__).parent), sys._getframe(1)
    own = frame.f_code.co_filename
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        if name != own and not name.startswith((torch_folder, "<")):
            break
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    return f"{'/'.join(path.parts[-2:])}:{frame.f_lineno}"
