"""Compute the gradients of one update, for the trainer and for `mdnmt measure`, which times it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from mdnmt.config.training import Training
from mdnmt.methods.method import Trainable
from mdnmt.models.batch import Batch
from mdnmt.models.losses import Loss
from mdnmt.train.data_parallel import GradientSum
from mdnmt.train.device import quick_float32
from mdnmt.train.shadow_weights import ShadowWeights, shadow_weights


@dataclass(frozen=True)
class UpdateResult:
    """The losses and norms of an update, on the device.

    Attributes:
        losses: the losses of each batch by name, summed over tokens.
        norms: of the gradients of each clipped group, before clipping; empty if no norm was computed.
        domain_sums: [2, K], the generation loss and the number of target tokens of each domain, over all batches; None
            if they were not requested, or if no loss recorded them.
        is_done: the optimiser's step is part of it, as in a replayed update.
    """

    losses: list[dict[str, Tensor]]
    norms: list[Tensor]
    domain_sums: Tensor | None = None
    is_done: bool = False


def forward_backward(
    method: Trainable,
    batches: Sequence[Batch],
    recipe: Training,
    device: torch.device,
    dtype: torch.dtype | None,
    *,
    num_target_tokens: int | Tensor | None = None,
    weights: Sequence[Callable[[Loss], float | None]] | None = None,
    parallel: GradientSum | None = None,
    want_norms: bool = False,
    num_domains: int = 0,
) -> UpdateResult:
    """Compute the clipped gradients of the objective per target token, over all batches of an update.

    The gradients are left in the parameters.

    Args:
        method: model and losses.
        batches: of one update; moved to `device` one after the other.
        recipe: for the norm at which gradients are clipped.
        device: where the model is.
        dtype: of autocast; None: float32 throughout.
        num_target_tokens: target tokens of the whole update, over all workers, as a number or as a scalar on `device`,
            which a recorded update reads anew; None: those of `batches`.
        weights: for each batch, a function that returns the factor of a loss; None: no factors.
        parallel: sums the gradients over all workers; None: there is one worker.
        want_norms: compute the norms even if gradients are not clipped.
        num_domains: number of domains for which to sum the generation loss; 0: do not sum it by domain.
    """
    if num_target_tokens is None:
        num_target_tokens = sum(batch.num_target_tokens for batch in batches)
    if not isinstance(num_target_tokens, Tensor):
        num_target_tokens = torch.full((), num_target_tokens, device=device)
    # Workers send the gradients of the weights themselves, and a compiled model casts them in its own kernels.
    shadows = shadow_weights(method.model, dtype) if parallel is None and recipe.compile == "off" else None
    if shadows is not None:
        shadows.refresh()
    found: list[dict[str, Tensor]] = []
    of_domains: Tensor | None = None
    for number, batch in enumerate(batches):
        is_last = number + 1 == len(batches)
        losses, of_batch = batch_gradients(
            method,
            batch.to(device),
            dtype,
            num_target_tokens,
            shadows=shadows,
            weight=weights[number] if weights is not None else None,
            backward=partial(parallel.backward, is_last=is_last) if parallel is not None else Tensor.backward,
            num_domains=num_domains,
        )
        found.append(losses)
        if of_batch is not None:
            of_domains = of_batch if of_domains is None else of_domains + of_batch
    if parallel is not None and not batches:
        parallel.nothing()
    return UpdateResult(found, clip(method, recipe, want_norms=want_norms), of_domains)


def batch_gradients(
    method: Trainable,
    batch: Batch,
    dtype: torch.dtype | None,
    num_target_tokens: Tensor,
    *,
    shadows: ShadowWeights | None = None,
    weight: Callable[[Loss], float | None] | None = None,
    backward: Callable[[Tensor], None] = Tensor.backward,
    num_domains: int = 0,
) -> tuple[dict[str, Tensor], Tensor | None]:
    """Add the gradients of one batch, on the device of the model, to those of the parameters.

    Returns:
        The losses by name, and the sums of the domains as in `UpdateResult`.
    """
    device = num_target_tokens.device
    with quick_float32(device, dtype):
        with torch.autocast(device.type, dtype, enabled=dtype is not None):
            with shadows.instead() if shadows is not None else nullcontext():
                output = method.model(batch)
            losses = {loss.name: loss(output, batch) for loss in method.losses}
        if weight is not None:
            factors = {loss.name: weight(loss) for loss in method.losses}
            losses = {name: value if (f := factors[name]) is None else f * value for name, value in losses.items()}
        backward(torch.stack(list(losses.values())).sum().div(num_target_tokens))
    if shadows is not None:
        shadows.collect()
    of_domains = None
    if num_domains and (token_losses := output.context.recorded("token_loss", "decoder")):
        of_domains = domain_sums(token_losses[0], batch, num_domains)
    return {name: value.detach() for name, value in losses.items()}, of_domains


def clip(method: Trainable, recipe: Training, *, want_norms: bool) -> list[Tensor]:
    """Clip the gradients and return the norm of each group before that; empty if no norm is needed."""
    if recipe.clip_norm:
        return [torch.nn.utils.clip_grad_norm_(group, recipe.clip_norm) for group in method.clip_groups()]
    if want_norms:
        return [torch.nn.utils.get_total_norm([p.grad for p in method.model.parameters() if p.grad is not None])]
    return []


def domain_sums(token_loss_N: Tensor, batch: Batch, num_domains: int) -> Tensor:
    """Return [2, K]: the summed loss of each domain's target tokens, and their number."""
    domain_N = batch.label_domain_N
    is_of_KN = torch.arange(num_domains, device=domain_N.device).unsqueeze(1) == domain_N
    return torch.stack([(is_of_KN * token_loss_N).sum(1), is_of_KN.sum(1)])
