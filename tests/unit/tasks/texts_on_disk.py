"""Small texts on disk for the tests of tasks, each in a folder of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.tasks.domain_text import CleanedText, clean_text
from mdnmt.tasks.splits.split import DomainSplit, DomainText
from mdnmt.tasks.splits.split import split as split_domains
from mdnmt.tasks.text.clean import Pair, Side, as_pair
from mdnmt.tasks.text.pair_text import LINES_PER_CHUNK, PairText, save_pairs
from mdnmt.tasks.workers import ParallelMap, in_this_process

_ROOT = tempfile.TemporaryDirectory()
_NUMBERS = count()


def fresh() -> Path:
    """Return a folder that is there for nobody else, and gone when the tests end."""
    folder = Path(_ROOT.name, f"{next(_NUMBERS)}")
    folder.mkdir()
    return folder


def on_disk(pairs: Iterable[tuple[str, str]], lines_per_chunk: int = LINES_PER_CHUNK) -> PairText:
    return save_pairs(fresh() / "text", pairs, lines_per_chunk)


def cleaned(
    raw: Iterable[tuple[str, str]],
    rules: CleaningConfig,
    run: ParallelMap = in_this_process,
    lines_per_chunk: int = LINES_PER_CHUNK,
) -> CleanedText:
    text = on_disk(raw, lines_per_chunk)
    return clean_text(text, rules, (Side(), Side()), run, fresh() / "pool", lines_per_chunk)


def pairs_of(text: PairText) -> list[Pair]:
    return [as_pair(*pair) for pair in text]


def split(domains: list[DomainText], seed: int, remove_leaks: bool = True) -> list[DomainSplit]:
    return split_domains(domains, seed, fresh(), remove_leaks)
