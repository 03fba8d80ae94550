"""Leakage: how many training sentences also occur in held-out sets, before and after their removal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.errors import DataError
from mdnmt.tasks.splits.heldout_index import MATCHES, HeldOutIndex, HeldOutSets, count_matches
from mdnmt.tasks.splits.near_duplicates import similar_heldout
from mdnmt.tasks.splits.split import HELD_OUT, DomainSplit
from mdnmt.tasks.text.clean import as_pair
from mdnmt.tasks.workers import ParallelMap, in_this_process

_NAMES = MATCHES[:3]


def leakage(
    domains: Sequence[DomainSplit],
    removed: bool = True,
    threshold: float | None = None,
    run: ParallelMap = in_this_process,
) -> dict[str, Any]:
    """Return the leakage table: for each held-out set of a domain, how many training sentences of any domain are in it.

    `source`, `target` and `pair` count matches in the normalised, case-folded form, `exact` those of the text itself.
    `removed` counts the sentences that were removed (source or target matches), `left` those that a second search
    found in the final training text. `near` counts, by side, the held-out sentences to which a sentence of the final
    training text is at least as similar as `threshold`, equal ones included; `by_train` gives the same for each domain
    of the training text. `valid_in_test` counts each domain's validation sentences whose source or target is also in a
    test set of the task; none is removed. Sampled sets have no such sentences if leaks are removed.

    Args:
        domains: the splits.
        removed: whether leaks were removed from the training text.
        threshold: similarity of near-duplicates; None: do not search for them.
        run: applies a function to jobs, in processes.

    Raises:
        DataError: a held-out sentence is in the training text although leaks were removed (a bug).
    """
    sets = HeldOutSets.of({(domain.name, name): domain.splits[name] for domain in domains for name in HELD_OUT})
    before, after = _counts(domains, sets, run)
    table: dict[str, Any] = {domain.name: {} for domain in domains}
    for (domain, name), counts, left in zip(sets.keys, before.tolist(), after[:, -1].tolist(), strict=True):
        if removed and left:
            raise DataError(f"domain {domain!r}: {left} training sentences are in {name}")
        table[domain][name] = {
            **dict(zip(_NAMES, counts, strict=False)),
            "exact": dict(zip(_NAMES, counts[len(_NAMES) :], strict=False)),
            "removed": counts[-1] if removed else 0,
            "left": left,
        }
    for number, side in enumerate(_NAMES[:2]) if threshold is not None else ():
        _add_near(table, domains, sets, number, side, threshold or 1.0, run)
    return {"domains": table, "valid_in_test": _valid_in_test(domains), "near_duplicates": threshold}


def _counts(
    domains: Sequence[DomainSplit], sets: HeldOutSets, run: ParallelMap
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the matches [sets, MATCHES] of all pools, and of all training text."""
    jobs = (
        (part, domain.splits["train"].kept[part.first :][: part.chunk.lines], sets)
        for domain in domains
        for part in domain.pool.parts()
    )
    before, after = (np.zeros((len(sets.keys), len(MATCHES)), dtype=np.int64) for _ in range(2))
    for more_before, more_after in run(count_matches, jobs):
        before += more_before
        after += more_after
    return before, after


def _add_near(
    table: dict[str, Any],
    domains: Sequence[DomainSplit],
    sets: HeldOutSets,
    number: int,
    side: str,
    threshold: float,
    run: ParallelMap,
) -> None:
    """Add the near-duplicates of one side to the table."""
    forms = [[pair[2 + number] for pair in pairs] for pairs in sets.pairs()]
    by_domain = {
        domain.name: similar_heldout(domain.splits["train"], sets, number, threshold, run) for domain in domains
    }
    anywhere = set().union(*by_domain.values())
    for (domain, name), held in zip(sets.keys, forms, strict=True):
        row = table[domain][name]
        row.setdefault("near", {})[side] = sum(form in anywhere for form in held)
        for train, matched in by_domain.items():
            row.setdefault("by_train", {}).setdefault(train, {})[side] = sum(form in matched for form in held)


def _valid_in_test(domains: Sequence[DomainSplit]) -> dict[str, int]:
    tested = HeldOutIndex([(as_pair(*pair) for domain in domains for pair in domain.splits["test"])])
    return {domain.name: sum(tested.holds(as_pair(*p)) for p in domain.splits["valid"]) for domain in domains}
