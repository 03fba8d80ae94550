"""The gate of a mixture of experts, and the domain embedding that it may read."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.kernels import takes_cpu_kernel
from mdnmt.models.projection import Linear


def highest(scores_BTN: Tensor, k: int) -> Tensor:
    """Return a mask [B, T, N], True at exactly the k highest scores of each token."""
    index_BTK = scores_BTN.topk(k).indices
    experts_N = torch.arange(scores_BTN.size(-1), device=scores_BTN.device)
    # A scatter would not be deterministic on every device.
    return (index_BTK.unsqueeze(-1) == experts_N).any(-2)


class Gate(nn.Module):
    """G(x) = softmax(TopK(FFN(x), k)): the weight of each expert for a token (Song et al. 2026, eq. 2 and 3).

    An expert that is not chosen has weight exactly 0, so neither it nor its score gets a gradient.
    """

    def __init__(
        self, in_dim: int, num_experts: int, *, hidden_dim: int | None = None, top_k: int | None = None
    ) -> None:
        """Make the gate.

        Args:
            in_dim: width of x.
            num_experts: N.
            hidden_dim: width inside the two-layer network of eq. 3; None: one linear map instead.
            top_k: number of experts with a weight above 0; None: all.
        """
        super().__init__()
        self.hidden = Linear(in_dim, hidden_dim) if hidden_dim is not None else None
        self.scores = Linear(hidden_dim or in_dim, num_experts)
        self.top_k = top_k

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the weights of the experts, [B, T, N], in float32 also under autocast; they sum to 1."""
        if self.hidden is not None:
            x_BTD = F.relu(self.hidden(x_BTD))
        with torch.autocast(x_BTD.device.type, enabled=False):
            scores_BTN = self.scores(x_BTD.to(self.scores.weight.dtype))
            if self.top_k is not None:
                scores_BTN = scores_BTN.masked_fill(~highest(scores_BTN.detach(), self.top_k), float("-inf"))
            return scores_BTN.softmax(-1)  # type: ignore[no-any-return]


class DomainEmbedding(nn.Module):
    """A trained vector e for each domain, shared by all layers of a model."""

    def __init__(self, num_domains: int, model_dim: int, *, std: float | None = None) -> None:
        """Draw the vectors from a normal distribution.

        Args:
            num_domains: K.
            model_dim: D.
            std: standard deviation; None: 1 / sqrt(D), like token embeddings.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_domains, model_dim))
        nn.init.normal_(self.weight, std=model_dim**-0.5 if std is None else std)

    def forward(self, context: DomainContext) -> Tensor:
        """Return the vectors [B, 1, D] of the sentences' domains; if these are unknown, the mean of all, [1, 1, D]."""
        if context.domain_B is None:
            return self.weight.mean(0)[None, None]
        if takes_cpu_kernel(self.weight):
            return self.weight[context.domain_B].unsqueeze(1)
        if context.domain_vector_B1D is None:
            # Looked up once for all layers, by a product, because the derivative of a lookup has to sort.
            is_own_BK = context.domain_B.unsqueeze(1) == torch.arange(len(self.weight), device=self.weight.device)
            with torch.autocast(self.weight.device.type, enabled=False):
                context.domain_vector_B1D = (is_own_BK.to(self.weight.dtype) @ self.weight).unsqueeze(1)
        return context.domain_vector_B1D
