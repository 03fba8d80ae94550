"""Small texts on disk for the tests of tasks, each in a folder of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.tasks.domain_text import CleanedText, clean_text
from mdnmt.tasks.splits.split import DomainSplit, DomainText
from mdnmt.tasks.splits.split import split as split_domains
from mdnmt.tasks.text import pair_text
from mdnmt.tasks.text.clean import Pair, Side, as_pair
from mdnmt.tasks.text.pair_text import PairText, save_pairs
from mdnmt.tasks.workers import ParallelMap, in_this_process

_ROOT = tempfile.TemporaryDirectory()
_NUMBERS = count()


def fresh() -> Path:
    """Return a folder that is there for nobody else, and gone when the tests end."""
    folder = Path(_ROOT.name, f"{next(_NUMBERS)}")
    folder.mkdir()
    return folder


@contextmanager
def chunks_of(lines: int) -> Iterator[None]:
    """Let this process write and read text in chunks of so many lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_text, "LINES_PER_CHUNK", lines)
        yield


def on_disk(pairs: Iterable[tuple[str, str]], lines_per_chunk: int = 2000) -> PairText:
    with chunks_of(lines_per_chunk):
        return save_pairs(fresh() / "text", pairs)


def cleaned(
    raw: Iterable[tuple[str, str]],
    rules: CleaningConfig,
    run: ParallelMap = in_this_process,
    lines_per_chunk: int = 2000,
) -> CleanedText:
    with chunks_of(lines_per_chunk):
        return clean_text(on_disk(raw, lines_per_chunk), rules, (Side(), Side()), run, fresh() / "pool")


def fetched(
    root: Path, texts: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]], langs: tuple[str, str] = ("en", "fr")
) -> dict[str, CorpusConfig]:
    """Write a user's files, corpus -> split -> pairs, fetch them below `root` and return the corpora."""
    corpora = {}
    for name, splits in texts.items():
        (root / name).mkdir(exist_ok=True)
        for split, pairs in splits.items():
            for place, lang in enumerate(langs):
                text = "".join(f"{pair[place]}\n" for pair in pairs)
                (root / name / f"{split}.{lang}").write_text(text, encoding="utf-8", newline="\n")
        source = {"provider": "local", "folder": str(root / name)}
        value = {"title": name, "languages": langs, "source": source, "reader": {"name": "plain"}}
        corpora[name] = CorpusConfig.model_validate(value)
        fetch(fetch_spec(name, corpora[name], root / "hashes.json"), root / "fetched" / name)
    return corpora


def pairs_of(text: PairText) -> list[Pair]:
    return [as_pair(*pair) for pair in text]


def split(domains: list[DomainText], seed: int, remove_leaks: bool = True) -> list[DomainSplit]:
    return split_domains([replace(domain, seed=seed) for domain in domains], fresh(), remove_leaks)
