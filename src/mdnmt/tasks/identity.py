"""The identity of a split: a hash that says whether two tasks hold the same sentences, in whatever order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from mdnmt.tasks.clean import Pair
from mdnmt.tasks.split import SPLITS, DomainSplit


def split_hashes(domains: Sequence[DomainSplit]) -> dict[str, dict[str, str]]:
    """Return split -> domain -> the 16 hexadecimal digits of its sentences."""
    return {name: {domain.name: _hash(domain.splits[name]) for domain in domains} for name in SPLITS}


def _hash(pairs: Iterable[Pair]) -> str:
    lines = sorted(hashlib.sha256(f"{pair.source}\t{pair.target}".encode()).digest() for pair in pairs)
    return hashlib.sha256(b"".join(lines)).hexdigest()[:16]
