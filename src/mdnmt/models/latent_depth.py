"""Latent sub-layers: which blocks of a model the sentences of a domain use (after Huang et al. 2024).

B rows, N numbered blocks, K domains.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.projection import MixedLinear
from mdnmt.models.residual import NormOrder
from mdnmt.models.scheduled import Scheduled

INITIAL_SPREAD = 0.1


class BlockChoice(nn.Module):
    """Compute z of every block for every sentence, from one logit l for each domain and block.

    In training z = sigmoid((l + g1 - g2) / tau) with Gumbel noise g1 and g2, a two-way Gumbel-Softmax (Jang et al.
    2017). With `hardness` 1 the value is rounded to 0 or 1, and the gradient stays that of the soft z. In translation z
    is 1 if l > 0. For a sentence of unknown domain, z is 1 if the domains use the block with a mean probability above
    one half; if z chooses between a shared and a private map, it is then 0, for the shared map.
    """

    def __init__(
        self,
        num_domains: int,
        num_blocks: int,
        *,
        initial_logit: float,
        temperature: Scheduled,
        hardness: Scheduled,
        may_skip: bool = True,
    ) -> None:
        """Make the logits.

        Args:
            num_domains: K.
            num_blocks: N.
            initial_logit: mean of the initial logits; above 0, most blocks are in use at first.
            temperature: tau.
            hardness: 0: soft z; 1: rounded to 0 or 1.
            may_skip: a block with z = 0 adds nothing and need not be computed.
        """
        super().__init__()
        self.logits = nn.Parameter(torch.empty(num_domains, num_blocks))
        self.temperature, self.hardness = temperature, hardness
        self.may_skip = may_skip
        nn.init.normal_(self.logits, initial_logit, INITIAL_SPREAD)

    def forward(self, context: DomainContext, num_rows: int) -> None:
        """Write z [B, N] and, outside training, the unused blocks into `context`, and record the logits [K, N]."""
        # The logits cover the blocks of both sides and are recorded once, under the side that runs first.
        context.record("block_logits", "encoder", self.logits)
        if context.domain_B is None:
            used_BN = self._used_by_most().expand(num_rows, -1)
        elif self.training:
            context.use_BN = self._draw(self.logits[context.domain_B])
            return
        else:
            used_BN = self.logits[context.domain_B] > 0
        context.use_BN = used_BN.to(self.logits.dtype)
        if self.may_skip:
            # Copied from the device once per pass, so that no block and no decoding step has to wait for it again.
            context.unused = tuple(number for number, used in enumerate(used_BN.any(0).tolist()) if not used)

    def _used_by_most(self) -> Tensor:
        """Return z [N] for a sentence of unknown domain: the mean over domains of pi = sigmoid(l), rounded."""
        return (self.logits.sigmoid().mean(0) > 0.5) & self.may_skip

    def _draw(self, logits_BN: Tensor) -> Tensor:
        # The difference of two Gumbel variables has a logistic distribution.
        noise_BN = torch.rand_like(logits_BN).logit(eps=1e-6)
        soft_BN = ((logits_BN + noise_BN) / self.temperature.value).sigmoid()
        hard_BN = (soft_BN > 0.5).to(soft_BN.dtype)
        return soft_BN + self.hardness.value * (hard_BN - soft_BN).detach()


class LatentResidual(nn.Module):
    """pre: x + z F(norm(x)); post: norm(x + z F(x)), where z belongs to one numbered block."""

    def __init__(self, model_dim: int, *, number: int, norm_order: NormOrder, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(model_dim)
        self.number = number
        self.norm_order = norm_order
        self.dropout = dropout

    def is_skipped(self, context: DomainContext) -> bool:
        """Return whether no sentence of the batch uses the block."""
        return self.number in context.unused

    def forward(self, x_BTD: Tensor, block: Callable[[Tensor], Tensor], context: DomainContext) -> Tensor:
        """Return [B, T, D]; a skipped block is not called, and the result is that of z = 0."""
        if self.is_skipped(context):
            return x_BTD if self.norm_order == "pre" else self.norm(x_BTD)
        assert context.use_BN is not None, "the model has a block choice"
        use_B11 = context.to_tokens(context.use_BN[:, self.number, None, None].to(x_BTD.dtype))
        if self.norm_order == "pre":
            return x_BTD + use_B11 * F.dropout(block(self.norm(x_BTD)), self.dropout, self.training)
        return self.norm(x_BTD + use_B11 * F.dropout(block(x_BTD), self.dropout, self.training))  # type: ignore[no-any-return]


class SharedOrPrivateLinear(nn.Module):
    """(1 - z) (W x + b) + z (W_d x + b_d): a shared map, or the private map of the sentence's domain d."""

    def __init__(self, in_dim: int, out_dim: int, *, num_domains: int, number: int) -> None:
        super().__init__()
        self.maps = MixedLinear(in_dim, out_dim, num_domains=num_domains + 1)  # the shared one first
        self.number = number

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return [B, T, out]; T runs over tokens or beams, and the context has B rows, or one for each beam."""
        assert context.use_BN is not None, "the model has a block choice"
        private_R1 = context.use_BN[:, self.number, None].to(x_BTD.dtype)
        num_domains = self.maps.num_domains - 1
        if context.domain_B is None:
            own_RK = private_R1.expand(-1, num_domains)  # z is 0, so no private map is used
        else:
            own_RK = F.one_hot(context.domain_B, num_domains) * private_R1
        share_RK = torch.cat([1 - private_R1, own_RK], dim=1)
        if context.packing is not None:
            share_BTK = context.to_tokens(share_RK.unsqueeze(1))
        else:
            share_BTK = share_RK.view(x_BTD.size(0), -1, self.maps.num_domains).expand(-1, x_BTD.size(1), -1)
        return self.maps(x_BTD, context.with_proportion(share_BTK))  # type: ignore[no-any-return]
