"""The text of the corpora as it stands, copied from their archives into files that are read in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mdnmt.corpora.read import read_corpus
from mdnmt.corpora.spec import CorpusSpec
from mdnmt.tasks.pair_text import LINES_PER_CHUNK, PairText, save_pairs
from mdnmt.tasks.workers import Map

# Split -> text; `valid` and `test` only where the corpus brings its own.
RawText = dict[str, PairText]


class _Job(NamedTuple):
    spec: CorpusSpec
    folder: Path
    langs: tuple[str, str]
    out: Path
    lines_per_chunk: int


def raw_texts(
    specs: Sequence[CorpusSpec],
    corpora: Path,
    langs: tuple[str, str],
    out: Path,
    run: Map,
    lines_per_chunk: int = LINES_PER_CHUNK,
) -> Iterator[RawText]:
    """Yield the text of each corpus, several of them being read at a time.

    Args:
        specs: the corpora.
        corpora: the folder in which each has one of its own.
        langs: source and target language.
        out: a folder for the files.
        run: applies a function to jobs, in processes.
        lines_per_chunk: of the files.

    Raises:
        DataError: a corpus is missing or damaged.
    """
    jobs = (
        _Job(spec, corpora / spec.name, langs, out / f"{number:03d}", lines_per_chunk)
        for number, spec in enumerate(specs)
    )
    return run(_read, jobs)


def _read(job: _Job) -> RawText:
    with read_corpus(job.spec, job.folder, *job.langs) as text:
        streams = {"valid": text.valid, "test": text.test, "train": text.train}
        return {
            split: save_pairs(job.out / f"{split}.pairs", pairs, job.lines_per_chunk)
            for split, pairs in streams.items()
            if pairs is not None
        }
