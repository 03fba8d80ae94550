"""Bounds on lengths in pieces of BPE: held against training and validation text when there are codes to count by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from mdnmt.errors import DataError
from mdnmt.tasks.clean import why_length
from mdnmt.tasks.encode import SIDES, Encoder
from mdnmt.tasks.spec import TaskSpec
from mdnmt.tasks.split import DomainSplit


def drop_by_pieces(
    spec: TaskSpec,
    splits: Sequence[DomainSplit],
    tokenised: dict[tuple[str, str, str], list[str]],
    encoder: Encoder,
    given: Collection[str],
) -> dict[str, dict[str, int]]:
    """Drop, in place, pairs of domains whose cleaning counts pieces; the codes stay those of all training text.

    Args:
        spec: the task.
        splits: the text by domain and split.
        tokenised: the same, as tokens.
        encoder: counts pieces.
        given: domains whose validation text the corpora brought, and so is not cleaned.

    Returns:
        domain -> reason -> dropped pairs, of domains that lost any.

    Raises:
        DataError: nothing of a split is left.
    """
    report = {}
    for domain, found in zip(spec.domains, splits, strict=True):
        rules = spec.cleaning_of(domain)
        if rules.unit != "pieces":
            continue
        dropped: Counter[str] = Counter()
        for name in ("train",) if domain.name in given else ("train", "valid"):
            keys = [(name, domain.name, side) for side in SIDES]
            lines = list(zip(*(tokenised[key] for key in keys), strict=True))
            kept = []
            for number, pair in enumerate(lines):
                source, target = (
                    encoder.length(line, domain.name, side) for line, side in zip(pair, SIDES, strict=True)
                )
                reason = why_length((source, target), rules)
                if reason is None:
                    kept.append(number)
                else:
                    dropped[reason] += 1
            if not kept:
                raise DataError(
                    f"domain {domain.name!r}: no {name} sentence is left of {len(lines)} after the bounds on pieces; "
                    "relax `cleaning`"
                )
            found.splits[name] = [found.splits[name][number] for number in kept]
            for place, key in enumerate(keys):
                tokenised[key] = [lines[number][place] for number in kept]
        if dropped:
            report[domain.name] = dict(dropped)
    return report
