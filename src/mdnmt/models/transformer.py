"""An encoder-decoder translation model put together from blocks."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.batch import Batch
from mdnmt.models.cache import KeyValueCache
from mdnmt.models.context import DomainContext
from mdnmt.models.decoder import Decoder, Memory
from mdnmt.models.embedding import Embedding
from mdnmt.models.encoder import Encoder


@dataclass
class Output:
    """What a training pass leaves for the losses.

    Attributes:
        hidden_ND: the decoder's output at real target words.
        weight_VD: the output layer; loss and logits are made of both.
        context: what blocks recorded.
    """

    hidden_ND: Tensor
    weight_VD: Tensor
    context: DomainContext

    def logits(self) -> Tensor:
        """Return the logits [N, V] of the real target words."""
        return F.linear(self.hidden_ND, self.weight_VD)


@dataclass
class DecodingState:
    """Where decoding stands: B sentences with W beams each.

    Attributes:
        memory: the B sentences.
        caches: keys and values of the B * W prefixes, one a layer.
        context: gold domains, where known; what blocks record while decoding is dropped.
        position: number of words decoded so far.
    """

    memory: Memory
    caches: list[KeyValueCache]
    context: DomainContext
    position: int = 0

    def select(self, sentences: Tensor | None, prefixes: Tensor) -> None:
        """Keep some sentences (all, if None) and the given prefixes of them, in the given order."""
        if sentences is not None:
            self.memory = self.memory.select(sentences)
            if self.context.domain_B is not None:
                self.context.domain_B = self.context.domain_B.index_select(0, sentences)
        for cache in self.caches:
            cache.select(prefixes)


class Transformer(nn.Module):
    """Embeddings, encoder, decoder, output layer; which blocks they hold is the method's affair."""

    def __init__(
        self,
        *,
        source_embedding: Embedding,
        target_embedding: Embedding,
        encoder: Encoder,
        decoder: Decoder,
        output_weight: nn.Parameter,
    ) -> None:
        """Put the parts together; `output_weight` [V, D] may be the target embedding's own (tied)."""
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output_weight = output_weight

    def encode(self, source_BS: Tensor, mask_BS: Tensor, context: DomainContext) -> Memory:
        """Return what the decoder needs of the source sentences."""
        output_BSD = self.encoder(self.source_embedding(source_BS), mask_BS, context)
        return self.decoder.remember(output_BSD, mask_BS, context)

    def forward(self, batch: Batch) -> Output:
        """Return the decoder's output for every real target word, each given the true words before it."""
        context = DomainContext(domain_B=batch.domain_B)
        memory = self.encode(batch.source_BS, batch.source_mask_BS, context)
        # Padding stands on the right, so that a causal mask alone keeps it out of sight of real words.
        y_BTD = self.decoder(self.target_embedding(batch.target_BT), memory, context)
        y_ND = y_BTD.flatten(0, 1).index_select(0, batch.label_index_N)
        return Output(y_ND, self.output_weight, context)

    def start(self, source_BS: Tensor, mask_BS: Tensor, domain_B: Tensor | None = None) -> DecodingState:
        """Encode the sentences and return the state before the first target word."""
        context = DomainContext(domain_B=domain_B)
        memory = self.encode(source_BS, mask_BS, context)
        return DecodingState(memory, [KeyValueCache() for _ in self.decoder.layers], context)

    def step(self, word_P: Tensor, state: DecodingState) -> Tensor:
        """Take the newest word of each prefix (P = B * W) and return the logits [P, V] of the next one."""
        context = DomainContext(domain_B=state.context.domain_B)
        x_P1D = self.target_embedding(word_P.unsqueeze(1), start=state.position)
        y_P1D = self.decoder(x_P1D, state.memory, context, state.caches)
        state.position += 1
        return F.linear(y_P1D.squeeze(1), self.output_weight)
