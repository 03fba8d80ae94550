"""A method as its own model shows it: stacks of blocks, what is tied and shared, losses, numbers of parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from torch import nn

from mdnmt.methods import build, validate
from mdnmt.methods.method import Architecture, Method, VocabSizes, sized
from mdnmt.methods.outline import shapes_only
from mdnmt.models.domain_attention import DomainAwareProjection
from mdnmt.models.transformer import Transformer
from mdnmt.paper import diagram_blocks as blocks
from mdnmt.paper.diagram_links import Links, find_links
from mdnmt.paper.diagram_parts import Block, Layers, Stack, Structure

VOCAB = 16  # no number that is shown depends on it


def structure(builder: str, options: dict[str, Any], num_domains: int) -> Structure:
    """Return the structure of a method, from its model, built on no device, and from its losses.

    Args:
        builder: a module of mdnmt.methods.
        options: its architecture, complete.
        num_domains: of the task.

    Raises:
        ConfigError: the builder or an option is not known.
    """
    method = _build(builder, options, num_domains)
    size = sized(validate(builder, options, where=builder), num_domains)
    links = find_links(builder, options, num_domains)
    model, walk = method.model, _Walk(method.model, links)
    plain = {name: value for name, value in options.items() if name in Architecture.model_fields}
    words = "pre" if size.norm == "pre" else "post"
    return Structure(
        sizes=f"width {size.model_dim}, feed-forward {size.ffn_dim}, {size.num_heads} heads, {words}-norm, "
        f"{num_domains} domains",
        before=walk.beside(model.block_choice, "block_choice"),
        encoder=walk.encoder(),
        decoder=walk.decoder(),
        losses=links.losses,
        parameters=_without_words(model),
        plain=_without_words(_build("transformer", plain, num_domains).model),
        needs_domain=method.needs_domain,
    )


def _build(builder: str, options: dict[str, Any], num_domains: int) -> Method:
    architecture = validate(builder, options, where=builder)
    with shapes_only():
        return build(builder, architecture, VocabSizes(VOCAB, VOCAB, True), num_domains)


def _without_words(model: Transformer) -> int:
    words = {id(model.source_embedding.weight), id(model.target_embedding.weight), id(model.output_weight)}
    return sum(parameter.numel() for parameter in model.parameters() if id(parameter) not in words)


class _Walk:
    """Walks a model and describes its parts."""

    def __init__(self, model: Transformer, links: Links) -> None:
        self.model, self.links = model, links
        places: dict[int, set[str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            places.setdefault(id(parameter), set()).add(name)
        self.shared = {key for key, names in places.items() if len(names) > 1}

    def encoder(self) -> Stack:
        """Return the encoder, with what stands on its output."""
        model = self.model
        items: list[Block | Layers] = [self._words("Source words", model.source_embedding)]
        items += self.beside(model.domain_tag, "domain_tag")
        items += self._layers(model.encoder.layers, "encoder.layers")
        items += self.beside(model.bridge, "bridge")
        memory = model.decoder.memory_conditioner
        if memory is not None:
            found = blocks.conditioner(memory, "decoder.memory_conditioner", "the encoder's output")
            items.append(self._done(replace(found, beside=True), memory))
        items += self._classifier("encoder")
        return Stack("Encoder", tuple(items))

    def decoder(self) -> Stack:
        """Return the decoder, with the output layer."""
        model = self.model
        items: list[Block | Layers] = [self._words("Target words", model.target_embedding)]
        items += self._layers(model.decoder.layers, "decoder.layers")
        items += self._classifier("decoder")
        tied = model.output_weight is model.target_embedding.weight
        says = "the table of the target words" if tied else "a table of its own"
        items.append(Block("Output layer", (says,), "plain", "output_weight"))
        return Stack("Decoder", tuple(items))

    def beside(self, module: nn.Module | None, name: str) -> tuple[Block, ...]:
        """Return a part beside the layers, if it is there."""
        return () if module is None else (self._done(blocks.beside(module, name), module),)

    def _classifier(self, side: str) -> tuple[Block, ...]:
        if side not in self.model.classifiers:
            return ()
        [found] = self.beside(self.model.classifiers[side], f"classifiers.{side}")
        return (replace(found, beside=True),)

    def _words(self, title: str, embedding: nn.Module) -> Block:
        positions, status = blocks.positions(embedding)
        lines = [positions]
        if embedding is self.model.target_embedding and embedding is self.model.source_embedding:
            lines.insert(0, "one table for both languages")
        name = "source_embedding" if embedding is self.model.source_embedding else "target_embedding"
        return Block(title, tuple(lines), status, name)

    def _layers(self, layers: Iterable[nn.Module], name: str) -> list[Layers]:
        groups: list[Layers] = []
        for number, layer in enumerate(layers):
            found = self._layer(layer, f"{name}.{number}")
            if groups and _nameless(groups[-1].blocks) == _nameless(found.blocks):
                groups[-1] = replace(groups[-1], count=groups[-1].count + 1)
            else:
                groups.append(found)
        return groups

    def _layer(self, layer: Any, name: str) -> Layers:
        found = []
        if layer.conditioner is not None:
            shares = blocks.conditioner(layer.conditioner, f"{name}.conditioner", "the layer's input")
            found.append(self._done(replace(shares, beside=True), layer.conditioner))
        attentions = [("Self-attention", "attention"), ("Self-attention", "self_attention")]
        for title, key in [*attentions, ("Cross-attention", "cross_attention")]:
            module = getattr(layer, key, None)
            if module is not None:
                networks = self._networks(module, f"{name}.{key}")
                whole = self._done(blocks.attention(title, module, f"{name}.{key}"), module)
                rest = whole.parameters - sum(network.parameters for network in networks)
                found += [*networks, replace(whole, parameters=rest)]
        found.append(self._done(blocks.feed_forward(layer.ffn, f"{name}.ffn"), layer.ffn))
        return Layers(1, tuple(found), *blocks.residual(layer.ffn_residual))

    def _networks(self, attention: nn.Module, name: str) -> list[Block]:
        """Return the domain attention network of an attention, if it has one."""
        found = []
        for key, module in attention.named_modules():
            if isinstance(module, DomainAwareProjection):
                block = blocks.domain_network(module.network, f"{name}.{key}.network", self._sharing(module))
                found.append(self._done(replace(block, beside=True), module.network))
        return found

    def _sharing(self, projection: DomainAwareProjection) -> str:
        """Return which parts of a domain attention network other places have as well."""
        network = projection.network
        parts = {"vectors": network.vectors, "W_u": network.query.weight, "W_mK": network.key.weight}
        common = [name for name, parameter in parts.items() if id(parameter) in self.shared]
        own = [name for name in parts if name not in common]
        texts = [f"shared by layers: {', '.join(common)}"] if common else []
        texts += [f"its own: {', '.join(own)}"] if own else []
        return "; ".join(texts)

    def _done(self, block: Block, module: nn.Module) -> Block:
        """Return a block with its number of parameters, and with what trains it where that is not all as usual."""
        own = sum(parameter.numel() for parameter in module.parameters() if id(parameter) not in self.shared)
        counted, trained = replace(block, parameters=own), self.links.of(block.module)
        if trained is None or "generation" in trained:
            return counted
        says = f"trained by the {', '.join(trained)} loss alone" if trained else "trained by no loss"
        return replace(counted, lines=(*counted.lines, says))


def _nameless(found: tuple[Block, ...]) -> list[tuple[Any, ...]]:
    return [(block.title, block.lines, block.status, block.parameters) for block in found]
