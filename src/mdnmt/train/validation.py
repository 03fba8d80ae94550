"""What a model is worth on the validation data: loss, perplexity, token accuracy, and BLEU of greedy translations."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from mdnmt.config.decoding import Decoding
from mdnmt.config.training import Training
from mdnmt.decode.batches import length_batches, translate_ids
from mdnmt.models.transformer import Transformer
from mdnmt.tasks.data import Split, TaskData
from mdnmt.tasks.pieces import join_pieces
from mdnmt.train.batches import Indices, collate, spread

GREEDY = Decoding(beam_size=1, max_length_ratio=1.2, max_length_extra=10)


class Validation:
    """Measures a model on the validation sentences of the run's domains."""

    def __init__(self, data: TaskData, domains: tuple[str, ...], recipe: Training, label_smoothing: float) -> None:
        self.data, self.domains, self.recipe, self.label_smoothing = data, domains, recipe, label_smoothing
        self.split: Split = data.split("valid")
        self.rows: dict[str, Indices] = {
            domain: np.flatnonzero(self.split.domains == data.domains.index(domain)).astype(np.int64)
            for domain in domains
        }

    def __call__(
        self, model: Transformer, device: torch.device, dtype: torch.dtype | None
    ) -> dict[str, dict[str, float]]:
        """Return the measures of each domain, and under "all" those of all words (BLEU: the mean over domains)."""
        was_training = model.training
        model.eval()
        with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=dtype is not None):
            sums = {domain: self._sums(model, self.rows[domain], device) for domain in self.domains}
            bleus = {domain: self._bleu(model, self.rows[domain], device) for domain in self.domains}
        model.train(was_training)
        measures = {domain: _measures(sums[domain], self.label_smoothing) for domain in self.domains}
        measures["all"] = _measures(np.sum(list(sums.values()), axis=0), self.label_smoothing)
        if self.recipe.validation_bleu_sentences:
            for domain in self.domains:
                measures[domain]["bleu"] = bleus[domain]
            measures["all"]["bleu"] = sum(bleus.values()) / len(bleus)
        return measures

    def _batches(self, rows: Indices) -> Iterator[Indices]:
        longer = np.maximum(self.split.source.lengths[rows], self.split.target.lengths[rows])
        for numbers in length_batches(longer, self.recipe.max_tokens):
            yield rows[numbers]

    def _sums(self, model: Transformer, rows: Indices, device: torch.device) -> NDArray[np.float64]:
        """Return words, NLL, loss over the whole vocabulary and right words, summed over the sentences."""
        sums = np.zeros(4)
        for indices in self._batches(rows):
            batch = collate(self.split, indices, bos=self.data.target_vocab.bos).to(device)
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
        hypotheses = [join_pieces(vocab.decode(best[0].ids)) for best in found]
        references = [join_pieces(vocab.decode(self.split.target[int(row)].tolist())) for row in chosen]
        # On tokenised text: a curve to watch, not a score to report, and it needs no detokeniser.
        return float(BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score)


def _measures(sums: NDArray[np.float64], label_smoothing: float) -> dict[str, float]:
    words, nll, uniform, right = sums.tolist()
    per_word = nll / words
    return {
        "loss": ((1.0 - label_smoothing) * nll + label_smoothing * uniform) / words,
        "nll": per_word,
        "ppl": math.exp(min(per_word, 700.0)),
        "accuracy": right / words,
    }
