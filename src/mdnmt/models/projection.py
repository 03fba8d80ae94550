"""Point-wise linear maps: the part of a block that a method may replace."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.kernels import takes_cpu_kernel
from mdnmt.models.kernels.weighted_sum import weighted, weighted_sum

# (input width, output width) -> a module called with (x [..., input width], context)
ProjectionFactory = Callable[[int, int], nn.Module]


class Linear(nn.Module):
    """A plain projection. It accepts and ignores a context, so that it is interchangeable with a domain-aware one."""

    def __init__(self, in_dim: int, out_dim: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_dim, in_dim))
        self.bias = nn.Parameter(torch.zeros(out_dim)) if bias else None
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x_BTD: Tensor, context: DomainContext | None = None) -> Tensor:
        """Return x W^T + b."""
        return F.linear(x_BTD, self.weight, self.bias)


class MixedLinear(nn.Module):
    """k projections mixed word by word: y_t = sum_j p_tj (W_j x_t + b_j) (Jiang et al. 2020, sec. 3.2).

    It is computed as one matrix product of k-fold width. If the input is not wider than the output, the product sums
    over the domains, on [p_1 x, ..., p_k x]; otherwise the k outputs are weighted and summed.
    """

    def __init__(self, in_dim: int, out_dim: int, *, num_domains: int, widened_init: bool = False) -> None:
        """Make k projections.

        Args:
            in_dim: width of x.
            out_dim: width of y.
            num_domains: k.
            widened_init: initialise the k matrices as one Xavier matrix of k-fold width, as the authors' code does for
                the feed-forward maps, instead of one Xavier matrix for each domain.
        """
        super().__init__()
        self.in_dim, self.out_dim, self.num_domains = in_dim, out_dim, num_domains
        self.sum_inside = in_dim <= out_dim
        shape = (out_dim, num_domains, in_dim) if self.sum_inside else (num_domains, out_dim, in_dim)
        self.weight = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.zeros(num_domains, out_dim))
        bound = math.sqrt(6.0 / (in_dim + (num_domains * out_dim if widened_init else out_dim)))
        nn.init.uniform_(self.weight, -bound, bound)

    def domain_weight(self, domain: int) -> Tensor:
        """Return W_j, [out, in], of one domain."""
        return self.weight[:, domain] if self.sum_inside else self.weight[domain]

    def plain_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a plain projection's `weight` or `bias`."""
        return (self.out_dim, self.in_dim) if name == "weight" else (self.out_dim,)

    def load_plain(self, name: str, value: Tensor) -> None:
        """Copy the `weight` [out, in] or the `bias` [out] of a plain projection to every domain.

        With equal copies the mixed projection equals the plain one for any proportions.
        """
        with torch.no_grad():
            if name == "weight" and self.sum_inside:
                value = value.unsqueeze(1)  # [out, 1, in] broadcasts to [out, K, in]
            getattr(self, name).copy_(value.expand_as(getattr(self, name)))

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        """Return the projection mixed by the context's proportion, [B, T, out]."""
        proportion_BTK = context.proportion_BTK
        assert proportion_BTK is not None, "mixed projections stand in layers with a conditioner"
        # Autocast computes the products in its own type, so the factors are cast to it once, here.
        dtype = dtype_of_products(x_BTD)
        # Letter M: all tokens.
        x_MD, share_MK = x_BTD.to(dtype).flatten(0, -2), proportion_BTK.to(dtype).flatten(0, -2)
        if self.sum_inside:
            y_MO = torch.addmm(share_MK @ self.bias, weighted(x_MD, share_MK).flatten(1), self.weight.flatten(1).t())
        elif takes_cpu_kernel(x_MD):
            outputs_MKO = F.linear(x_MD, self.weight.flatten(0, 1)).view(*share_MK.shape, -1)
            y_MO = weighted_sum(outputs_MKO, share_MK) + share_MK @ self.bias
        else:
            outputs_MKO = F.linear(x_MD, self.weight.flatten(0, 1), self.bias.flatten()).view(*share_MK.shape, -1)
            y_MO = weighted_sum(outputs_MKO, share_MK)
        return y_MO.view(*x_BTD.shape[:-1], -1)


def dtype_of_products(x: Tensor) -> torch.dtype:
    """Return the type of products with x: that of autocast, or that of x if autocast is off or x is float64."""
    device = x.device.type
    casts = torch.is_autocast_enabled(device) and x.dtype != torch.float64
    return torch.get_autocast_dtype(device) if casts else x.dtype
