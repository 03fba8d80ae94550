"""Beam search of one sentence by its definition: no cache, no batch, every continuation written down and sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

PAD, BOS, EOS = 0, 1, 2

Found = tuple[tuple[int, ...], float]


def beam_search(
    log_probabilities: Callable[[tuple[int, ...]], Sequence[float]],
    *,
    beam_size: int,
    max_length: int,
    length_penalty: float,
    gnmt: bool = False,
) -> list[Found]:
    """Return (ids without <s> and </s>, log-probability / length penalty), best first.

    Args:
        log_probabilities: of the next word, given the words so far (without <s>).
        beam_size: W prefixes go on at each step; at most W hypotheses are returned.
        max_length: at this length, </s> counted, every prefix must end.
        length_penalty: the exponent alpha.
        gnmt: divide by (5 + length)^alpha / (5 + 1)^alpha (Wu et al. 2016, eq. 14) in place of length^alpha.
    """
    prefixes: list[Found] = [((), 0.0)]
    finished: list[Found] = []
    for length in range(1, max_length + 1):
        continuations = []
        for words, score in prefixes:
            for word, log_p in enumerate(log_probabilities(words)):
                if word in (PAD, BOS) or (length == max_length and word != EOS):
                    continue
                continuations.append((words, word, score + log_p))
        continuations.sort(key=lambda one: -one[2])
        best = continuations[: 2 * beam_size]
        for words, word, score in best[:beam_size]:
            if word == EOS and len(finished) < beam_size:
                power = length**length_penalty
                penalty = (5 + length) ** length_penalty / (5 + 1) ** length_penalty if gnmt else power
                finished.append((words, score / penalty))
        going_on = [((*words, word), score) for words, word, score in best if word != EOS]
        prefixes = going_on[:beam_size]
        if len(finished) == beam_size:
            break
    return sorted(finished, key=lambda one: -one[1])
