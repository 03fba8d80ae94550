"""Tokenise text, and count its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mdnmt.tasks.text.clean import Sides
from mdnmt.tasks.text.pair_text import Block, ChunkSelection, PairText, block_of, write_pairs
from mdnmt.tasks.text.tokenise import tokenise_lines
from mdnmt.tasks.workers import ParallelMap

Tokenised = dict[tuple[str, str], PairText]  # (split, domain) -> pairs of lines, with tokens separated by spaces


def tokenise_texts(
    texts: Mapping[str, PairText], sides: Sides, run: ParallelMap, folder: Path
) -> Iterator[tuple[str, tuple[Counter[str], Counter[str]]]]:
    """Write each text as tokens, separated by spaces, and yield its name and how often each word of its sides occurs.

    Args:
        texts: name -> text.
        sides: languages and tokenizers.
        run: applies a function to jobs, in processes.
        folder: in which `<name>.<lang>` is written.
    """
    for name, text in texts.items():
        counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        jobs = ((part, sides) for part in text.parts())
        with write_pairs(folder / name, (sides[0].lang, sides[1].lang)) as out:
            for block, lines, words in run(_tokenise_part, jobs):
                out.add(block, lines)
                for count, more in zip(counts, words, strict=True):
                    count.update(more)
        yield name, counts


def _tokenise_part(job: tuple[ChunkSelection, Sides]) -> tuple[Block, int, list[dict[str, int]]]:
    """Tokenise a part; return its lines, their number, and the word counts of each side: one job of a process."""
    part, sides = job
    tokens = [tokenise_lines((*side, lines)) for side, lines in zip(sides, part.sides(), strict=True)]
    counts = [dict(count_words(lines)) for lines in tokens]
    return block_of(zip(*tokens, strict=True)), len(tokens[0]), counts


def count_words(lines: Sequence[str]) -> Counter[str]:
    """Return how often each word occurs in tokenised lines."""
    return Counter(" ".join(lines).split(" ") if lines else ())
