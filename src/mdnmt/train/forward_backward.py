"""The gradients of one update: what the trainer does and `mdnmt measure` times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mdnmt.config.training import Training
from mdnmt.methods.method import Method
from mdnmt.models.batch import Batch
from mdnmt.models.losses import Loss
from mdnmt.train.device import quick_float32


@dataclass(frozen=True)
class UpdateResult:
    """What an update found, on the device.

    Attributes:
        losses: of each batch by name, summed over words.
        norms: of the gradients of each group that is clipped, before it was; empty where none was asked for.
    """

    losses: list[dict[str, Tensor]]
    norms: list[Tensor]


def forward_backward(
    method: Method,
    batches: Sequence[Batch],
    recipe: Training,
    device: torch.device,
    dtype: torch.dtype | None,
    *,
    num_words: int | None = None,
    weights: Sequence[Callable[[Loss], float | None]] | None = None,
    combine: Callable[[], None] | None = None,
    want_norms: bool = False,
) -> UpdateResult:
    """Leave the clipped gradients of the objective, a target word, over all batches of an update.

    Args:
        method: model and losses.
        batches: of one update; moved to `device` one after the other.
        recipe: for the norm at which gradients are clipped.
        device: where the model is.
        dtype: of autocast; None: float32 throughout.
        num_words: target words of the whole update, where these batches are not all of it.
        weights: for each batch what a loss is multiplied by; None: nothing.
        combine: called before clipping, to add the gradients of other workers.
        want_norms: measure the norms even where nothing is clipped.
    """
    if num_words is None:
        num_words = sum(batch.num_target_tokens for batch in batches)
    found = []
    for number, batch in enumerate(batches):
        batch = batch.to(device)
        with quick_float32(device, dtype):
            with torch.autocast(device.type, dtype, enabled=dtype is not None):
                output = method.model(batch)
                losses = {loss.name: loss(output, batch) for loss in method.losses}
            if weights is not None:
                factors = {loss.name: weights[number](loss) for loss in method.losses}
                losses = {name: value if (f := factors[name]) is None else f * value for name, value in losses.items()}
            torch.stack(list(losses.values())).sum().div(num_words).backward()  # type: ignore[no-untyped-call]
        found.append({name: value.detach() for name, value in losses.items()})
    if combine is not None:
        combine()
    norms: list[Tensor] = []
    if recipe.clip_norm:
        norms = [torch.nn.utils.clip_grad_norm_(group, recipe.clip_norm) for group in method.clip_groups()]
    elif want_norms:
        norms = [torch.nn.utils.get_total_norm([p.grad for p in method.model.parameters() if p.grad is not None])]
    return UpdateResult(found, norms)
