"""What each loss of a method reads and trains, found by computing it once on a small copy of the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from mdnmt.methods import build, validate
from mdnmt.methods.method import Architecture, Method, VocabSizes, WordCounts
from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext
from mdnmt.models.transformer import Output
from mdnmt.paper.diagram_parts import Link, Read

# Of the small copy: enough that every part of a method is there and works.
VOCAB, SENTENCES, WORDS = 12, 4, 5


@dataclass(frozen=True)
class Links:
    """The losses of a method, and the parameters of the small copy that they were found on."""

    losses: tuple[Link, ...]
    parameters: frozenset[str]

    def of(self, module: str) -> tuple[str, ...] | None:
        """Return the names of the losses that train a module; None where it has no parameters."""
        own = {name for name in self.parameters if name.startswith(f"{module}.") or name == module}
        return tuple(loss.name for loss in self.losses if loss.trains & own) if own else None


class _Watched(DomainContext):
    """A context that remembers which of its records are asked for."""

    def recorded(self, kind: str, side: Any) -> list[Tensor]:
        found = super().recorded(kind, side)
        self.__dict__.setdefault("asked", []).extend(found)
        return found


def find_links(builder: str, options: dict[str, Any], num_domains: int) -> Links:
    """Return what each loss of a method reads and trains.

    Args:
        builder: a module of mdnmt.methods.
        options: its architecture, complete; sizes are replaced by small ones.
        num_domains: of the task.
    """
    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(1)
        method = _small(builder, options, num_domains)
        batch = _batch(num_domains)
        method.begin_update(1, 1)
        with _owners(method.model) as owner:
            output = method.model(batch)
        parameters = _Parameters.of(method.model)
        losses = tuple(_link(loss, output, batch, owner, parameters) for loss in method.losses)
    return Links(losses, frozenset(name for names in parameters.names for name in names))


@contextmanager
def _one_thread() -> Iterator[None]:
    # Products of a dozen numbers: where others compute as well, several threads wait for one another most of the time.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def first_sentence(value: object) -> str:
    """Return the first sentence of the docstring of a value's class."""
    text = " ".join((type(value).__doc__ or "").split("\n\n")[0].split())
    return text.rstrip(".")


def _small(builder: str, options: dict[str, Any], num_domains: int) -> Method:
    wide = validate(builder, options, where=builder)
    small: Architecture = wide.model_copy(
        update={
            "size": "base",
            "model_dim": 4 * wide.num_heads,
            "ffn_dim": 8,
        }
    )
    method = build(builder, small, VocabSizes(VOCAB, VOCAB, True), num_domains)
    if method.prepare is not None:
        counts = torch.ones(num_domains, VOCAB)
        method.prepare(WordCounts(counts, counts))
    return method


def _batch(num_domains: int) -> Batch:
    words_BT = torch.randint(4, VOCAB, (SENTENCES, WORDS))
    mask_BT = torch.ones(SENTENCES, WORDS, dtype=torch.bool)
    return Batch(
        source_BS=words_BT,
        source_mask_BS=mask_BT,
        target_BT=words_BT,
        target_mask_BT=mask_BT,
        label_N=words_BT.flatten(),
        label_index_N=torch.arange(SENTENCES * WORDS),
        domain_B=torch.arange(SENTENCES) % num_domains,
    )


@contextmanager
def _owners(model: nn.Module) -> Iterator[dict[int, str]]:
    """Yield a mapping that will tell the innermost module which left each record of a pass, by the record's id."""
    owner: dict[int, str] = {}

    def hook(name: str) -> Any:
        def look(module: nn.Module, args: tuple[Any, ...], given: dict[str, Any], result: Any) -> None:
            for value in (*args, *given.values()):
                if isinstance(value, DomainContext):
                    for record in (one for found in value.records.values() for one in found):
                        # Inner modules end before outer ones, so the first to be seen with a record left it.
                        owner.setdefault(id(record), name)

        return look

    hooks = [module.register_forward_hook(hook(name), with_kwargs=True) for name, module in model.named_modules()]
    try:
        yield owner
    finally:
        for one in hooks:
            one.remove()


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a model, each with all names that it has: those that layers share have several."""

    values: tuple[nn.Parameter, ...]
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, model: nn.Module) -> _Parameters:
        found: dict[nn.Parameter, list[str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            found.setdefault(parameter, []).append(name)
        return cls(tuple(found), tuple(map(tuple, found.values())))

    def reached(self, value: Tensor) -> list[tuple[str, ...]]:
        """Return the names of each parameter that the gradient of a scalar reaches."""
        if not value.requires_grad:
            return []
        gradients = torch.autograd.grad(value, self.values, allow_unused=True, retain_graph=True)
        return [names for names, gradient in zip(self.names, gradients, strict=True) if gradient is not None]


def _link(loss: Any, output: Output, batch: Batch, owner: dict[int, str], parameters: _Parameters) -> Link:
    context = output.context
    watched = _Watched(**{field.name: getattr(context, field.name) for field in fields(context)})
    trained = parameters.reached(loss(replace(output, context=watched), batch))
    records: dict[str, list[Tensor]] = {}
    for record in watched.__dict__.get("asked", []):
        records.setdefault(owner[id(record)], []).append(record)
    reads = []
    for module, found in records.items():
        reached = [names for record in found for names in parameters.reached(record.sum())]
        goes_on = any(not any(name.startswith(f"{module}.") for name in names) for names in reached)
        reads.append(Read(module, goes_on))
    return Link(loss.name, first_sentence(loss), tuple(reads), frozenset(name for names in trained for name in names))
