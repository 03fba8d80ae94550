"""The pool of a domain: the pairs that its cleaning keeps, from which is drawn and on which is trained."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.tasks.clean import Sides, lengths_of, make_pair, why_dropped
from mdnmt.tasks.form import Form
from mdnmt.tasks.pair_text import LINES_PER_CHUNK, PairText, Part, block_of, write_pairs
from mdnmt.tasks.repeats import Digests, Repeats, pair_digests
from mdnmt.tasks.workers import Map


@dataclass
class Pool:
    """Cleaned pairs on disk.

    Attributes:
        text: the pairs that are kept, in order.
        repeats: which of them are equal; None: no two are.
        read: how many there were.
        dropped: the numbers of the others by reason.
    """

    text: PairText
    repeats: Repeats | None
    read: int
    dropped: Counter[str]


def clean_text(
    raw: PairText,
    rules: CleaningConfig,
    sides: Sides,
    run: Map,
    path: Path,
    lines_per_chunk: int = LINES_PER_CHUNK,
) -> Pool:
    """Return the pairs that pass `rules`; of those that compare equal the first alone, unless the rules say otherwise.

    Args:
        raw: the segments as they stand.
        rules: what is kept.
        sides: languages and tokenizers.
        run: applies a function to jobs, in processes.
        path: the file that is written, without its suffix.
        lines_per_chunk: of what is written.
    """
    repeats = Repeats(path.with_name(f"{path.name}.digests"))
    dropped: Counter[str] = Counter()
    with write_pairs(path.with_name(f"{path.name}.pairs"), lines_per_chunk) as out:
        for block, digests, reasons in run(_clean_part, ((part, rules, sides) for part in raw.parts())):
            out.add(block, len(digests))
            repeats.add(digests)
            dropped.update(reasons)
    text = out.text()
    if rules.deduplicate:
        unique = text.only(repeats.first())
        repeats.remove()
        if len(unique) < len(text):
            dropped["duplicate"] = len(text) - len(unique)
        return Pool(unique, None, len(raw), dropped)
    return Pool(text, repeats, len(raw), dropped)


def _clean_part(job: tuple[Part, CleaningConfig, Sides]) -> tuple[bytes, Digests, Counter[str]]:
    """Return the lines that are kept, what tells them apart, and why the others are not: one job of a process."""
    part, rules, sides = job
    form, kept = Form.by(rules), []
    dropped: Counter[str] = Counter()
    pairs = [make_pair(source, target, form, sides) for source, target in part.pairs()]
    lengths = [None] * len(pairs) if rules.unit == "pieces" else lengths_of(pairs, rules.unit, sides)
    for pair, known in zip(pairs, lengths, strict=True):
        reason = why_dropped(pair, rules, sides, known)
        if reason is None:
            kept.append(pair)
        else:
            dropped[reason] += 1
    # What would be dropped as a duplicate compares equal; else pairs repeat each other when all of them is equal.
    digests = pair_digests(pair.forms if rules.deduplicate else pair[:2] for pair in kept)
    return block_of(pair[:2] for pair in kept), digests, dropped
