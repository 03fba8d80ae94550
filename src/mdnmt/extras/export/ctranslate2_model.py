"""Write plain Transformers as CTranslate2 models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from mdnmt.extras.export.plain_transformer import PlainTransformer
from mdnmt.tasks.segmentation.vocabulary import SPECIALS

_, _START, _END, _UNKNOWN = SPECIALS


def write_ctranslate2(model: PlainTransformer, folder: Path) -> None:
    """Write `model` as 32-bit floats into an empty folder."""
    from ctranslate2.specs import TransformerSpec

    config = model.config
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers), config.num_heads, pre_norm=config.norm == "pre"
    )
    spec.encoder.embeddings[0].weight = _array(model.source_embedding)
    spec.decoder.embeddings.weight = _array(model.target_embedding)
    spec.decoder.projection.weight = _array(model.output_weight)
    for side, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        side.position_encodings.encodings = _array(model.positions)
        if config.norm == "pre":
            _put_norm(side.layer_norm, model, f"{name}.norm")
        for number, layer in enumerate(side.layer):
            _put_layer(layer, model, f"{name}.layers.{number}", "attention" if name == "encoder" else "self_attention")
    spec.register_source_vocabulary(model.source_tokens)
    spec.register_target_vocabulary(model.target_tokens)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = _START, _END, _UNKNOWN
    spec.config.decoder_start_token = _START
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(folder))


def usage(model: PlainTransformer) -> str:
    """Return the part of the model card that shows how to translate."""
    tagged = "segmenter.encode(text)"
    note = ""
    if model.tags:
        tag = next(iter(model.tags.values()))
        tagged = f'["{tag}", *{tagged}]' if model.tag_first else f'[*{tagged}, "{tag}"]'
        note = f"The tag of the sentence's domain is one of `{'`, `'.join(model.tags.values())}`.\n"
    return f"""```python
import ctranslate2
from segment import Segmenter

segmenter, translator = Segmenter(), ctranslate2.Translator(".", compute_type="float32")
text = "This is a test."
found = translator.translate_batch([{tagged}], beam_size=5)
print(segmenter.decode(found[0].hypotheses[0]))
```
{note}"""


def _put_layer(layer: Any, model: PlainTransformer, name: str, attention: str) -> None:
    _put(layer.self_attention.linear[0], model, f"{name}.{attention}.qkv")
    _put(layer.self_attention.linear[1], model, f"{name}.{attention}.out")
    _put_norm(layer.self_attention.layer_norm, model, f"{name}.{attention}_residual.norm")
    if attention == "self_attention":
        for linear, part in zip(layer.attention.linear, ("query", "key_value", "out"), strict=True):
            _put(linear, model, f"{name}.cross_attention.{part}")
        _put_norm(layer.attention.layer_norm, model, f"{name}.cross_attention_residual.norm")
    _put(layer.ffn.linear_0, model, f"{name}.ffn.first")
    _put(layer.ffn.linear_1, model, f"{name}.ffn.second")
    _put_norm(layer.ffn.layer_norm, model, f"{name}.ffn_residual.norm")


def _put(linear: Any, model: PlainTransformer, name: str) -> None:
    linear.weight, linear.bias = (_array(model.weights[f"{name}.{kind}"]) for kind in ("weight", "bias"))


def _put_norm(norm: Any, model: PlainTransformer, name: str) -> None:
    norm.gamma, norm.beta = (_array(model.weights[f"{name}.{kind}"]) for kind in ("weight", "bias"))


def _array(tensor: Tensor) -> Any:
    # Copy, because CTranslate2 treats arrays in the same memory as tied, and slices of one matrix share memory.
    return tensor.cpu().float().numpy().copy()
