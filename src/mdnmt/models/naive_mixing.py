"""Domain mixing as a re-implementation had it (Phan 2022), mistakes included: to show what they do, not to be used."""

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

KIND = "naive_proportion"  # of the logits that blocks record for the loss


class NaiveProportion(nn.Module):
    """D(x) that is detached nowhere: L_mix and L_gen train R, and L_mix reaches the Transformer through x."""

    def __init__(self, model_dim: int, num_domains: int, *, smoothing: float, side: Side | None) -> None:
        """Make the layer; one with a `side` leaves its logits for the loss."""
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
    """Give a map the first values that `torch.nn.Linear` has: weight and bias uniform within 1 / sqrt(in)."""
    bound = linear.weight.size(1) ** -0.5
    for parameter in linear.parameters():
        nn.init.uniform_(parameter, -bound, bound)
    return linear


class HiddenLinears(nn.Module):
    """The mistake: one linear map a domain in a plain list, so that no parameter of the model is in it.

    An optimiser never sees the list, so the maps keep their random first values; a saved model has none of them, so
    whoever loads it computes with others.
    """

    def __init__(self, in_dim: int, out_dim: int, *, num_domains: int) -> None:
        super().__init__()
        # What is never trained needs no gradient; it changes none of what stands before it.
        self.linears = [torch_default(Linear(in_dim, out_dim)).requires_grad_(False) for _ in range(num_domains)]

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Self:
        # `to` walks registered modules alone. A list left behind in another precision or on another device would end
        # training at once; the mistake shown here is one that goes unnoticed.
        for linear in self.linears:
            linear._apply(fn, recurse)  # type: ignore[no-untyped-call]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def forward(self, x_BTD: Tensor, domain: int) -> Tensor:
        """Return W_j x + b_j of one domain."""
        return self.linears[domain](x_BTD)  # type: ignore[no-any-return]


class NaiveProjection(nn.Module):
    """Queries, keys and values, each mixed by a D of its own, and divided by k although a proportion sums to one."""

    def __init__(
        self, in_dim: int, out_dim: int, *, num_domains: int, smoothing: float, recorded: tuple[Side | None, ...]
    ) -> None:
        """Make the maps: one for each entry of `recorded`, which says on which side its logits enter the loss."""
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
    """sum_j D_j(x) FFN_j(x): k whole feed-forward blocks, mixed behind their non-linearity alone."""

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
    """x_t = dropout(sqrt(D) E[w_t] + P_t), P a table that is trained: it takes the place of `Embedding`."""

    def __init__(self, words: Embedding) -> None:
        """Make it of an embedding, whose table of words it keeps."""
        super().__init__()
        self.weight = words.weight
        self.padding_id, self.max_positions, self.dropout = words.padding_id, words.max_positions, words.dropout
        model_dim = words.weight.size(1)
        self.scale = math.sqrt(model_dim)
        self.position_embedding = nn.Embedding(words.max_positions, model_dim)

    def forward(self, ids_BT: Tensor, start: int = 0) -> Tensor:
        """Return [B, T, D] for words that stand at positions start, start + 1, ..."""
        x_BTD = self.scale * F.embedding(ids_BT, self.weight, padding_idx=self.padding_id)
        x_BTD = x_BTD + self.position_embedding.weight[start : start + x_BTD.size(1)]
        return F.dropout(x_BTD, self.dropout, self.training)


def initialise(model: Transformer, *, xavier: bool) -> None:
    """Give a model torch's own first values, or Xavier ones to each matrix that is found in it.

    Xavier initialisation walks the model's modules, as an optimiser walks its parameters. So it does not come to the
    maps that stand in plain lists: they are the same in both. A tied embedding begins as an output layer does.
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
        """Make the loss of one side: a re-implementation of E/DC that forgets the encoder's."""
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
