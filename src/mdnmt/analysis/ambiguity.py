"""Measure accuracy, and proportions and gates in the encoder, for each kind of word of generated text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.analysis.word_records import Mean
from mdnmt.decode.translator import Translator
from mdnmt.models.context import DomainContext
from mdnmt.tasks.task_data import Indices, Split, TaskData
from mdnmt.train.batches import collate

BATCH_SENTENCES = 100


def right_words(
    kinds: Mapping[str, str], sources: Iterable[str], references: Iterable[str], hypotheses: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Count the source words of each kind, and those whose translation equals the reference's word at their position.

    Args:
        kinds: source word -> its kind (`mdnmt.corpora.generated.kinds`).
        sources: source sentences; word i is translated by word i of its reference.
        references: one per source sentence.
        hypotheses: one per source sentence.

    Raises:
        KeyError: a source word has no kind.
    """
    counts = {kind: {"words": 0, "right": 0} for kind in dict.fromkeys(kinds.values())}
    for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        expected, found = reference.split(), hypothesis.split()
        for place, word in enumerate(source.split()):
            count = counts[kinds[word]]
            count["words"] += 1
            count["right"] += found[place : place + 1] == [expected[place]]
    return counts


def decisions(translator: Translator, data: TaskData, kinds: Mapping[str, str], limit: int | None) -> dict[str, Any]:
    """Return the mean proportions and gates of the encoder's layers over the words of the test text.

    Args:
        translator: the run.
        data: its task.
        kinds: source word -> its kind; other tokens are left out.
        limit: use only this many first test sentences of each domain; None: all.

    Returns:
        `proportions`: kind of word -> proportion of the sentence's own domain [L]; empty if the method has none.
        `gates`: domain -> weights of the N experts [L][N]; empty if the method has no gates.
    """
    names = list(dict.fromkeys(kinds.values()))
    numbers = {word: names.index(kind) for word, kind in kinds.items()}
    kind_V = np.array([numbers.get(token, -1) for token in translator.source_vocab.tokens])
    split = data.split("test")
    shares: dict[str, Mean] = {}
    gates: dict[str, Mean] = {}
    with torch.inference_mode():
        for label, domain in enumerate(data.domains):
            rows = np.flatnonzero(split.domains == label)[:limit]
            for chosen in np.array_split(rows, -(-len(rows) // BATCH_SENTENCES)):
                context, source_BS = _run_model(translator, split, chosen)
                kind_BS = kind_V[source_BS]
                proportions = [logits.softmax(-1) for logits in context.recorded("proportion", "encoder")]
                for p_LBSK in _layers(proportions):
                    for number, kind in enumerate(names):
                        shares.setdefault(kind, Mean()).add(p_LBSK[:, kind_BS == number, label])
                # A gate that depends on the domain alone is [B, 1, N]: expand it to all tokens of a sentence.
                for g_LBSN in _layers([g.expand(*source_BS.shape, -1) for g in context.recorded("gate", "encoder")]):
                    gates.setdefault(domain, Mean()).add(g_LBSN[:, kind_BS >= 0])
    return {
        "proportions": {kind: mean.values() for kind, mean in shares.items()},
        "gates": {domain: mean.values() for domain, mean in gates.items()},
    }


def _run_model(translator: Translator, split: Split, rows: Indices) -> tuple[DomainContext, NDArray[np.int64]]:
    batch = collate(split, rows, bos=translator.target_vocab.bos).to(translator.device)
    return translator.model(batch).context, batch.source_BS.cpu().numpy()


def _layers(layers: Sequence[Tensor]) -> list[NDArray[np.float64]]:
    """Return the layers stacked into one array, in a list that is empty if there are no layers."""
    return [torch.stack(list(layers)).double().cpu().numpy()] if layers else []
