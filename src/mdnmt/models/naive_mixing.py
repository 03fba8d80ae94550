"""Domain mixing with the mistakes of a re-implementation (Phan 2022): they are here to be measured, not to be used."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext, Side
from mdnmt.models.embedding import Embedding
from mdnmt.models.losses import Reduction
from mdnmt.models.projection import Linear
from mdnmt.models.proportion import smoothed
from mdnmt.models.transformer import Output, Transformer

KIND = "naive_proportion"  # kind of record: the logits for the loss


class NaiveProportion(nn.Module):
    """D(x) without any detach: L_mix and L_gen train the classifier, and L_mix reaches the Transformer through x."""

    def __init__(self, model_dim: int, num_domains: int, *, smoothing: float, side: Side | None) -> None:
        """Make the layer; if it has a `side`, it records its logits for the loss."""
        super().__init__()
        self.classifier = Linear(model_dim, num_domains)
        self.smoothing = smoothing
        self.side: Side | None = side

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return the proportion, [B, T, K]."""
        with torch.autocast(x_BTD.device.type, enabled=False):
            logits_BTK = self.classifier(x_BTD.to(self.classifier.weight.dtype))
            if self.side is not None:
                context.record(KIND, self.side, logits_BTK)
            return smoothed(logits_BTK, self.smoothing).to(x_BTD.dtype)


def torch_default(linear: Linear) -> Linear:
    """Initialise a map as `torch.nn.Linear` does: weight and bias uniform within 1 / sqrt(in)."""
    bound = linear.weight.size(1) ** -0.5
    for parameter in linear.parameters():
        nn.init.uniform_(parameter, -bound, bound)
    return linear


class HiddenLinears(nn.Module):
    """The mistake: one linear map for each domain in a plain list, so that the model does not register its parameters.

    The optimiser never sees the list, so the maps keep their random initial values. A saved model lacks them, so a
    loaded model computes with different ones.
    """

    def __init__(self, in_dim: int, out_dim: int, *, num_domains: int) -> None:
        super().__init__()
        # Maps that are never trained need no gradient; the gradients of the blocks before them stay the same.
        self.linears = [torch_default(Linear(in_dim, out_dim)).requires_grad_(False) for _ in range(num_domains)]

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Self:
        # `to` visits only registered modules. Maps left in another precision or on another device would stop training
        # at once, and the mistake to be shown is one that goes unnoticed.
        for linear in self.linears:
            linear._apply(fn, recurse)  # type: ignore[no-untyped-call]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def forward(self, x_BTD: Tensor, domain: int) -> Tensor:
        """Return W_j x + b_j of one domain."""
        return self.linears[domain](x_BTD)  # type: ignore[no-any-return]


class NaiveProjection(nn.Module):
    """Queries, keys and values, each mixed by its own D, and divided by k although a proportion already sums to one."""

    def __init__(
        self, in_dim: int, out_dim: int, *, num_domains: int, smoothing: float, recorded: tuple[Side | None, ...]
    ) -> None:
        """Make one map for each entry of `recorded`: the side on which its logits enter the loss, or None."""
        super().__init__()
        self.proportions = nn.ModuleList(
            NaiveProportion(in_dim, num_domains, smoothing=smoothing, side=side) for side in recorded
        )
        width = out_dim // len(recorded)
        self.maps = nn.ModuleList(HiddenLinears(in_dim, width, num_domains=num_domains) for _ in recorded)
        self.num_domains = num_domains

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return the maps' outputs side by side, [B, T, out]."""
        outputs = []
        for proportion, domain_maps in zip(self.proportions, self.maps, strict=True):
            proportion_BTK = proportion(x_BTD, context)
            mixed = torch.stack(
                [proportion_BTK[..., j : j + 1] * domain_maps(x_BTD, j) for j in range(self.num_domains)]
            ).sum(0)
            outputs.append(mixed / self.num_domains)
        return torch.cat(outputs, dim=-1)


class NaiveFeedForward(nn.Module):
    """sum_j D_j(x) FFN_j(x): k complete feed-forward blocks, mixed only once, at their outputs."""

    def __init__(
        self,
        model_dim: int,
        ffn_dim: int,
        *,
        num_domains: int,
        smoothing: float,
        side: Side | None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.proportion = NaiveProportion(model_dim, num_domains, smoothing=smoothing, side=side)
        self.first = HiddenLinears(model_dim, ffn_dim, num_domains=num_domains)
        self.second = HiddenLinears(ffn_dim, model_dim, num_domains=num_domains)
        self.num_domains = num_domains
        self.dropout = dropout

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return [B, T, D]."""
        proportion_BTK = self.proportion(x_BTD, context)
        outputs = []
        for j in range(self.num_domains):
            hidden_BTF = F.dropout(F.relu(self.first(x_BTD, j)), self.dropout, self.training)
            outputs.append(proportion_BTK[..., j : j + 1] * self.second(hidden_BTF, j))
        return torch.stack(outputs).sum(0)


class LearnedPositions(nn.Module):
    """x_t = dropout(sqrt(D) E[w_t] + P_t) with a trained table P; it replaces `Embedding`."""

    def __init__(self, words: Embedding) -> None:
        """Make it from an embedding, whose table of tokens it shares."""
        super().__init__()
        self.weight = words.weight
        self.padding_id, self.max_positions, self.dropout = words.padding_id, words.max_positions, words.dropout
        model_dim = words.weight.size(1)
        self.scale = math.sqrt(model_dim)
        self.position_embedding = nn.Embedding(words.max_positions, model_dim)

    def forward(self, ids_BT: Tensor, start: int = 0) -> Tensor:
        """Return [B, T, D] for tokens at positions start, start + 1, ..."""
        x_BTD = self.scale * F.embedding(ids_BT, self.weight, padding_idx=self.padding_id)
        x_BTD = x_BTD + self.position_embedding.weight[start : start + x_BTD.size(1)]
        return F.dropout(x_BTD, self.dropout, self.training)


def initialise(model: Transformer, *, xavier: bool) -> None:
    """Initialise a model with torch's defaults or, if `xavier`, with Xavier values for each registered matrix.

    Xavier initialisation, like an optimiser, visits only registered parameters. So it does not reach the maps in plain
    lists, whose values are the same in both cases. A tied embedding is initialised as an output layer.
    """
    for module in model.modules():
        if isinstance(module, Linear):
            torch_default(module)
        elif isinstance(module, LearnedPositions):
            nn.init.normal_(module.weight)
    bound = model.output_weight.size(1) ** -0.5
    nn.init.uniform_(model.output_weight, -bound, bound)
    if xavier:
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)


class NaiveProportionLoss:
    """L_mix on the recorded D(x), summed over all positions, padding included, with the mean over the recorded D."""

    name = "proportion"
    reduction: Reduction = "sum"
    counts_padding = True

    def __init__(self, smoothing: float, side: Side) -> None:
        """Make the loss of one side; for E/DC the re-implementation omits that of the encoder."""
        self.smoothing = smoothing
        self.side: Side = side

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the loss as the sum that is added to the generation loss."""
        layers = output.context.recorded(KIND, self.side)
        total = torch.stack([self._nll(logits_BTK, batch.domain_B) for logits_BTK in layers]).sum()
        return total / len(layers)

    def _nll(self, logits_BTK: Tensor, domain_B: Tensor) -> Tensor:
        index_BT1 = domain_B[:, None, None].expand(-1, logits_BTK.size(1), 1)
        return -smoothed(logits_BTK, self.smoothing).gather(-1, index_BT1).log().sum()
