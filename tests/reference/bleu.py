"""Corpus BLEU by its definition (Papineni et al. 2002, sec. 2), unsmoothed, as Moses' multi-bleu counts it."""

from __future__ import annotations

import math

LONGEST = 4


def multi_bleu(hypotheses: list[str], references: list[str]) -> float:
    """Return 0 to 100 of lines whose words stand between blanks, one reference each."""
    hypothesis_words = reference_words = 0
    clipped = [0] * LONGEST
    total = [0] * LONGEST
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found, true = hypothesis.split(), reference.split()
        hypothesis_words += len(found)
        reference_words += len(true)
        for n in range(1, LONGEST + 1):
            there = [tuple(true[start : start + n]) for start in range(len(true) - n + 1)]
            for start in range(len(found) - n + 1):
                total[n - 1] += 1
                gram = tuple(found[start : start + n])
                if gram in there:  # Count_clip: each n-gram of the reference is used up by one of the hypothesis
                    there.remove(gram)
                    clipped[n - 1] += 1
    if min(clipped) == 0:
        return 0.0  # nothing is added to a count of 0: log p_n = -infinity
    log_precision = sum(math.log(clipped[n] / total[n]) / LONGEST for n in range(LONGEST))  # sum_n w_n log p_n
    log_brevity = min(0.0, 1.0 - reference_words / hypothesis_words)  # BP = exp(1 - r/c) where c <= r
    return 100 * math.exp(log_brevity + log_precision)
