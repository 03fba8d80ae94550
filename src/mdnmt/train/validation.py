"""Validation loss, perplexity, token accuracy and greedy BLEU; the same without BLEU on a sample of training text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from mdnmt.config.decoding import Decoding
from mdnmt.config.training import Training
from mdnmt.decode.batching import length_batches, translate_ids
from mdnmt.models.transformer import Transformer, TranslationModel
from mdnmt.tasks.task_data import Indices, Split, TaskData
from mdnmt.train.batches import collate, spread, usable

GREEDY = Decoding(beam_size=1, max_length_ratio=1.2, max_length_extra=10)
SAMPLE_SEED = 1  # not the run's seed, so that all methods and seeds are measured on the same sentences


def training_sample(split: Split, label: int, recipe: Training) -> Indices:
    """Return the training sentences of one domain on which accuracy and loss are measured, in ascending order.

    Args:
        split: training data.
        label: label of the domain.
        recipe: gives the largest number of sentences; pairs longer than its `max_length` are not drawn.
    """
    rows = usable(split, [label], recipe.max_length)
    if len(rows) > recipe.training_sample_sentences:
        generator = np.random.Generator(np.random.PCG64([SAMPLE_SEED, label]))
        rows = np.sort(generator.choice(rows, recipe.training_sample_sentences, replace=False))
    return rows


class Validation:
    """Measures a model on validation sentences of the run's domains, and on a sample of their training sentences."""

    def __init__(self, data: TaskData, domains: tuple[str, ...], recipe: Training, label_smoothing: float) -> None:
        self.data, self.domains, self.recipe, self.label_smoothing = data, domains, recipe, label_smoothing
        self.split: Split = data.split("valid")
        self.rows: dict[str, Indices] = {
            domain: np.flatnonzero(self.split.domains == data.domains.index(domain)).astype(np.int64)
            for domain in domains
        }
        self.training_split: Split = data.split("train")
        self.training_rows: dict[str, Indices] = {
            domain: training_sample(self.training_split, data.domains.index(domain), recipe) for domain in domains
        }

    def __call__(
        self, model: TranslationModel, device: torch.device, dtype: torch.dtype | None
    ) -> dict[str, dict[str, float]]:
        """Return the measures of each domain, and under "all" those over all tokens (BLEU: the mean over domains)."""
        with _evaluating(model, device, dtype):
            measures = self._measures(model, self.split, self.rows, device)
            if isinstance(model, Transformer) and self.recipe.validation_bleu_sentences:
                bleus = {domain: self._bleu(model, self.rows[domain], device) for domain in self.domains}
                for domain, bleu in (*bleus.items(), ("all", sum(bleus.values()) / len(bleus))):
                    measures[domain]["bleu"] = bleu
        return measures

    def on_training_text(
        self, model: TranslationModel, device: torch.device, dtype: torch.dtype | None
    ) -> dict[str, dict[str, float]]:
        """Return loss, NLL, perplexity and accuracy on the training sample, without dropout; empty without a sample."""
        if not (some := {domain: rows for domain, rows in self.training_rows.items() if len(rows)}):
            return {}
        with _evaluating(model, device, dtype):
            return self._measures(model, self.training_split, some, device)

    def _measures(
        self, model: TranslationModel, split: Split, rows: dict[str, Indices], device: torch.device
    ) -> dict[str, dict[str, float]]:
        sums = {domain: self._sums(model, split, of_domain, device) for domain, of_domain in rows.items()}
        sums["all"] = np.sum(list(sums.values()), axis=0)
        return {domain: _measures(of_domain, self.label_smoothing) for domain, of_domain in sums.items()}

    def _sums(self, model: TranslationModel, split: Split, rows: Indices, device: torch.device) -> NDArray[np.float64]:
        """Return [4], summed over the sentences: tokens, NLL, cross-entropy with uniform labels, correct tokens."""
        sums = np.zeros(4)
        longer = np.maximum(split.source.lengths[rows], split.target.lengths[rows])
        for numbers in length_batches(longer, self.recipe.max_tokens):
            batch = collate(split, rows[numbers], bos=self.data.target_vocab.bos).to(device)
            log_p_NV = model(batch).logits().float().log_softmax(-1)
            nll = F.nll_loss(log_p_NV, batch.label_N, reduction="sum")
            uniform = -log_p_NV.mean(-1).sum()
            right = (log_p_NV.argmax(-1) == batch.label_N).sum()
            sums += [batch.num_target_tokens, nll.item(), uniform.item(), right.item()]
        return sums

    def _bleu(self, model: Transformer, rows: Indices, device: torch.device) -> float:
        chosen = spread(rows, self.recipe.validation_bleu_sentences)
        if not len(chosen):
            return 0.0
        sources = [self.split.source[int(row)] for row in chosen]
        labels = torch.from_numpy(self.split.domains[chosen].astype(np.int64))
        vocab = self.data.target_vocab
        found = translate_ids(model, sources, GREEDY, device=device, domains=labels)
        hypotheses = [vocab.text(best[0].ids) for best in found]
        references = [vocab.text(self.split.target[int(row)].tolist()) for row in chosen]
        # On tokenised text, which needs no detokeniser: a curve to watch, not a score to report.
        return float(BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score)


@contextmanager
def _evaluating(model: TranslationModel, device: torch.device, dtype: torch.dtype | None) -> Iterator[None]:
    was_training = model.training
    model.eval()
    with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=dtype is not None):
        yield
    model.train(was_training)


def _measures(sums: NDArray[np.float64], label_smoothing: float) -> dict[str, float]:
    words, nll, uniform, right = sums.tolist()
    per_word = nll / words
    return {
        "loss": ((1.0 - label_smoothing) * nll + label_smoothing * uniform) / words,
        "nll": per_word,
        "ppl": math.exp(min(per_word, 700.0)),
        "accuracy": right / words,
    }
