"""A task of generated text, written as arrays: nothing but numpy and this package is needed, and no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdnmt import fsio
from mdnmt.fingerprint import sha256_file
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab

LANGS = ("en", "fr")
DOMAINS = ("economy", "law", "news", "talks")
SPREAD = 0.65  # standard deviation of the logarithm of the lengths in legal text


def write_task(
    folder: Path,
    *,
    pairs: dict[str, int],
    vocab_size: int,
    mean_length: float,
    domains: Sequence[str] = DOMAINS,
    spread: float = SPREAD,
    seed: int = 1,
) -> Path:
    """Write a task of pairs that a model can learn, and return its folder; one that is there is kept.

    Words are drawn as they are in text, few of them often. A word has one translation in every domain if its number is
    even, and one of its own in each if it is odd. Neighbours change places behind every third word.

    Args:
        folder: of the task.
        pairs: of each split, over all domains.
        vocab_size: of both languages.
        mean_length: the median length of a sentence.
        domains: names of the domains.
        spread: standard deviation of the logarithm of the lengths; 0: all are equal.
        seed: of the text.
    """
    if (folder / "task.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.Generator(np.random.PCG64(seed))
    words = vocab_size - len(SPECIALS)
    translations_KV = np.stack([generator.permutation(words) for _ in domains])
    translations_KV[:, ::2] = translations_KV[0, ::2]
    for split, count in pairs.items():
        labels = generator.integers(0, len(domains), count, dtype=np.int16)
        lengths = np.exp(generator.normal(np.log(mean_length), spread, count)).clip(2, 240).round(6).astype(np.int64)
        source = (words * generator.random(int(lengths.sum())) ** 3).astype(np.int64)
        target = translations_KV[np.repeat(labels, lengths), source]
        place = np.arange(len(source)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        moves = np.flatnonzero((place % 3 == 0) & (place + 1 < np.repeat(lengths, lengths)))
        target[moves], target[moves + 1] = target[moves + 1], target[moves].copy()
        for lang, flat in zip(LANGS, (source, target), strict=True):
            _write_side(folder / f"{split}.{lang}", flat + len(SPECIALS), lengths)
        np.save(folder / f"{split}.domains.npy", labels)
    for lang in LANGS:
        Vocab([*SPECIALS, *(f"w{number}" for number in range(words))]).save(folder / f"vocab.{lang}.txt")
    files = {
        path.name: {"size_bytes": path.stat().st_size, "sha256": sha256_file(path)}
        for path in sorted(folder.iterdir())
        if path.suffix in (".npy", ".txt")
    }
    manifest = {"name": "generated", "source_lang": LANGS[0], "target_lang": LANGS[1], "domains": list(domains)}
    fsio.write_sealed(folder / "task.json", {**manifest, "fingerprint": f"generated{seed}", "files": files})
    return folder


def _write_side(start: Path, flat: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
    """Write the sentences, each ended with </s>."""
    offsets = np.concatenate([[0], np.cumsum(lengths + 1)])
    tokens = np.full(int(offsets[-1]), Vocab.eos, dtype=np.int32)
    keep = np.ones(len(tokens), dtype=bool)
    keep[offsets[1:] - 1] = False
    tokens[keep] = flat
    np.save(Path(f"{start}.tokens.npy"), tokens)
    np.save(Path(f"{start}.offsets.npy"), offsets.astype(np.int64))
