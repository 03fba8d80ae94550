"""CUDA graphs: record the kernels of an update once for each shape of batch, then replay them with one launch.

A graph for each shape adds the gradients of a batch to gradients at fixed addresses; one more graph does the step.

A graph repeats kernels with the arguments that they had when it was recorded; what changes must be in tensors. So it
is recorded with the batch and the numbers of an earlier update, and used only if it then computes the bits of an eager
update: losses, gradients, weights, optimiser state, random numbers. Graphs change no result, and a run may resume with
or without them. After a graph has failed, all updates are eager.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from mdnmt.checkpoints import random_state
from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.methods.method import Trainable
from mdnmt.models.batch import Batch
from mdnmt.models.transformer import Transformer
from mdnmt.train.cuda_graph import Recorder, recorder_for
from mdnmt.train.forward_backward import UpdateResult, batch_gradients, clip
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.shadow_weights import shadow_weights

Graphs = Literal["auto", "on", "off"]

MAX_SHAPES = 16  # with a graph; batches of other shapes are computed eagerly
MAX_SEEN = 64  # shapes that came once, of which a batch is kept to record the graph with
ALIGNMENT = 128  # elements; every gradient begins where an allocation of its own could
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Unproven(Exception):
    """A replayed update is not the eager one; the message says in what."""


class _Numbers(NamedTuple):
    """What changes from update to update beside the batches; updates count from 1."""

    update: int
    num_target_tokens: int
    rate: float


class _Shape(NamedTuple):
    """The graph of a shape: its input, what replays it, and what that overwrites."""

    batch: Batch
    replay: Callable[[], None]
    losses: dict[str, Tensor]
    domain_sums: Tensor | None


@dataclass(eq=False)
class UpdateGraphs:
    """Replays the updates whose batches all have shapes with a proven graph.

    Attributes:
        method: model and losses; `recipe`, `dtype`, `want_norms` and `num_domains` as in `forward_backward`.
        optimiser: of the model.
        recorder: records on the model's device.
        is_required: a graph that fails is an error; otherwise a line is printed.
        failure: why no update is replayed any more; "" if none has failed.
        num_replayed: updates so far.
    """

    method: Trainable
    optimiser: Optimiser
    recipe: Training
    dtype: torch.dtype | None
    recorder: Recorder
    is_required: bool = False
    want_norms: bool = False
    num_domains: int = 0
    failure: str = ""
    num_replayed: int = 0
    _seen: OrderedDict[Hashable, tuple[Batch, _Numbers]] = field(default_factory=OrderedDict)
    _shapes: dict[Hashable, _Shape] = field(default_factory=dict)
    _step: tuple[Callable[[], None], list[Tensor]] | None = None
    _gradients: dict[str, Tensor] = field(default_factory=dict)  # of parameters; views of `_flat`
    _flat: Tensor = field(default_factory=lambda: torch.zeros(0))

    def __post_init__(self) -> None:
        """Allocate what every update overwrites."""
        self._words = torch.zeros((), dtype=torch.int64, device=self.optimiser.rate.device)
        self._shadows = shadow_weights(self.method.model, self.dtype)

    def update(self, batches: Sequence[Batch], number: int, num_target_tokens: int, rate: float) -> UpdateResult | None:
        """Do an update and return its losses and norms; None: the caller has to do it eagerly.

        The second batch of a shape records and proves its graph; ConfigError if that fails and graphs are required.
        """
        if self.failure:
            return None
        now = _Numbers(number, num_target_tokens, rate)
        try:
            for batch in batches:
                self._meet(batch, now)
            if not batches or any(batch.shape_key not in self._shapes for batch in batches):
                return None
            if self._step is None:
                self._step = self._record_step(batches, now)
        except (Unproven, RuntimeError) as error:
            self._give_up(str(error).partition("\n")[0] or type(error).__name__)
            self.method.begin_update(number, self.recipe.max_updates)  # recording set the values of an earlier one
            return None
        found, (replay, norms) = self._add_gradients(batches, now), self._step
        replay()
        self.num_replayed += 1
        return replace(found, norms=[norm.clone() for norm in norms])

    def _give_up(self, why: str) -> None:
        if self.is_required:
            raise ConfigError(f"found graphs: on, but they fail: {why}; expected graphs: auto or off")
        print(f"mdnmt: trains without CUDA graphs: {why}", flush=True)
        self.failure, self._step = why, None
        self._shapes.clear()
        self._seen.clear()

    def _meet(self, batch: Batch, now: _Numbers) -> None:
        """Note the shape of a batch; record its graph if it came in an earlier update."""
        key = batch.shape_key
        if key in self._shapes or len(self._shapes) >= MAX_SHAPES:
            return
        then = self._seen.pop(key, None)
        if then is not None and then[1] != now:
            self._shapes[key] = self._record_shape(then, (batch, now))
            return
        self._seen[key] = (batch, now)
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)

    def _record_shape(self, then: tuple[Batch, _Numbers], now: tuple[Batch, _Numbers]) -> _Shape:
        """Record the graph of a shape with an earlier batch, and prove it with the present one."""
        static = now[0].map(lambda tensor: torch.empty_like(tensor, device=self._words.device))
        options: dict[str, Any] = {"shadows": self._shadows, "num_domains": self.num_domains}

        def work() -> tuple[dict[str, Tensor], Tensor | None]:
            self._attach()
            found = batch_gradients(self.method, static, self.dtype, self._words, **options)
            self._detach()
            return found

        def named(losses: Mapping[str, Tensor], sums: Tensor | None, gradients: Mapping[str, Tensor]) -> dict[str, Any]:
            found = {**losses, **{f"gradient of {name}": value for name, value in gradients.items()}}
            return {**found, **random_state.capture(), **({} if sums is None else {"sums of domains": sums})}

        self._begin()
        with self._as_before():
            self._set(static, *now)
            found = batch_gradients(self.method, static, self.dtype, self._words, **options)
            eager = {name: one.grad for name, one in self.optimiser.named.items() if one.grad is not None}
            wanted = named(*found, eager)
        self._keep_gradients(list(eager))
        with self._as_before(self._flat):
            self._set(static, *then)
            replay, (losses, sums) = self.recorder.record(work)
        with self._as_before(self._flat):
            self._set(static, *now)
            self._begin()
            replay()
            _require_equal(named(losses, sums, self._gradients), wanted)
        return _Shape(static, replay, losses, sums)

    def _record_step(self, batches: Sequence[Batch], now: _Numbers) -> tuple[Callable[[], None], list[Tensor]]:
        """Record the step with another learning rate, and prove it with the gradients of the present update."""

        def work() -> list[Tensor]:
            self._attach()
            norms = clip(self.method, self.recipe, want_norms=self.want_norms)
            self.optimiser.move()
            return norms

        def copied(norms: list[Tensor]) -> dict[str, Tensor]:
            found = {**{f"gradient norm {number}": norm for number, norm in enumerate(norms)}, **state}
            return {name: value.detach().clone() for name, value in found.items()}

        state = self.optimiser.tensors(self._gradients)
        changed = (self._flat, *state.values())
        with self._as_before(*changed):
            self._add_gradients(batches, now)
            with self._as_before(*changed):
                wanted = copied(work())
            with self._as_before(*changed):
                self.optimiser.rate.fill_(2 * now.rate)
                replay, norms = self.recorder.record(work)
            self.optimiser.rate.fill_(now.rate)
            replay()
            _require_equal(copied(norms), wanted)
        return replay, norms

    def _add_gradients(self, batches: Sequence[Batch], now: _Numbers) -> UpdateResult:
        """Replay the graphs of the batches of an update."""
        self._begin()
        losses, of_domains = [], None
        for batch in batches:
            shape = self._shapes[batch.shape_key]
            self._set(shape.batch, batch, now)
            shape.replay()
            # Copied, because the next batch may have the same shape.
            losses.append({name: value.clone() for name, value in shape.losses.items()})
            if shape.domain_sums is not None:
                of_domains = shape.domain_sums.clone() if of_domains is None else of_domains + shape.domain_sums
        return UpdateResult(losses, [], of_domains, is_done=True)

    def _set(self, static: Batch, batch: Batch, numbers: _Numbers) -> None:
        """Write everything that changes from update to update to its fixed address."""
        for own, value in zip(static.tensors(), batch.tensors(), strict=True):
            own.copy_(value, non_blocking=True)
        self._words.fill_(numbers.num_target_tokens)
        self.optimiser.rate.fill_(numbers.rate)
        self.method.begin_update(numbers.update, self.recipe.max_updates)

    def _keep_gradients(self, names: list[str]) -> None:
        """Allocate the gradients of these parameters, at the first call; all shapes must have the same."""
        if not self._gradients:
            parameters = [self.optimiser.named[name] for name in names]
            sizes = [-(-one.numel() // ALIGNMENT) * ALIGNMENT for one in parameters]
            self._flat = parameters[0].new_empty(sum(sizes))
            places = zip(names, parameters, torch.split(self._flat, sizes), strict=True)
            self._gradients = {name: place[: one.numel()].view(one.shape) for name, one, place in places}
        if list(self._gradients) != names:
            raise Unproven("batches of two shapes have gradients of different parameters")

    def _begin(self) -> None:
        if self._shadows is not None:
            self._shadows.refresh()
        self._flat.fill_(-0.0)  # adding the first gradient to -0 changes none of its bits; to 0 it would change -0

    def _attach(self) -> None:
        for name, gradient in self._gradients.items():
            self.optimiser.named[name].grad = gradient

    def _detach(self) -> None:
        self.method.model.zero_grad(set_to_none=True)

    @contextmanager
    def _as_before(self, *changed: Tensor) -> Iterator[None]:
        """Restore the generators and the given tensors at the end; parameters then have no gradients."""
        generators, kept = random_state.capture(), [value.detach().clone() for value in changed]
        try:
            yield
        finally:
            with torch.no_grad():
                for value, before in zip(changed, kept, strict=True):
                    value.copy_(before)
            random_state.restore(generators)
            if self._shadows is not None:
                self._shadows.collect()
            self._detach()


def _require_equal(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    """Raise Unproven if bits differ; NaN equals itself."""
    for name, value in wanted.items():
        if name not in found or not torch.equal(_bits(found[name]), _bits(value)):
            raise Unproven(f"a replayed update has other bits than an eager one ({name})")


def _bits(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().view(_INTEGERS[tensor.element_size()])


def graphs_for(option: Graphs, *, workers: int, **options: Any) -> UpdateGraphs | None:
    """Return the graphs of a run, made with `options`; None: all its updates are eager.

    Raises:
        ConfigError: `on` was asked for, and the run can have no graphs.
    """
    device, compile = options["optimiser"].rate.device, options["recipe"].compile
    recorder = recorder_for(device) if option != "off" else None
    reasons = {
        f"device {device}, where nothing is recorded": recorder is None,
        f"{workers} workers, which send gradients between kernels": workers > 1,
        f"training.compile: {compile}": compile != "off",
        "a pretrained model": not isinstance(options["method"].model, Transformer),
    }
    why = next((reason for reason, holds in reasons.items() if holds), "")
    if recorder is not None and not why:
        return UpdateGraphs(recorder=recorder, is_required=option == "on", **options)
    if option == "on":
        raise ConfigError(f"found graphs: on with {why}; expected graphs: auto or off")
    return None
