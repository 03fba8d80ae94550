"""Analyse a finished run: proportions, domain attention and gates of its tokens, and vectors of sentences."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mdnmt import fsio
from mdnmt.analysis.word_records import MeanGates, WordRecords, shares
from mdnmt.config.study import AnalysisConfig
from mdnmt.decode.batching import length_batches
from mdnmt.decode.translator import Translator
from mdnmt.models.batch import Batch
from mdnmt.models.context import DomainContext, Side
from mdnmt.paths import RunPaths
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Indices, Ragged, Split, TaskData
from mdnmt.train.batches import collate, spread

BATCH_TOKENS = 2000
PLACES = 3  # decimals of stored values, well below the differences that claims are about; more would double the files


def analyse(
    translator: Translator,
    data: TaskData,
    config: AnalysisConfig,
    folder: Path,
    slots: Sequence[str] = (),
    made_from: Sequence[Path] = (),
    made_by: Mapping[str, Any] | None = None,
) -> None:
    """Write meta.json, sentences.json, proportions.npz, attention.npz, gates.json, lexicon.json and vectors.npz.

    proportions.npz has `encoder`, `memory` and `decoder`, for the sides on which the method mixes: [L, N, K] for N
    tokens of the validation text, without smoothing (as the authors' code plots them), and arrays about each token (see
    `WordRecords.arrays`). attention.npz has the same for domain attention over domain vectors. gates.json has the mean
    gates of each domain. lexicon.json has the training-text counts of the analysed words. Files about parts that a
    method lacks are empty. Values are rounded to `PLACES` decimals.

    Args:
        translator: the run.
        data: its task.
        config: numbers of sentences to analyse.
        folder: where the files are written.
        slots: names of the domain vectors, if training ties them to domains.
        made_from: files whose sha256 is recorded with the results: the run's run.json.
        made_by: the code and the packages that are recorded with the results.
    """
    names = {
        "domains": list(data.domains),
        "source_lang": data.source_lang,
        "target_lang": data.target_lang,
        "slots": list(slots),
    }
    valid, test = data.split("valid"), data.split("test")
    words: dict[str, dict[str, int]] = {"source": {}, "target": {}}
    proportions, attention, gates = WordRecords(data, words), WordRecords(data, words), MeanGates()
    with torch.inference_mode():
        for rows, batch in _batches(translator, valid, _sample(valid, data, config.proportion_sentences)):
            context = translator.model(batch).context
            proportions.add("proportion", context, batch, valid, rows)
            attention.add("domain_attention", context, batch, valid, rows)
            gates.add(context, batch, valid.domains[rows])
        sentences = [_sentence(translator, data, valid, row) for row in _sample(valid, data, config.sample_sentences)]
        vectors, labels = _vectors(translator, test, _sample(test, data, config.vector_sentences))
    lexicon = {text: training_counts(data, text, list(seen)) for text, seen in words.items() if seen}
    _write_npz(folder / "proportions.npz", proportions.arrays())
    _write_npz(folder / "attention.npz", attention.arrays())
    _write_npz(folder / "vectors.npz", {"vectors": vectors, "domain": labels})
    fsio.write_sealed(folder / "gates.json", gates.values(data.domains))
    _write_lines(folder / "lexicon.json", lexicon)
    _write_lines(folder / "sentences.json", sentences)
    fsio.write_sealed(folder / "meta.json", names)
    arrays = ("proportions.npz", "attention.npz", "vectors.npz")
    fsio.write_sums(folder, ["lexicon.json", "sentences.json", *arrays], made_from, made_by)


def tied_slots(run_folder: Path, data: TaskData) -> tuple[str, ...]:
    """Return the domains to which training tied the first domain vectors: all with guided learning, otherwise none.

    Without guided learning, no vector belongs to a domain.
    """
    architecture = fsio.read_json(RunPaths(run_folder).record)["spec"]["architecture"]
    return data.domains if architecture.get("guidance_weight") else ()


def _sample(split: Split, data: TaskData, count: int) -> Indices:
    """Return `count` sentences of each domain, evenly spaced over the split."""
    rows = [spread(np.flatnonzero(split.domains == label), count) for label in range(len(data.domains))]
    chosen: Indices = np.concatenate(rows).astype(np.int64)
    return chosen


def _batches(translator: Translator, split: Split, rows: Indices) -> Iterator[tuple[Indices, Batch]]:
    lengths = np.maximum(split.source.lengths, split.target.lengths)[rows].tolist()
    for numbers in length_batches(lengths, BATCH_TOKENS):
        chosen = rows[numbers]
        yield chosen, collate(split, chosen, bos=translator.target_vocab.bos).to(translator.device)


def _sentence(translator: Translator, data: TaskData, split: Split, row: int) -> dict[str, Any]:
    batch = collate(split, np.array([row]), bos=translator.target_vocab.bos).to(translator.device)
    context = translator.model(batch).context
    decoder_words = ["<s>", *data.target_vocab.decode(split.target[row].tolist())]
    return {
        "domain": data.domains[int(split.domains[row])],
        "source_tokens": [*data.source_vocab.decode(split.source[row].tolist()), "</s>"],
        "target_tokens": decoder_words,
        "encoder": _layers(context, "proportion", "encoder"),
        "decoder": _layers(context, "proportion", "decoder"),
        # From the encoder if it has domain attention, else from the encoder-decoder attention.
        "attention": _layers(context, "domain_attention", "encoder") or _layers(context, "domain_attention", "memory"),
    }


def _layers(context: DomainContext, kind: str, side: Side) -> list[Any] | None:
    """Return the shares [L][T][K] of one sentence, or None if the method has none."""
    logits = context.recorded(kind, side)
    found: list[Any] | None = shares(logits)[:, 0].astype(np.float64).round(PLACES).tolist() if logits else None
    return found


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


def training_counts(data: TaskData, text: str, words: Sequence[str]) -> dict[str, Any]:
    """Count words in the training text of each domain, with which figures compare proportions and gates.

    BPE tokens are joined into words first.

    Args:
        data: the task.
        text: `source` or `target`.
        words: the words to count.

    Returns:
        {"words": as given, "counts": [words][K], "totals": [K]}; the totals count all words of a domain.
    """
    split = data.split("train")
    side, vocab = (split.source, data.source_vocab) if text == "source" else (split.target, data.target_vocab)
    counts = [_counts(side, vocab, np.flatnonzero(split.domains == label)) for label in range(len(data.domains))]
    return {
        "words": list(words),
        "counts": [[domain[word] for domain in counts] for word in words],
        "totals": [domain.total() for domain in counts],
    }


def _counts(side: Ragged, vocab: Vocab, rows: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update(vocab.text(side[int(row)].tolist()).split(" "))
    found.pop("", None)
    return found


def _write_npz(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    buffer = io.BytesIO()
    rounded: dict[str, Any] = {name: values.round(PLACES) for name, values in arrays.items()}
    np.savez(buffer, **rounded)  # not compressed: the xz of a bundle packs raw arrays better
    fsio.write_bytes(path, buffer.getvalue())


def _write_lines(path: Path, value: Any) -> None:
    """Write JSON on one line; with indentation, every number would be on its own line."""
    fsio.write_text(path, json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n")
