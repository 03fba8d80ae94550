"""An update depends on nothing that a CUDA graph would freeze: recorded with one batch, it is right for another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from chosen_cases import chosen_cases
from golden.golden_runs import METHODS, options
from recorded_update import Recording, frozen
from torch import Tensor

from mdnmt import methods
from mdnmt.config.training import Training
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.batch import Batch
from mdnmt.models.kernels import using
from mdnmt.operations.method_checks import make_batch, make_packed_batch, ready_to_train
from mdnmt.train.forward_backward import UpdateResult, forward_backward
from mdnmt.train.layout import Layout, why_padded
from mdnmt.train.optimiser import Optimiser

CPU, VOCAB, DOMAINS = torch.device("cpu"), 40, 3
LENGTHS = ((7, 9), (7, 11), (4, 6), (5, 3))
WORDS = sum(length for _, length in LENGTHS)  # no other number of an update is 29
RECIPE = Training(max_updates=10, clip_norm=0.5)
FAST = ("waldm-edc", "dsa-guided", "damha-dmoe-mix-loss", "ldspslv", "mtl")


def batch_of(seed: int, layout: Layout = "padded") -> Batch:
    """Return a batch of other words and domains, but of the same shape; if packed, also of other lengths."""
    generator = torch.Generator().manual_seed(seed)

    def sentence(length: int) -> list[int]:
        return [*torch.randint(4, VOCAB, (length - 1,), generator=generator).tolist(), 2]

    if layout == "packed":
        lengths = torch.randint(2, 9, (1 + seed, 2), generator=generator).tolist()
    else:
        lengths = LENGTHS
    sources, targets = zip(*((sentence(source), sentence(target)) for source, target in lengths), strict=True)
    domains = torch.randint(0, DOMAINS, (len(lengths),), generator=generator).tolist()
    return (make_packed_batch if layout == "packed" else make_batch)(sources, targets, domains)


def build(name: str) -> Method:
    """Return a method of the golden runs, in tiny size."""
    given = options(name)
    torch.manual_seed(1)
    config = methods.validate(given["builder"], {**given["architecture"], "attention_dropout": 0.1}, where=name)
    method = methods.build(given["builder"], config, VocabSizes(VOCAB, VOCAB, True), DOMAINS)
    method.model.train()
    return ready_to_train(method, DOMAINS)


def may_pack(name: str) -> bool:
    """Return whether a method may be trained on packed batches."""
    return why_padded(build(name), RECIPE) is None


class Updates:
    """Updates of a method; all their numbers are in tensors that are overwritten, never replaced."""

    def __init__(self, method: Method, dtype: torch.dtype | None, layout: Layout = "padded") -> None:
        self.method, self.dtype = method, dtype
        self.optimiser = Optimiser(method.model, RECIPE)
        self.batch, self.words = batch_of(1, layout), torch.zeros((), dtype=torch.int64)

    def set(self, batch: Batch, update: int, words: int) -> None:
        """Write the numbers of an update."""
        assert self.batch.shape_key == batch.shape_key
        for own, other in zip(self.batch.tensors(), batch.tensors(), strict=True):
            own.copy_(other)
        self.method.begin_update(update, RECIPE.max_updates)
        self.words.fill_(words)
        self.optimiser.rate.fill_(0.01 / update)
        torch.manual_seed(update)

    def run(self) -> UpdateResult:
        """Do the update."""
        found = forward_backward(
            self.method,
            [self.batch, self.batch],
            RECIPE,
            CPU,
            self.dtype,
            num_target_tokens=self.words,
            num_domains=DOMAINS,
        )
        self.optimiser.move()
        return found

    def state(self) -> dict[str, Tensor]:
        """Return weights and the optimiser's state, themselves."""
        moments = {f"{n}/{q}": value for n, named in self.optimiser._state.items() for q, value in named.items()}
        return {**dict(self.method.model.named_parameters()), **moments}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Write a state back to where it was."""
        with torch.no_grad():
            for name, value in self.state().items():
                value.copy_(state[name])


def copied(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a copy of a state."""
    return {name: value.detach().clone() for name, value in state.items()}


def numbers(found: UpdateResult) -> list[Tensor]:
    """Return losses, norms and sums of domains."""
    losses = [value for losses in found.losses for value in losses.values()]
    return [*losses, *found.norms, *([found.domain_sums] if found.domain_sums is not None else [])]


def recorded(updates: Updates, run: Callable[[], Any]) -> tuple[Recording, Any]:
    """Record something that updates do."""
    with Recording() as recording:
        found = run()
    return recording, found


# Every method in bf16, as on a GPU; in fp32 those that have all kinds of blocks and losses together.
CASES: list[tuple[Layout, str, str]] = [
    *(("padded", name, "bf16") for name in METHODS),
    *(("packed", name, "bf16") for name in METHODS if may_pack(name)),
    *((layout, name, "fp32") for layout in ("padded", "packed") for name in FAST),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", chosen_cases(CASES, *(case for case in CASES if case[1] in FAST)))
def test_a_recorded_update_is_right_for_another_batch(case: tuple[Layout, str, str]) -> None:
    layout, name, precision = case
    with using("plain"):
        updates = Updates(build(name), torch.bfloat16 if precision == "bf16" else None, layout)
        updates.set(batch_of(2, layout), 1, 50)
        updates.run()  # the optimiser has a state from then on
        before = copied(updates.state())
        updates.set(batch_of(3, layout), 4, 60)
        one, found = recorded(updates, updates.run)
        updates.restore(before)
        updates.set(batch_of(4, layout), 7, 71)
        one.replay()
        replayed, losses = copied(updates.state()), [value.clone() for value in numbers(found)]
        updates.restore(before)
        updates.set(batch_of(4, layout), 7, 71)
        other, found = recorded(updates, updates.run)
    assert frozen(one, other, (WORDS,)) == []
    for value, wanted in zip(losses, numbers(found), strict=True):
        assert torch.equal(value, wanted)
    for key, wanted in updates.state().items():
        assert torch.equal(replayed[key], wanted), key
    assert any(not torch.equal(before[key], value) for key, value in updates.state().items())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("words of the batch", "aten.mul.Tensor: a number of the batch is an argument"),
        ("rate", "aten.mul.Tensor: a number of the update is an argument"),
        ("tensor", "reads a tensor that was made from a number"),
        ("branch", "operators, then"),
    ],
)
def test_a_frozen_number_is_found(what: str, line: str) -> None:
    method = build("mixed")
    updates = Updates(method, None)
    [plain] = method.losses

    def spoilt(output: Any, batch: Batch) -> Tensor:
        loss, rate = plain(output, batch), float(updates.optimiser.rate)
        if what == "words of the batch":
            return loss * batch.num_target_tokens
        if what == "rate":
            return loss * (1.0 + rate)
        if what == "tensor":
            return loss * torch.tensor(rate)
        return loss + loss if rate > 0.002 else loss

    spoilt.name = "generation"  # type: ignore[attr-defined]
    method.losses = [spoilt]  # type: ignore[list-item]
    with using("plain"):
        updates.set(batch_of(2), 1, 50)
        updates.run()
        recordings = []
        for update in (4, 7):
            updates.set(batch_of(update), update, 50 + update)
            recordings.append(recorded(updates, updates.run)[0])
    found = frozen(*recordings, (WORDS,))
    assert any(line in one for one in found), found
