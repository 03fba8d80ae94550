"""Training losses, each the sum over a batch; the trainer divides by the target tokens of the update."""

from __future__ import annotations

from functools import partial
from typing import Literal, Protocol

import torch
from torch import Tensor

from mdnmt.models.batch import Batch
from mdnmt.models.context import Side
from mdnmt.models.cross_entropy import linear_cross_entropy
from mdnmt.models.kernels.over_layers import sum_over_layers
from mdnmt.models.proportion import smoothed
from mdnmt.models.transformer import Output

# How a loss combines the losses of its sentences, so that workers can each compute some of them. Every sentence is
# padded as in the whole batch.
Reduction = Literal["sum", "mean"]


class Loss(Protocol):
    """A named term of the objective.

    A loss may also have an attribute `reduction`. Workers can then split its batches; without it they cannot. A loss
    that depends on the padding of its batch has an attribute `counts_padding`, and one that may be computed on packed
    batches an attribute `packs`, which are then true.
    """

    name: str

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return a scalar: the term summed over the batch."""


class LabelSmoothedCrossEntropy:
    """(1 - e) NLL + e / V times the sum of -log p over the vocabulary, the true token included (as in fairseq).

    With token weights (WL; Jiang et al. 2020, sec. 4.2) the NLL of token j is multiplied by 1 + alpha_j, with the alpha
    that `WordWeights` recorded; the smoothing term is not.
    """

    name = "generation"

    def __init__(self, label_smoothing: float, token_weighted: bool = False, *, misaligned: bool = False) -> None:
        """Make the loss; `misaligned` pairs alphas and tokens in the wrong order, as the authors' released code does.

        That code flattens alpha as [T, B] and the tokens as [B, T], and pairs them by position.
        """
        self.label_smoothing = label_smoothing
        self.token_weighted = token_weighted
        self.misaligned = misaligned
        self.reduction: Reduction | None = None if misaligned else "sum"
        self.packs = not misaligned

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the sum over target tokens without padding; record the loss of each, without gradient."""
        weight_N = self._token_weights(output, batch) if self.token_weighted else None
        hidden_ND = output.hidden_ND
        token_loss_N = hidden_ND.new_empty(len(hidden_ND), dtype=torch.promote_types(hidden_ND.dtype, torch.float32))
        output.context.record("token_loss", "decoder", token_loss_N)
        return linear_cross_entropy(
            hidden_ND,
            output.weight_VD,
            batch.label_N,
            self.label_smoothing,
            weight_N,
            token_loss_N,
            batch.label_mask_N,
        )

    def _token_weights(self, output: Output, batch: Batch) -> Tensor:
        [alpha_BT] = output.context.recorded("word_weight", "decoder")
        laid_out = alpha_BT.t() if self.misaligned else alpha_BT
        return 1.0 + batch.at_labels(laid_out)


class ProportionLoss:
    """L_mix: cross-entropy between every token's proportion and its sentence's label (Jiang et al. 2020, sec. 3.4).

    With `aux_norm` "text" it is summed over tokens without padding and averaged over proportion layers. With "code" it
    is averaged over layers, positions and sentences, padding included, as in the authors' released code.
    """

    name = "proportion"

    def __init__(
        self, smoothing: float, *, on_logits: bool = False, aux_norm: Literal["text", "code"] = "text"
    ) -> None:
        """Make the loss; with `on_logits` it is computed from the plain softmax instead of the smoothed proportion."""
        self.smoothing = 0.0 if on_logits else smoothing
        self.aux_norm = aux_norm
        self.reduction: Reduction = "mean" if aux_norm == "code" else "sum"
        self.counts_padding = aux_norm == "code"
        self.packs = not self.counts_padding

    def __call__(self, output: Output, batch: Batch) -> Tensor:
        """Return the loss as a sum comparable with the generation loss."""
        masks: dict[Side, Tensor] = {
            "encoder": batch.source_mask_BS,
            "memory": batch.source_mask_BS,
            "decoder": batch.target_mask_BT,
        }
        total = batch.source_mask_BS.new_zeros((), dtype=torch.float32)
        num_layers = num_positions = 0
        for side, mask_BT in masks.items():
            if not (layers := output.context.recorded("proportion", side)):
                continue
            counted_BT = None if self.aux_norm == "code" else mask_BT
            domain_BT = batch.token_domain_BT(side)
            total = sum_over_layers(partial(self._side, domain_BT=domain_BT, mask_BT=counted_BT), layers, total)
            num_layers += len(layers)
            num_positions += len(layers) * mask_BT.numel()
        return total / (num_positions if self.aux_norm == "code" else num_layers)

    def _side(self, logits_BTK: Tensor, *, domain_BT: Tensor, mask_BT: Tensor | None) -> Tensor:
        nll_BT = self._nll(logits_BTK, domain_BT)
        return (nll_BT if mask_BT is None else nll_BT * mask_BT).sum((-2, -1))

    def _nll(self, logits_BTK: Tensor, domain_BT: Tensor) -> Tensor:
        if self.smoothing == 0.0:
            return -of_label(logits_BTK.log_softmax(-1), domain_BT)
        return -of_label(smoothed(logits_BTK, self.smoothing), domain_BT).log()


def of_label(value_BTK: Tensor, domain_BT: Tensor) -> Tensor:
    """Return the value of each token for its domain, [..., B, T]; it may have leading dimensions.

    A product with one-hot rows, because the derivative of gather, a scatter, is slow where it has to be deterministic.
    """
    is_own_BTK = domain_BT.unsqueeze(-1) == torch.arange(value_BTK.size(-1), device=domain_BT.device)
    return (value_BTK * is_own_BTK).sum(-1)
