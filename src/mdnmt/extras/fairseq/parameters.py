"""Convert fairseq's parameters to ours.

Their names are those of fairseq 0.6 to 0.12, and of WALDM's released code, which is built on 0.6. In the released code,
a mixed feed-forward map stores the K domains of each output side by side. A mixed attention has a submodule for each
domain with its queries, keys and values, and one output projection, named as in no version of fairseq.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from mdnmt.errors import DataError
from mdnmt.extras.fairseq.dictionary import ROWS_OF_SPECIALS
from mdnmt.extras.fairseq.options import FairseqModel
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab

# Not parameters: the version of the format, position tables (computed here), and the copies of an encoder layer's
# parameters that fairseq 0.12 makes for torch's fast path.
_IGNORED = re.compile(
    r"(encoder|decoder)\.(version|embed_positions\.(_float_tensor|weights))"
    r"|encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)"
)
# The classifiers of MTL, AdvL, PAdvL and WL, which only training uses.
_OF_TRAINING = re.compile(r"(classifier|maskcls)\.")

Projection = tuple[Tensor, Tensor]  # weight and bias; of a mixed projection [K, out, in] and [K, out]


def convert(
    weights: Mapping[str, Tensor], model: FairseqModel, source: Vocab, target: Vocab, path: Path
) -> dict[str, Tensor]:
    """Return the weights for a model of ours with `share_embeddings: none`.

    fairseq begins a translation with </s>, we with <s>. So <s> gets the input vector of fairseq's </s>. Output layer
    and target embedding become two matrices even if fairseq ties them, so that <s> keeps its own logit.

    Raises:
        DataError: a parameter is missing, left over, or differs from the shape that options and dictionaries give.
    """
    given = _Parameters(weights, path)
    config = model.architecture
    mixes = {side: model.num_domains if side in model.mixed_sides else None for side in ("encoder", "decoder")}
    found = _embeddings(given, config.model_dim, source, target)
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        layer = _Layer(given, side, config.model_dim, config.ffn_dim, mixes[side])
        for number in range(layers):
            found |= layer.weights(number)
        if config.norm == "pre":
            found |= layer.norm(f"{side}.norm", f"{side}.layer_norm")
        if side == "decoder" and mixes[side]:
            found |= layer.proportion("decoder.memory_conditioner", "decoder.encoder_out_cls")
    given.require_all_taken()
    return found


class _Parameters:
    """The tensors of a checkpoint; each must be taken unless it is ignored."""

    def __init__(self, weights: Mapping[str, Tensor], path: Path) -> None:
        self.path = path
        self._left = {
            name: tensor.float()
            for name, tensor in weights.items()
            if not _IGNORED.fullmatch(name) and not _OF_TRAINING.match(name)
        }

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def take(self, shape: tuple[int, ...], *names: str) -> Tensor:
        """Return the tensor with the first of these names that exists.

        Raises:
            DataError: none exists, or it has another shape.
        """
        name = next((name for name in names if name in self._left), None)
        if name is None:
            raise DataError(f"{self.path}: has no parameter {names[0]}; expected those of fairseq's Transformer")
        tensor = self._left.pop(name)
        if tensor.shape != shape:
            raise DataError(
                f"{self.path}: {name} has the shape {list(tensor.shape)}; options and dictionaries say {list(shape)}"
            )
        return tensor

    def projection(self, name: str, out_dim: int, in_dim: int) -> Projection:
        """Return a plain projection."""
        return self.take((out_dim, in_dim), f"{name}.weight"), self.take((out_dim,), f"{name}.bias")

    def require_all_taken(self) -> None:
        """Check that every parameter was taken; otherwise the model computes something that ours does not.

        Raises:
            DataError: a parameter was not taken.
        """
        if self._left:
            raise DataError(
                f"{self.path}: has the parameter {min(self._left)} ({len(self._left)} in all) that a Transformer here "
                "does not have; its model cannot be imported"
            )


def _embeddings(given: _Parameters, model_dim: int, source: Vocab, target: Vocab) -> dict[str, Tensor]:
    def ours(vocab: Vocab, *names: str) -> Tensor:
        table_VD = given.take((len(vocab), model_dim), *names)
        return torch.cat([table_VD[list(ROWS_OF_SPECIALS)], table_VD[len(SPECIALS) :]])

    tables = {
        "source_embedding.weight": ours(source, "encoder.embed_tokens.weight"),
        "target_embedding.weight": ours(target, "decoder.embed_tokens.weight"),
    }
    output = ("decoder.output_projection.weight", "decoder.embed_out")
    is_tied = not any(name in given for name in output)
    found = {**tables, "output_weight": tables["target_embedding.weight"].clone() if is_tied else ours(target, *output)}
    for table in tables.values():  # both, so that equal tables stay equal; the source never has <s>
        table[Vocab.bos] = table[Vocab.eos]
    return found


class _Layer:
    """Converts the layers of one side, whose projections are plain (`num_domains` None) or mixed."""

    def __init__(self, given: _Parameters, side: str, model_dim: int, ffn_dim: int, num_domains: int | None) -> None:
        self.given, self.side = given, side
        self.model_dim, self.ffn_dim, self.num_domains = model_dim, ffn_dim, num_domains

    def weights(self, number: int) -> dict[str, Tensor]:
        """Return the weights of a layer."""
        base = f"{self.side}.layers.{number}"
        if self.side == "encoder":
            found = self._self_attention(f"{base}.attention", f"{base}.self_attn")
            norms = {"attention": "self_attn", "ffn": "final"}
        else:
            found = self._self_attention(f"{base}.self_attention", f"{base}.self_attn")
            found |= self._cross_attention(f"{base}.cross_attention", f"{base}.encoder_attn")
            norms = {"self_attention": "self_attn", "cross_attention": "encoder_attn", "ffn": "final"}
        for place, (ours, theirs) in enumerate(norms.items()):  # old versions number the norms
            found |= self.norm(
                f"{base}.{ours}_residual.norm", f"{base}.{theirs}_layer_norm", f"{base}.layer_norms.{place}"
            )
        found |= _as_linear(f"{base}.ffn.first", self._feed_forward(f"{base}.fc1", self.ffn_dim, self.model_dim))
        found |= _as_linear(f"{base}.ffn.second", self._feed_forward(f"{base}.fc2", self.model_dim, self.ffn_dim))
        if self.num_domains is not None:
            found |= self.proportion(f"{base}.conditioner", f"{self.side}.layers_cls.{number}")
        return found

    def norm(self, ours: str, *theirs: str) -> dict[str, Tensor]:
        """Return a layer norm."""
        return {
            f"{ours}.{kind}": self.given.take((self.model_dim,), *(f"{name}.{kind}" for name in theirs))
            for kind in ("weight", "bias")
        }

    def proportion(self, ours: str, theirs: str) -> dict[str, Tensor]:
        """Return the matrix R of a proportion layer; for two domains, the released code has only label 1's logit."""
        assert self.num_domains is not None
        rows = 1 if self.num_domains == 2 else self.num_domains
        weight, bias = self.given.projection(f"{theirs}.main.0", rows, self.model_dim)
        if rows == 1:
            weight, bias = (torch.cat([torch.zeros_like(one), one]) for one in (weight, bias))
        return {f"{ours}.classifier.weight": weight, f"{ours}.classifier.bias": bias}

    def _self_attention(self, ours: str, theirs: str) -> dict[str, Tensor]:
        out = self._attention_output(theirs)
        return _as_linear(f"{ours}.qkv", self._query_key_value(theirs)) | _as_linear(f"{ours}.out", out)

    def _cross_attention(self, ours: str, theirs: str) -> dict[str, Tensor]:
        weight, bias = self._query_key_value(theirs)
        sizes = [self.model_dim, 2 * self.model_dim]
        query, key_value = torch.split(weight, sizes, dim=-2)
        query_bias, key_value_bias = torch.split(bias, sizes, dim=-1)
        out = self._attention_output(theirs)
        return (
            _as_linear(f"{ours}.query", (query, query_bias))
            | _as_linear(f"{ours}.key_value", (key_value, key_value_bias))
            | _as_linear(f"{ours}.out", out)
        )

    def _attention_output(self, name: str) -> Projection:
        separator = "." if self.num_domains is None else "_"
        names = [f"{name}.out_proj{separator}{kind}" for kind in ("weight", "bias")]
        return self.given.take((self.model_dim, self.model_dim), names[0]), self.given.take((self.model_dim,), names[1])

    def _query_key_value(self, name: str) -> Projection:
        given, out = self.given, 3 * self.model_dim
        if self.num_domains is not None:
            of_domains = [f"{name}.submodel.{number}" for number in range(self.num_domains)]
            weights = [given.take((out, self.model_dim), f"{one}.in_proj_weight") for one in of_domains]
            biases = [given.take((out,), f"{one}.in_proj_bias") for one in of_domains]
            return self._by_label(torch.stack(weights), torch.stack(biases))
        if f"{name}.in_proj_weight" in given:  # old versions
            weight = given.take((out, self.model_dim), f"{name}.in_proj_weight")
            return weight, given.take((out,), f"{name}.in_proj_bias")
        parts = [given.projection(f"{name}.{part}_proj", self.model_dim, self.model_dim) for part in "qkv"]
        return torch.cat([weight for weight, _ in parts]), torch.cat([bias for _, bias in parts])

    def _feed_forward(self, name: str, out_dim: int, in_dim: int) -> Projection:
        if self.num_domains is None:
            return self.given.projection(name, out_dim, in_dim)
        weight, bias = self.given.projection(name, out_dim * self.num_domains, in_dim)
        # Row o * K + j is output o of domain j.
        weight = weight.view(out_dim, self.num_domains, in_dim).transpose(0, 1)
        return self._by_label(weight, bias.view(out_dim, self.num_domains).t())

    def _by_label(self, weight: Tensor, bias: Tensor) -> Projection:
        # With two domains, the released code mixes with (P(label 1), P(label 0)): its first block belongs to label 1.
        return (weight.flip(0), bias.flip(0)) if self.num_domains == 2 else (weight, bias)


def _as_linear(ours: str, projection: Projection) -> dict[str, Tensor]:
    """Return a projection as `Linear` or `MixedLinear` stores it."""
    weight, bias = projection
    if weight.dim() == 3 and weight.size(2) <= weight.size(1):
        weight = weight.transpose(0, 1)  # [out, K, in] unless the output is narrower than the input
    return {f"{ours}.weight": weight.contiguous(), f"{ours}.bias": bias.contiguous()}
