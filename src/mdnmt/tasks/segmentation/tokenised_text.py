"""Tokenise every split of a task, and count the words of its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdnmt.tasks.splits.split import SPLITS, DomainSplit
from mdnmt.tasks.text.clean import Sides
from mdnmt.tasks.text.pair_text import LINES_PER_CHUNK, ChunkSelection, PairText, block_of, write_pairs
from mdnmt.tasks.text.tokenise import tokenise_lines
from mdnmt.tasks.workers import ParallelMap

SIDES = ("source", "target")


@dataclass
class Tokenised:
    """The tokens of a task.

    Attributes:
        texts: (split, domain) -> pairs of lines, with tokens separated by spaces.
        counts: (split, domain, side) -> how often each word occurs.
    """

    texts: dict[tuple[str, str], PairText]
    counts: dict[tuple[str, str, str], Counter[str]]


def tokenise_splits(
    splits: Sequence[DomainSplit], sides: Sides, run: ParallelMap, scratch: Path, lines_per_chunk: int = LINES_PER_CHUNK
) -> Tokenised:
    """Return all splits of all domains as tokens.

    Args:
        splits: the text.
        sides: languages and tokenizers.
        run: applies a function to jobs, in processes.
        scratch: a folder for the tokens.
        lines_per_chunk: lines per chunk of the files.
    """
    found = Tokenised({}, {})
    for number, domain in enumerate(splits):
        for split in SPLITS:
            counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
            jobs = ((part, sides) for part in domain.splits[split].parts())
            with write_pairs(scratch / f"{number:03d}.{split}.tokens", lines_per_chunk) as out:
                for block, lines, words in run(_tokenise_part, jobs):
                    out.add(block, lines)
                    for count, more in zip(counts, words, strict=True):
                        count.update(more)
            found.texts[split, domain.name] = out.text()
            found.counts |= {(split, domain.name, side): count for side, count in zip(SIDES, counts, strict=True)}
    return found


def _tokenise_part(job: tuple[ChunkSelection, Sides]) -> tuple[bytes, int, list[dict[str, int]]]:
    """Tokenise a part; return its lines, their number, and the word counts of each side: one job of a process."""
    part, sides = job
    tokens = [tokenise_lines((*side, lines)) for side, lines in zip(sides, part.sides(), strict=True)]
    counts = [dict(count_words(lines)) for lines in tokens]
    return block_of(zip(*tokens, strict=True)), len(tokens[0]), counts


def count_words(lines: Sequence[str]) -> Counter[str]:
    """Return how often each word occurs in tokenised lines."""
    return Counter(" ".join(lines).split(" ") if lines else ())
