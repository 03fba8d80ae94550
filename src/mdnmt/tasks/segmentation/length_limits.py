"""Apply length limits that are counted in BPE tokens to training and validation text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.errors import DataError
from mdnmt.tasks.segmentation.token_encoder import Encoder, word_table
from mdnmt.tasks.splits.split import DomainSplit
from mdnmt.tasks.task_spec import TaskSpec
from mdnmt.tasks.text.clean import why_length
from mdnmt.tasks.text.pair_text import ChunkSelection, LineMask, Tokenised
from mdnmt.tasks.workers import ParallelMap


def drop_by_pieces(
    spec: TaskSpec,
    splits: Sequence[DomainSplit],
    tokenised: Tokenised,
    encoder: Encoder,
    given: Collection[str],
    run: ParallelMap,
) -> dict[str, dict[str, int]]:
    """Drop pairs in place, for domains whose cleaning counts pieces; the codes are not learned again.

    Args:
        spec: the task.
        splits: the text by domain and split.
        tokenised: the same, as tokens.
        encoder: counts pieces.
        given: domains whose validation text comes from the corpora's own files and is not cleaned.
        run: applies a function to jobs, in processes.

    Returns:
        domain -> reason -> number of dropped pairs, for domains that lost any.

    Raises:
        DataError: a split has no pairs left.
    """
    report = {}
    for domain, found in zip(spec.domains, splits, strict=True):
        rules = spec.cleaning_of(domain)
        if not rules.limits_pieces:
            continue
        dropped: Counter[str] = Counter()
        for name in ("train",) if domain.name in given else ("train", "valid"):
            tokens = tokenised[name, domain.name]
            flags = []
            for kept, reasons in run(_within, ((part, encoder.both(domain.name), rules) for part in tokens.parts())):
                flags.append(kept)
                dropped.update(reasons)
            found.splits[name] = found.splits[name].select(flags)
            tokenised[name, domain.name] = tokens.select(flags)
            if not len(found.splits[name]):
                raise DataError(
                    f"domain {domain.name!r}: no {name} sentence is left of {len(tokens)} after the bounds on pieces; "
                    "relax `cleaning`"
                )
        if dropped:
            report[domain.name] = dict(dropped)
    return report


def _within(job: tuple[ChunkSelection, tuple[Path, Path], CleaningConfig]) -> tuple[LineMask, Counter[str]]:
    """Return which lines are within the limits, and why the others are not: one job of a worker process."""
    part, folders, rules = job
    lengths = []
    for folder, lines in zip(folders, part.sides(), strict=True):
        table = word_table(folder)
        lengths.append((table.line_lengths(table.indices(lines)) - 1).tolist())  # without </s>
    reasons = [_why(pair, rules) for pair in zip(*lengths, strict=True)]
    kept = np.array([reason is None for reason in reasons], dtype=np.bool_)
    return kept, Counter(reason for reason in reasons if reason is not None)


def _why(pieces: tuple[int, int], rules: CleaningConfig) -> str | None:
    if rules.max_pieces is not None and max(pieces) > rules.max_pieces:
        return "too many pieces"
    return why_length(pieces, rules) if rules.unit == "pieces" else None
