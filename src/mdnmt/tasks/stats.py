"""Statistics of a task: sentences, tokens, types, pieces and unknown words, by domain, split and side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mdnmt.tasks.encode import SIDES, Encoder, Tokenised, count_words
from mdnmt.tasks.vocab import Vocab


def side_stats(lines: Sequence[str], domain: str, side: str, encoder: Encoder) -> dict[str, Any]:
    """Return the statistics of tokenised lines.

    `oov_rate` is the share of tokens with a piece that is <unk>; `unseen_word_rate` the share of tokens whose word is
    not in the training text of this side (of any domain).
    """
    counts = count_words(lines)
    tokens = sum(counts.values())
    numbers, seen = encoder.numbers[domain, side], encoder.train_words[side]
    pieces = sum(count * len(numbers[word]) for word, count in counts.items())
    unknown = sum(count for word, count in counts.items() if Vocab.unk in numbers[word])
    unseen = sum(count for word, count in counts.items() if word not in seen)
    return {
        "tokens": tokens,
        "types": len(counts),
        "pieces": pieces,
        "pieces_per_token": round(pieces / tokens, 4),
        "oov_rate": round(unknown / tokens, 6),
        "unseen_word_rate": round(unseen / tokens, 6),
    }


def task_stats(
    tokenised: Tokenised, domains: Sequence[str], splits: Sequence[str], encoder: Encoder
) -> dict[str, dict[str, Any]]:
    """Return domain -> split -> sentences and the statistics of both sides."""
    return {
        domain: {
            split: {
                "sentences": len(tokenised[split, domain, "source"]),
                **{side: side_stats(tokenised[split, domain, side], domain, side, encoder) for side in SIDES},
            }
            for split in splits
        }
        for domain in domains
    }
