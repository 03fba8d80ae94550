"""An encoder-decoder translation model made of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.batch import Batch
from mdnmt.models.cache import KeyValueCache, PrefixTree
from mdnmt.models.context import DomainContext
from mdnmt.models.decoder import Decoder, Memory
from mdnmt.models.domain_tag import DomainTag
from mdnmt.models.embedding import Embedding
from mdnmt.models.encoder import Encoder


@dataclass
class Output:
    """The result of a training pass, for the losses.

    Attributes:
        hidden_ND: the decoder's output at the labels of the batch.
        weight_VD: the output layer; the logits are the product of both.
        context: what blocks recorded.
    """

    hidden_ND: Tensor
    weight_VD: Tensor
    context: DomainContext

    def logits(self) -> Tensor:
        """Return the logits [N, V] at the labels of the batch."""
        return F.linear(self.hidden_ND, self.weight_VD)


@dataclass
class DecodingState:
    """The state of decoding B sentences with W beams each.

    Attributes:
        memory: the encoder's output for the B sentences.
        tree: which decoded tokens make up each of the B * W prefixes.
        caches: keys and values of those tokens, one cache per layer.
        context: the domain of each sentence, if known; what blocks record during decoding is dropped.
        position: number of tokens decoded so far.
    """

    memory: Memory
    tree: PrefixTree
    caches: list[KeyValueCache]
    context: DomainContext
    position: int = 0

    def select(self, sentences: Tensor | None, prefixes: Tensor) -> None:
        """Keep some sentences (all, if None) and the given prefixes of them, in the given order."""
        if sentences is not None:
            self.memory = self.memory.select(sentences)
            self.context = self.context.select(sentences)
        cells = self.tree.select(prefixes, self.memory.output_BSD.size(0))
        if sentences is not None or cells is not None:
            for cache in self.caches:
                cache.select(sentences, cells)


class TranslationModel(nn.Module, ABC):
    """What the trainer needs of a model beside its parameters."""

    @property
    @abstractmethod
    def max_source_length(self) -> int:
        """Return the largest number of source ids, </s> included."""

    @property
    @abstractmethod
    def max_target_length(self) -> int:
        """Return the largest number of target ids, </s> included."""

    @abstractmethod
    def forward(self, batch: Batch) -> Output:
        """Return the decoder's output for every label of the batch, given the true tokens before it."""


class Transformer(TranslationModel):
    """Embeddings, encoder, decoder and output layer; the method decides which blocks they contain."""

    def __init__(
        self,
        *,
        source_embedding: Embedding,
        target_embedding: Embedding,
        encoder: Encoder,
        decoder: Decoder,
        output_weight: nn.Parameter,
        domain_tag: DomainTag | None = None,
        bridge: nn.Module | None = None,
        classifiers: Mapping[str, nn.Module] | None = None,
        block_choice: nn.Module | None = None,
    ) -> None:
        """Make the model.

        Args:
            source_embedding: of source tokens.
            target_embedding: of target tokens.
            encoder: a stack of layers.
            decoder: a stack of layers.
            output_weight: [V, D]; may be the target embedding's own (tied).
            domain_tag: adds a vector of the gold domain to the source sentence.
            bridge: called with (encoder's output [B, S, D], mask [B, S], context); the decoder sees what it returns.
            classifiers: by side, "encoder" or "decoder": called in the same way with the last states of that side, in
                `forward` only. They record logits for losses and cost nothing in translation.
            block_choice: called first, with (context, B); it writes into the context which blocks the sentences use.
        """
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.output_weight = output_weight
        self.domain_tag = domain_tag
        self.bridge = bridge
        self.classifiers = nn.ModuleDict(classifiers or {})
        self.block_choice = block_choice
        self.compiled_states: Callable[[Batch], tuple[Tensor, DomainContext]] | None = None  # takes training batches

    @property
    def max_source_length(self) -> int:
        """Return the largest number of source ids, </s> included."""
        return self.source_embedding.max_positions - (self.domain_tag is not None)

    @property
    def max_target_length(self) -> int:
        """Return the largest number of target ids, </s> included."""
        return self.target_embedding.max_positions

    def encode(self, source_BS: Tensor, mask_BS: Tensor, context: DomainContext) -> Memory:
        """Encode the source sentences; return what the decoder needs of them."""
        if self.block_choice is not None:
            self.block_choice(context, source_BS.size(0) if context.domain_B is None else context.domain_B.size(0))
        if self.domain_tag is None or context.domain_B is None:  # no domain, no tag
            x_BSD = self.source_embedding(source_BS, context.positions)
        else:
            x_BSD, mask_BS = self.domain_tag(source_BS, mask_BS, context, self.source_embedding)
        context.source_mask_BS = mask_BS
        output_BSD = self.encoder(x_BSD, mask_BS, context)
        if self.bridge is not None:
            output_BSD = self.bridge(output_BSD, mask_BS, context)
        return self.decoder.remember(output_BSD, mask_BS, context)

    def forward(self, batch: Batch) -> Output:
        """Return the decoder's output for every label of the batch, given the true tokens before it."""
        compiled = self.compiled_states if self.training else None
        y_BTD, context = (compiled or self.states)(batch)
        return Output(batch.at_labels(y_BTD), self.output_weight, context)

    def states(self, batch: Batch) -> tuple[Tensor, DomainContext]:
        """Return the decoder's output [B, T, D] with padding, and what blocks recorded."""
        source, target = batch.source_packing, batch.target_packing
        context = DomainContext(domain_B=batch.domain_B, packing=source, source_packing=source)
        memory = self.encode(batch.source_BS, batch.source_mask_BS, context)
        # Padding is on the right, so the causal mask is enough to hide it from the other tokens.
        context.packing = target
        y_BTD = self.decoder(self.target_embedding(batch.target_BT, context.positions), memory, context)
        if "encoder" in self.classifiers:
            of_source = replace(context, packing=source)
            self.classifiers["encoder"](memory.output_BSD, memory.mask_B11S[:, 0, 0], of_source)
        if "decoder" in self.classifiers:
            self.classifiers["decoder"](y_BTD, batch.target_mask_BT, context)
        return y_BTD, context

    def start(self, source_BS: Tensor, mask_BS: Tensor, domain_B: Tensor | None = None) -> DecodingState:
        """Encode the sentences and return the state before the first target token."""
        context = DomainContext(domain_B=domain_B)
        memory = self.encode(source_BS, mask_BS, context)
        # Every step reads keys and values again, which is fastest if those of a head are contiguous.
        memory.keys_values = [(keys.contiguous(), values.contiguous()) for keys, values in memory.keys_values]
        tree = PrefixTree()
        return DecodingState(memory, tree, [KeyValueCache(tree) for _ in self.decoder.layers], context)

    def step(self, token_P: Tensor, state: DecodingState) -> Tensor:
        """Decode the newest token of each prefix (P = B * W) and return the logits [P, V] of the next token."""
        num_sentences = state.memory.output_BSD.size(0)
        state.tree.grow(num_sentences, token_P.size(0) // num_sentences, token_P.device)
        x_P1D = self.target_embedding(token_P.unsqueeze(1), start=state.position)
        # The beams of a sentence take the dimension that the tokens of a sentence have in a training pass.
        x_BWD = x_P1D.view(num_sentences, -1, x_P1D.size(-1))
        y_BWD = self.decoder(x_BWD, state.memory, replace(state.context, records={}), state.caches)
        state.position += 1
        return self.token_logits(y_BWD.flatten(0, 1))

    def token_logits(self, y_PD: Tensor) -> Tensor:
        """Return the logits [P, V] of the decoder's outputs."""
        return F.linear(y_PD, self.output_weight)
