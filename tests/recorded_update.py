"""What a CUDA graph does, on a CPU: record the operators of an update with their tensors, and run them again.

A graph repeats kernels on fixed addresses. Whatever Python computed while it was recorded is frozen: numbers passed to
operators, and tensors made from numbers. So two recordings of the same update with other numbers must be alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from device_watch import place_of_call
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

# Operators that compute nothing.
NOTHING = {"detach", "alias", "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors in nested lists and dicts."""
    return [one for one in tree_leaves(value) if isinstance(one, Tensor)]


def address(tensor: Tensor) -> int:
    """Return where a tensor's storage begins."""
    return tensor.untyped_storage().data_ptr()


@dataclass(frozen=True)
class Call:
    """A recorded operator.

    Attributes:
        operator: the overload.
        args: its arguments.
        kwargs: its named arguments.
        result: what it returned.
        place: file and line of the project's code.
        is_view: it computed nothing.
    """

    operator: Any
    args: Any
    kwargs: dict[str, Any]
    result: Any
    place: str
    is_view: bool

    def again(self) -> None:
        """Compute the result once more, in the memory of the recorded one."""
        if self.is_view:
            return
        own = {address(one) for one in tensors((self.args, self.kwargs))}
        found = self.operator(*self.args, **self.kwargs)
        for before, now in zip(tensors(self.result), tensors(found), strict=True):
            if address(before) not in own:  # otherwise it was written in place
                before.copy_(now)

    def constants(self) -> Any:
        """Return the arguments without tensors."""
        return tree_map_only(Tensor, lambda _: None, (self.args, self.kwargs))


class Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records all operators within a `with` block; all tensors stay alive, so no address is used twice."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator and record it."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.calls.append(Call(func, args, kwargs, result, place_of_call(), func.is_view))
        return result

    def replay(self) -> None:
        """Run all operators again."""
        with torch.no_grad():
            for call in self.calls:
                call.again()


class Launches(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operators that a GPU has to launch within a `with` block, by name.

    A recording cannot: it holds all gradients, so that autograd copies them where it would take them over.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by_name: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count an operator and run it."""
        name = func._schema.name.removeprefix("aten::")
        if not func.is_view and name not in NOTHING:
            self.by_name[name] += 1
        return func(*args, **(kwargs or {}))


def frozen(one: Recording, other: Recording, numbers: tuple[float, ...] = ()) -> list[str]:
    """Return what two recordings of an update, with other numbers in the same tensors, have frozen, one line each.

    Args:
        one: a recording.
        other: another one.
        numbers: what must not be an argument of an operator although both recordings have it.
    """
    if len(one.calls) != len(other.calls):
        return [f"found {len(one.calls)} operators, then {len(other.calls)}"]
    return list(_differences(one, other, numbers))


def _differences(one: Recording, other: Recording, numbers: tuple[float, ...]) -> Iterator[str]:
    made: list[set[int]] = [set(), set()]
    for pair in zip(one.calls, other.calls, strict=True):
        first, second = pair
        name = f"{first.place}: {first.operator}"
        if first.operator is not second.operator:
            yield f"{name}: then {second.operator}"
        elif first.constants() != second.constants():
            yield f"{name}: a number of the update is an argument"
        plain = (value for value in first.args if isinstance(value, int | float) and not isinstance(value, bool))
        if not first.is_view and any(value in numbers for value in plain):
            yield f"{name}: a number of the batch is an argument"
        read = [[address(value) for value in tensors((call.args, call.kwargs))] for call in pair]
        outside = [[at for at in places if at not in known] for places, known in zip(read, made, strict=True)]
        if outside[0] != outside[1]:
            yield f"{name}: reads a tensor that was made from a number"
        for call, places, known in zip(pair, read, made, strict=True):
            known |= {at for value in tensors(call.result) if (at := address(value)) not in places}
