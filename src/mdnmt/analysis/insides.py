"""What a finished run does inside: proportions of words, vectors of sentences."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt import fsio
from mdnmt.config.study import AnalysisConfig
from mdnmt.decode.batches import length_batches
from mdnmt.decode.translator import Translator
from mdnmt.models.batch import Batch
from mdnmt.models.context import Side
from mdnmt.tasks.data import Split, TaskData
from mdnmt.train.batches import Indices, collate, spread

BATCH_TOKENS = 2000
SIDES: tuple[Side, Side] = ("encoder", "decoder")


def analyse(translator: Translator, data: TaskData, config: AnalysisConfig, folder: Path) -> None:
    """Write meta.json, vectors.npz, sentences.json and proportions.npz to `folder`.

    proportions.npz has `encoder` and, where the decoder mixes, `decoder`: [L, N, K] for N words of the validation
    text, unsmoothed (as the authors' code plots them), with `encoder_domain` and `decoder_domain` [N]. A method
    without proportions has an empty file of them.
    """
    names = {"domains": list(data.domains), "source_lang": data.source_lang, "target_lang": data.target_lang}
    valid, test = data.split("valid"), data.split("test")
    with torch.inference_mode():
        words = _word_proportions(translator, valid, _some(valid, data, config.proportion_sentences))
        sentences = [_sentence(translator, data, valid, row) for row in _some(valid, data, config.sample_sentences)]
        vectors, labels = _vectors(translator, test, _some(test, data, config.vector_sentences))
    _write_npz(folder / "proportions.npz", words)
    _write_npz(folder / "vectors.npz", {"vectors": vectors, "domain": labels})
    fsio.write_json(folder / "sentences.json", sentences)
    fsio.write_json(folder / "meta.json", names)


def _some(split: Split, data: TaskData, count: int) -> Indices:
    """Return `count` sentences of each domain, spread over the split."""
    rows = [spread(np.flatnonzero(split.domains == label), count) for label in range(len(data.domains))]
    chosen: Indices = np.concatenate(rows).astype(np.int64)
    return chosen


def _batches(translator: Translator, split: Split, rows: Indices) -> Iterator[tuple[Indices, Batch]]:
    lengths = np.maximum(split.source.lengths, split.target.lengths)[rows].tolist()
    for numbers in length_batches(lengths, BATCH_TOKENS):
        chosen = rows[numbers]
        yield chosen, collate(split, chosen, bos=translator.target_vocab.bos).to(translator.device)


def _layers(logits: list[Tensor]) -> NDArray[np.float32]:
    """Return the unsmoothed proportions [L, B, T, K] of one side."""
    return torch.stack([layer.softmax(-1) for layer in logits]).float().cpu().numpy()


def _word_proportions(translator: Translator, split: Split, rows: Indices) -> dict[str, NDArray[Any]]:
    found: dict[str, list[NDArray[Any]]] = {}
    for chosen, batch in _batches(translator, split, rows):
        context = translator.model(batch).context
        sides: tuple[tuple[Side, Tensor], ...] = (
            ("encoder", batch.source_mask_BS),
            ("decoder", batch.target_mask_BT),
        )
        for side, mask_BT in sides:
            if logits := context.recorded("proportion", side):
                real = mask_BT.cpu().numpy()
                found.setdefault(side, []).append(_layers(logits)[:, real])
                labels = np.broadcast_to(split.domains[chosen][:, None], real.shape)[real]
                found.setdefault(f"{side}_domain", []).append(labels.astype(np.int64))
    return {name: np.concatenate(parts, axis=-2 if parts[0].ndim == 3 else 0) for name, parts in found.items()}


def _sentence(translator: Translator, data: TaskData, split: Split, row: int) -> dict[str, Any]:
    batch = collate(split, np.array([row]), bos=translator.target_vocab.bos).to(translator.device)
    context = translator.model(batch).context
    layers = {side: context.recorded("proportion", side) for side in SIDES}
    decoder_words = ["<s>", *data.target_vocab.decode(split.target[row].tolist())]
    return {
        "domain": data.domains[int(split.domains[row])],
        "source_tokens": [*data.source_vocab.decode(split.source[row].tolist()), "</s>"],
        "target_tokens": decoder_words,
        "encoder": _layers(layers["encoder"])[:, 0].tolist() if layers["encoder"] else None,
        "decoder": _layers(layers["decoder"])[:, 0].tolist() if layers["decoder"] else None,
    }


def _vectors(translator: Translator, split: Split, rows: Indices) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the mean encoder state of each sentence, [N, D], and its domain label, [N]."""
    vectors, labels = [], []
    for chosen, batch in _batches(translator, split, rows):
        state = translator.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        mask_BS1 = state.memory.mask_B11S[:, 0, 0].unsqueeze(-1)
        mean_BD = (state.memory.output_BSD * mask_BS1).sum(1) / mask_BS1.sum(1)
        vectors.append(mean_BD.float().cpu().numpy())
        labels.append(split.domains[chosen].astype(np.int64))
    return np.concatenate(vectors), np.concatenate(labels)


def _write_npz(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    fsio.write_bytes(path, buffer.getvalue())
