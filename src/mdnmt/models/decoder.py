"""The decoder: layers of self-attention, attention over the encoder's output, and feed-forward blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor, nn

from mdnmt.models.attention import CrossAttention, key_mask
from mdnmt.models.cache import KeyValueCache
from mdnmt.models.context import DomainContext
from mdnmt.models.residual import NormOrder, ResidualFactory


@dataclass
class Memory:
    """The encoder's output as the decoder layers see it.

    Attributes:
        output_BSD: the encoder's output.
        mask_B11S: True at real source tokens.
        keys_values: for each decoder layer, keys and values [B, H, S, E].
    """

    output_BSD: Tensor
    mask_B11S: Tensor
    keys_values: list[tuple[Tensor, Tensor]]

    def select(self, rows: Tensor) -> Memory:
        """Return the memory of some of the sentences."""
        pairs = [(k.index_select(0, rows), v.index_select(0, rows)) for k, v in self.keys_values]
        return Memory(self.output_BSD.index_select(0, rows), self.mask_B11S.index_select(0, rows), pairs)


class DecoderLayer(nn.Module):
    """One layer; a conditioner, if there is one, computes the proportions for its projections of target tokens."""

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: CrossAttention,
        ffn: nn.Module,
        *,
        residual: ResidualFactory,
        conditioner: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.ffn = ffn
        self.self_attention_residual = residual()
        self.cross_attention_residual = residual()
        self.ffn_residual = residual()
        self.conditioner = conditioner

    def remember(self, output_BSD: Tensor, context: DomainContext) -> tuple[Tensor, Tensor]:
        """Return keys and values [B, H, S, E] of the encoder's output; empty tensors if cross-attention is skipped."""
        if self.cross_attention_residual.is_skipped(context):  # type: ignore[operator]
            empty = output_BSD.new_empty(output_BSD.size(0), 0)
            return empty, empty
        return self.cross_attention.keys_values(output_BSD, context)

    def forward(
        self,
        x_BTD: Tensor,
        keys_values: tuple[Tensor, Tensor],
        memory_mask_B11S: Tensor,
        context: DomainContext,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Return [B, T, D]; with a cache, T runs over the newest tokens of a sentence's beams."""
        if self.conditioner is not None:
            context = context.with_proportion(self.conditioner(x_BTD, context))

        def attend_self(h_BTD: Tensor) -> Tensor:
            return self.self_attention(h_BTD, context, is_causal=cache is None, cache=cache)  # type: ignore[no-any-return]

        def attend_memory(h_BTD: Tensor) -> Tensor:
            return self.cross_attention(  # type: ignore[no-any-return]
                h_BTD, keys_values, context, mask_B11S=memory_mask_B11S, decoding=cache is not None
            )

        x_BTD = self.self_attention_residual(x_BTD, attend_self, context)
        x_BTD = self.cross_attention_residual(x_BTD, attend_memory, context)
        return self.ffn_residual(x_BTD, lambda h_BTD: self.ffn(h_BTD, context), context)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """A stack of layers, with a final norm if the layers are pre-norm."""

    def __init__(
        self,
        layers: Iterable[DecoderLayer],
        *,
        model_dim: int,
        norm_order: NormOrder,
        memory_conditioner: nn.Module | None = None,
        output_layer: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(model_dim) if norm_order == "pre" else None
        self.memory_conditioner = memory_conditioner
        self.output_layer = output_layer

    def remember(self, output_BSD: Tensor, mask_BS: Tensor, context: DomainContext) -> Memory:
        """Project the encoder's output to the keys and values of every layer; all share one proportion per token."""
        if self.memory_conditioner is not None:
            context = context.with_proportion(self.memory_conditioner(output_BSD, context))
        pairs = [layer.remember(output_BSD, context) for layer in self.layers]  # type: ignore[operator]
        return Memory(output_BSD, mask_BS[:, None, None, :], pairs)

    def forward(
        self, x_BTD: Tensor, memory: Memory, context: DomainContext, caches: list[KeyValueCache] | None = None
    ) -> Tensor:
        """Return the decoder's output, [B, T, D]."""
        mask_B11S = key_mask(memory.mask_B11S[:, 0, 0], x_BTD)
        for index, layer in enumerate(self.layers):
            cache = caches[index] if caches is not None else None
            x_BTD = layer(x_BTD, memory.keys_values[index], mask_B11S, context, cache)
        x_BTD = self.norm(x_BTD) if self.norm is not None else x_BTD
        return self.output_layer(x_BTD, context) if self.output_layer is not None else x_BTD
