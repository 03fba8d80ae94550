"""Write a trained model as two ONNX graphs: the encoder, and one decoder step that caches keys and values.

Shapes: B sentences, P prefixes (beams of any sentences), S source pieces, N target pieces before the newest, H heads,
E width of a head, V vocabulary, L decoder layers.
"""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt import fsio
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError
from mdnmt.extras.export import onnx_translate
from mdnmt.models.cache import KeyValueCache, PrefixTree
from mdnmt.models.context import DomainContext
from mdnmt.models.decoder import Memory
from mdnmt.models.kernels import using
from mdnmt.models.transformer import Transformer
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab

OPSET = 18


class _SinglePrefixTree(PrefixTree):
    """A tree in which each row is one prefix that sees all its cells."""

    def __init__(self, mask_P11N: Tensor) -> None:
        super().__init__()
        self._mask_P11N = mask_P11N

    @property
    def sees_B1WN(self) -> Tensor:
        return self._mask_P11N


class _PastCache(KeyValueCache):
    """Keys and values [P, H, N, E] of a layer, to which a step appends one token."""

    def __init__(self, tree: PrefixTree, keys: Tensor, values: Tensor) -> None:
        super().__init__(tree)
        self.keys, self.values = keys, values

    def append(self, k_BHWE: Tensor, v_BHWE: Tensor) -> tuple[Tensor, Tensor]:
        self.keys, self.values = torch.cat([self.keys, k_BHWE], dim=2), torch.cat([self.values, v_BHWE], dim=2)
        return self.keys, self.values


class EncoderGraph(nn.Module):
    """source [B, S], domain [B] (some methods) -> mask [B, S], keys and values [B, H, S, E] of L layers."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source_BS: Tensor, domain_B: Tensor | None = None) -> tuple[Tensor, ...]:
        """Return the mask and the memory's keys and values, one layer after another."""
        memory = self.model.encode(source_BS, source_BS != Vocab.pad, DomainContext(domain_B=domain_B))
        return memory.mask_B11S[:, 0, 0], *(part for pair in memory.keys_values for part in pair)


class DecoderGraph(nn.Module):
    """One step: token [P], position [1], mask [P, S], memory and past of L layers, domain -> logits [P, V], past."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        token_P: Tensor,
        position_1: Tensor,
        mask_PS: Tensor,
        memory: list[Tensor],
        past: list[Tensor],
        domain_P: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Return the logits of the next token, and the past extended by the newest one."""
        embedding = self.model.target_embedding
        x_P1D = F.embedding(token_P.unsqueeze(1), embedding.weight) * embedding.scale
        x_P1D = x_P1D + embedding.position_table[position_1]
        seen = F.pad(torch.ones_like(past[0][:, :1, :, 0], dtype=torch.bool), (0, 1), value=True).unsqueeze(2)
        tree = _SinglePrefixTree(seen)
        pairs = list(zip(memory[::2], memory[1::2], strict=True))
        caches = [_PastCache(tree, keys, values) for keys, values in zip(past[::2], past[1::2], strict=True)]
        # The decoder reads only mask and keys and values of the memory; x_P1D fills the field that it does not read.
        remembered = Memory(x_P1D, mask_PS[:, None, None, :], pairs)
        y_P1D = self.model.decoder(x_P1D, remembered, DomainContext(domain_B=domain_P), list(caches))
        grown = (part for cache in caches for part in (cache.keys, cache.values))
        return self.model.token_logits(y_P1D[:, 0]), *grown


def check_onnx(folder: Path, translator: Translator) -> None:
    """Refuse methods that the graphs cannot represent.

    Raises:
        ConfigError: which blocks are used depends on the domain (latent depth).
    """
    if translator.model.block_choice is not None:
        raise ConfigError(
            f"{folder}: the method skips blocks depending on the domain (latent depth, LDSPSLV), which the ONNX graphs "
            "cannot represent; export another method"
        )


def write_onnx(translator: Translator, folder: Path) -> None:
    """Write encoder.onnx, decoder.onnx, model.json and translate.py."""
    model = translator.model
    layers = len(model.decoder.layers)
    reads_domain = translator.needs_domain
    domain = torch.tensor([0, 1 % len(translator.domains)]) if reads_domain else None
    source = torch.tensor([[5, 6, 4, Vocab.eos], [5, Vocab.eos, Vocab.pad, Vocab.pad]]).clamp(
        max=len(translator.source_vocab) - 1
    )
    with torch.no_grad(), using("plain"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder, decoder = EncoderGraph(model).eval(), DecoderGraph(model).eval()
        mask, *memory = encoder(source, domain)
        past = [torch.zeros(*part.shape[:2], 3, part.size(3)) for part in memory]
        memory_names = [f"memory_{kind}_{layer}" for layer in range(layers) for kind in ("key", "value")]
        past_names = [f"past_{kind}_{layer}" for layer in range(layers) for kind in ("key", "value")]
        batch, words, prefixes, before = (torch.export.Dim(name) for name in ("batch", "source", "prefixes", "before"))
        named = ["domain"] * reads_domain
        given: tuple[Any, ...] = (source, domain) if reads_domain else (source,)
        shapes: tuple[Any, ...] = ({0: batch, 1: words}, {0: batch}) if reads_domain else ({0: batch, 1: words},)
        _export(encoder, given, shapes, folder / "encoder.onnx", ["source", *named], ["mask", *memory_names])
        given = (torch.tensor([1, 1]), torch.tensor([3]), mask, memory, past)
        shapes = (
            {0: prefixes}, None, {0: prefixes, 1: words}, [{0: prefixes, 2: words}] * len(memory),
            [{0: prefixes, 2: before}] * len(past),
        )  # fmt: skip
        if reads_domain:
            given, shapes = (*given, domain), (*shapes, {0: prefixes})
        grown_names = [name.replace("past", "grown") for name in past_names]
        names = ["word", "position", "mask", *memory_names, *past_names, *named]
        _export(decoder, given, shapes, folder / "decoder.onnx", names, ["logits", *grown_names])
    said = {
        "specials": list(SPECIALS),
        "source_lang": translator.source_lang,
        "target_lang": translator.target_lang,
        "layers": layers,
        "heads": memory[0].size(1),
        "head_width": memory[0].size(3),
        "domains": list(translator.domains) if reads_domain else [],
        "max_source_pieces": model.max_source_length - 1,
        "max_target_pieces": model.max_target_length - 1,
    }
    fsio.write_text(folder / "model.json", json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    shutil.copyfile(Path(onnx_translate.__file__), folder / "translate.py")


def _export(
    graph: nn.Module, given: tuple[Any, ...], shapes: tuple[Any, ...], path: Path, inputs: list[str], outputs: list[str]
) -> None:
    for name in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)
    torch.onnx.export(
        graph, given, str(path), input_names=inputs, output_names=outputs, dynamic_shapes=shapes, opset_version=OPSET,
        dynamo=True, external_data=False, verbose=False,
    )  # fmt: skip


def usage(translator: Translator) -> str:
    """Return the part of the model card that shows how to translate."""
    domain = f', domain="{translator.domains[0]}"' if translator.needs_domain else ""
    note = f"The domain is one of {', '.join(translator.domains)}.\n" if domain else ""
    return f"""`translate.py` decodes with a beam of 5 (`pip install onnxruntime numpy`).

```python
from segment import Segmenter
from translate import Translator

segmenter, translator = Segmenter(), Translator()
text = "This is a test."
pieces, score = translator.translate(segmenter.encode(text){domain})[0]
print(segmenter.decode(pieces))
```
{note}"""
