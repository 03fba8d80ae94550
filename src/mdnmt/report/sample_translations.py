"""Choose the translations that are shown, by a fixed rule and not by their quality."""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from mdnmt.fsio import read_lines
from mdnmt.report.contents import ReportTask

PER_DOMAIN, SEED = 3, 1
MIN_WORDS, MAX_WORDS = 8, 25  # sentences of medium length


@dataclass(frozen=True)
class Sample:
    """A test sentence with its reference and each system's translation."""

    number: int  # line in the test set, from 1
    source: str
    reference: str
    outputs: list[tuple[str, str]]  # (system, hypothesis)


def length(text: str) -> int:
    """Return the number of words; Chinese has no spaces between words, so two characters count as one word."""
    return sum(max(1, sum(map(_is_wide, word)) // 2) for word in text.split())


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in {"W", "F"}


def choose(sources: list[str], domain: str) -> list[int]:
    """Return the positions to show, in order: a seeded draw among sentences of medium length.

    The draws of domains differ. If too few sentences are of medium length, all may be drawn.
    """
    fitting = [i for i, text in enumerate(sources) if MIN_WORDS <= length(text) <= MAX_WORDS]
    if len(fitting) < PER_DOMAIN:
        fitting = [i for i, text in enumerate(sources) if text.strip()]
    generator = random.Random(f"{SEED}:{domain}")
    return sorted(generator.sample(fitting, min(PER_DOMAIN, len(fitting))))


def _lines(path: Path) -> list[str] | None:
    return read_lines(path) if path.is_file() else None


def collect(task: ReportTask, domain: str) -> list[Sample]:
    """Return the samples of one domain; empty if its test set is missing.

    Only lines that every system has translated may be chosen; systems without hypotheses are left out.
    """
    text = task.directory / "text"
    sources = _lines(text / f"test.{domain}.{task.source_lang}")
    references = _lines(text / f"test.{domain}.{task.target_lang}")
    if sources is None or references is None:
        return []
    outputs = []
    for label, folder in task.systems:
        if found := _lines(folder / f"hyp.{domain}.txt"):
            outputs.append((label, found))
    if not outputs:
        return []
    common = min([len(sources), len(references), *(len(lines) for _, lines in outputs)])
    return [
        Sample(i + 1, sources[i], references[i], [(label, lines[i]) for label, lines in outputs])
        for i in choose(sources[:common], domain)
    ]
