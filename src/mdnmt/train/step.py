"""The gradients of one update: what the trainer does and `mdnmt measure` times."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mdnmt.config.training import Training
from mdnmt.methods.method import Method
from mdnmt.models.batch import Batch


def leave_gradients(
    method: Method, batches: Sequence[Batch], recipe: Training, device: torch.device, dtype: torch.dtype | None
) -> list[dict[str, Tensor]]:
    """Leave the clipped gradients of the objective, a target word, over all batches of an update.

    Args:
        method: model and losses.
        batches: of one update; moved to `device` one after the other.
        recipe: for the norm at which gradients are clipped.
        device: where the model is.
        dtype: of autocast; None: float32 throughout.

    Returns:
        For each batch its losses by name, summed over words, on `device`.
    """
    num_words = sum(batch.num_target_tokens for batch in batches)
    found = []
    for batch in batches:
        batch = batch.to(device)
        with torch.autocast(device.type, dtype, enabled=dtype is not None):
            output = method.model(batch)
            losses = {loss.name: loss(output, batch) for loss in method.losses}
        torch.stack(list(losses.values())).sum().div(num_words).backward()  # type: ignore[no-untyped-call]
        found.append({name: value.detach() for name, value in losses.items()})
    if recipe.clip_norm:
        for group in method.clip_groups():
            torch.nn.utils.clip_grad_norm_(group, recipe.clip_norm)
    return found
