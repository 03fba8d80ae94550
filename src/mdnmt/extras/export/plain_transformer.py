"""The weights of runs that translate like a plain Transformer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from mdnmt.config.architectures.architecture import Architecture, with_size
from mdnmt.decode.translator import Translator, read_record
from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.paths import RunPaths

# A domain tag is one more source token; the classifiers of multi-task learning take no part in translation.
BUILDERS = ("transformer", "multitask", "domain_tag")


@dataclass(frozen=True)
class PlainTransformer:
    """A Transformer without domain-aware parts.

    Attributes:
        config: sizes, and the order of layer norms.
        weights: name -> tensor.
        source_tokens: source pieces by number; for DomainTag the tags of the domains follow them.
        target_tokens: target pieces by number.
        source_embedding: [source tokens, D].
        target_embedding: [target tokens, D].
        output_weight: [target tokens, D].
        positions: [longest sentence, D], added to the embeddings after these are multiplied by sqrt(D).
        tags: domain -> source piece that stands for it; empty for other methods.
        tag_first: the tag is the first piece of the source sentence; else the last one before </s>.
    """

    config: Architecture
    weights: dict[str, Tensor]
    source_tokens: list[str]
    target_tokens: list[str]
    source_embedding: Tensor
    target_embedding: Tensor
    output_weight: Tensor
    positions: Tensor
    tags: dict[str, str]
    tag_first: bool

    def split_projection(self, name: str, parts: tuple[str, ...]) -> dict[str, Tensor]:
        """Return weight and bias of each part of a projection stored as one matrix: {"query.weight": ..., ...}."""
        return {
            f"{part}.{kind}": tensor
            for kind in ("weight", "bias")
            for part, tensor in zip(parts, self.weights[f"{name}.{kind}"].chunk(len(parts)), strict=True)
        }


def plain_transformer(folder: Path, translator: Translator, format_name: str) -> PlainTransformer:
    """Return the run's weights as those of a plain Transformer.

    Raises:
        ConfigError: its method computes something else.
    """
    record, spec = read_record(RunPaths(folder).record)
    if spec.builder not in BUILDERS or spec.architecture.get("blocks"):
        raise ConfigError(
            f"{folder}: the method {record.get('method', spec.builder)} (builder {spec.builder}) is not a plain "
            f"Transformer, which is all that {format_name} can represent; expected one of {', '.join(BUILDERS)}; "
            "use --to onnx"
        )
    model = translator.model
    config = with_size(validate(spec.builder, spec.architecture, where=str(folder)), len(translator.domains))
    source_embedding = model.source_embedding.weight.detach()
    tags: dict[str, str] = {}
    if model.domain_tag is not None:
        tags = {domain: f"<domain:{domain}>" for domain in translator.domains}
        source_embedding = torch.cat([source_embedding, model.domain_tag.weight.detach()])
    return PlainTransformer(
        config=config,
        weights={name: tensor.detach() for name, tensor in model.state_dict().items()},
        source_tokens=[*translator.source_vocab.tokens, *tags.values()],
        target_tokens=translator.target_vocab.tokens,
        source_embedding=source_embedding,
        target_embedding=model.target_embedding.weight.detach(),
        output_weight=model.output_weight.detach(),
        positions=model.source_embedding.position_table,
        tags=tags,
        tag_first=model.domain_tag is None or model.domain_tag.position == "first",
    )
