"""Multi-head scaled dot-product attention through torch's fused kernel, with the projections as arguments."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.cache import KeyValueCache
from mdnmt.models.context import DomainContext
from mdnmt.models.kernels import takes_cpu_kernel
from mdnmt.models.kernels.scored_attention import scored_attention
from mdnmt.models.kernels.varlen_attention import varlen_attention
from mdnmt.models.packing import Packing
from mdnmt.models.projection import ProjectionFactory, dtype_of_products

# With a mask, a GPU's fused kernels accept only heads whose width is a multiple of this. Other widths, as in models
# that are sqrt(k) times wider, are padded with zeros, which does not change the result.
HEAD_MULTIPLE = 8


def split_heads(x_BTD: Tensor, num_heads: int) -> Tensor:
    """Return [B, T, D] as [B, H, T, E]."""
    return x_BTD.reshape(*x_BTD.shape[:-1], num_heads, -1).transpose(1, 2)


def join_heads(x_BHTE: Tensor) -> Tensor:
    """Return [B, H, T, E] as [B, T, D]."""
    return x_BHTE.transpose(1, 2).flatten(2)


def key_mask(mask_BS: Tensor, x_BTD: Tensor) -> Tensor:
    """Return the mask of an attention whose queries come from x, [B, 1, 1, S].

    Where torch's kernel needs numbers to add, it makes them here, once for all layers.

    Args:
        mask_BS: True where a key may be attended to.
        x_BTD: the input of the layers.
    """
    mask_B11S = mask_BS[:, None, None, :]
    if takes_cpu_kernel(x_BTD):
        return mask_B11S
    return mask_B11S.to(dtype_of_products(x_BTD)).log_()  # 0 or -inf


def fused_attention(
    q_BHTE: Tensor,
    k_BHSE: Tensor,
    v_BHSE: Tensor,
    mask_B11S: Tensor | None,
    *,
    dropout: float = 0.0,
    is_causal: bool = False,
    decoding: bool = False,
    packing: tuple[Packing | None, Packing | None] = (None, None),
) -> Tensor:
    """Return softmax(Q K^T / sqrt(E)) V, [B, H, T, E], from torch's fused kernel or a faster one on a CPU.

    With the `packing` of queries and keys, B is 1, and tokens attend within their sentences; the mask is not used.
    """
    queries, keys = packing
    if queries is not None or not takes_cpu_kernel(q_BHTE):
        width = q_BHTE.size(-1)
        if padding := -width % HEAD_MULTIPLE:
            q_BHTE, k_BHSE, v_BHSE = (F.pad(part, (0, padding)) for part in (q_BHTE, k_BHSE, v_BHSE))
        if queries is not None and keys is not None:
            dtype = dtype_of_products(q_BHTE)
            q_BHTE, k_BHSE, v_BHSE = (part.to(dtype) for part in (q_BHTE, k_BHSE, v_BHSE))
            y_BHTE = varlen_attention(
                q_BHTE, k_BHSE, v_BHSE, queries, keys, dropout=dropout, is_causal=is_causal, scale=width**-0.5
            )
            return y_BHTE[..., :width]
        y_BHTE = F.scaled_dot_product_attention(
            q_BHTE, k_BHSE, v_BHSE, attn_mask=mask_B11S, dropout_p=dropout, is_causal=is_causal, scale=width**-0.5
        )
        return y_BHTE[..., :width]
    if torch.is_grad_enabled() and q_BHTE.requires_grad:
        q_BHTE, k_BHSE, v_BHSE = (_as_autocast_has_it(part) for part in (q_BHTE, k_BHSE, v_BHSE))
        return scored_attention(q_BHTE, k_BHSE, v_BHSE, mask_B11S, dropout=dropout, is_causal=is_causal)
    # Under bf16 autocast the CPU kernel is slower than in float32.
    with torch.autocast("cpu", enabled=False):
        if decoding and mask_B11S is not None:
            q_BHTE, k_BHSE, v_BHSE = (_at_least_float32(part) for part in (q_BHTE, k_BHSE, v_BHSE))
            return _of_few_queries(q_BHTE, k_BHSE, v_BHSE, mask_B11S)
        return F.scaled_dot_product_attention(
            _at_least_float32(q_BHTE),
            _at_least_float32(k_BHSE),
            _at_least_float32(v_BHSE),
            attn_mask=mask_B11S,
            dropout_p=dropout,
            is_causal=is_causal,
        )


def _of_few_queries(q_BHTE: Tensor, k_BHSE: Tensor, v_BHSE: Tensor, mask_B1TS: Tensor) -> Tensor:
    # Torch's kernel is optimised for more queries than the few beams of one sentence.
    bias_B1TS = torch.zeros_like(mask_B1TS, dtype=q_BHTE.dtype).masked_fill_(~mask_B1TS, -math.inf)
    scores_BHTS = ((q_BHTE * q_BHTE.size(-1) ** -0.5) @ k_BHSE.transpose(-1, -2)).add_(bias_B1TS)
    y_BHTE: Tensor = scores_BHTS.softmax(-1) @ v_BHSE
    return y_BHTE


def _as_autocast_has_it(x: Tensor) -> Tensor:
    casts = torch.is_autocast_enabled("cpu") and x.dtype != torch.float64
    return x.to(torch.get_autocast_dtype("cpu")) if casts else x


def _at_least_float32(x: Tensor) -> Tensor:
    return x.float() if x.dtype == torch.bfloat16 else x


class SelfAttention(nn.Module):
    """softmax(Q K^T / sqrt(E)) V over the tokens of one sentence (Vaswani et al. 2017, sec. 3.2)."""

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        *,
        projection: ProjectionFactory,
        out_projection: ProjectionFactory,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.qkv = projection(model_dim, 3 * model_dim)
        self.out = out_projection(model_dim, model_dim)

    def forward(
        self,
        x_BTD: Tensor,
        context: DomainContext | None = None,
        *,
        mask_B11S: Tensor | None = None,
        is_causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Attend.

        Args:
            x_BTD: tokens; with a cache, the newest token of each beam of a sentence.
            context: the domains of those tokens, if known.
            mask_B11S: True where a key may be attended to; ignored with a cache, which has its own mask.
            is_causal: no token attends to later ones.
            cache: keys and values of the earlier tokens, already mixed by the proportions of those tokens.

        Returns:
            [B, T, D].
        """
        q_BTD, k_BTD, v_BTD = self.qkv(x_BTD, context).chunk(3, dim=-1)
        q_BHTE, k_BHSE, v_BHSE = (split_heads(part, self.num_heads) for part in (q_BTD, k_BTD, v_BTD))
        if cache is not None:
            k_BHSE, v_BHSE = cache.append(k_BHSE, v_BHSE)
            mask_B11S = cache.tree.sees_B1WN
        packing = None if context is None else context.packing
        y_BHTE = fused_attention(
            q_BHTE,
            k_BHSE,
            v_BHSE,
            mask_B11S,
            dropout=self.dropout if self.training else 0.0,
            is_causal=is_causal,
            decoding=cache is not None,
            packing=(packing, packing),
        )
        return self.out(join_heads(y_BHTE), context)  # type: ignore[no-any-return]


class CrossAttention(nn.Module):
    """Attention of target tokens over the encoder's output."""

    def __init__(
        self,
        model_dim: int,
        num_heads: int,
        *,
        query_projection: ProjectionFactory,
        key_value_projection: ProjectionFactory,
        out_projection: ProjectionFactory,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = query_projection(model_dim, model_dim)
        self.key_value = key_value_projection(model_dim, 2 * model_dim)
        self.out = out_projection(model_dim, model_dim)

    def keys_values(self, memory_BSD: Tensor, context: DomainContext | None) -> tuple[Tensor, Tensor]:
        """Return keys and values, each [B, H, S, E], of the encoder's output."""
        k_BSD, v_BSD = self.key_value(memory_BSD, context).chunk(2, dim=-1)
        return split_heads(k_BSD, self.num_heads), split_heads(v_BSD, self.num_heads)

    def forward(
        self,
        x_BTD: Tensor,
        keys_values: tuple[Tensor, Tensor],
        context: DomainContext | None = None,
        *,
        mask_B11S: Tensor | None = None,
        decoding: bool = False,
    ) -> Tensor:
        """Return [B, T, D]; the queries are the tokens of a target or, in decoding, the beams of a sentence."""
        q_BHTE = split_heads(self.query(x_BTD, context), self.num_heads)
        y_BHTE = fused_attention(
            q_BHTE,
            *keys_values,
            mask_B11S,
            dropout=self.dropout if self.training else 0.0,
            decoding=decoding,
            packing=(None, None) if context is None else (context.packing, context.source_packing),
        )
        return self.out(join_heads(y_BHTE), context)  # type: ignore[no-any-return]
