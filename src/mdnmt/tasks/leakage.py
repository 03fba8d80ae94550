"""Leakage: how many training sentences also occur held-out, before and after their removal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mdnmt.errors import DataError
from mdnmt.tasks.clean import Pair
from mdnmt.tasks.split import HELD_OUT, DomainSplit


def leakage(domains: Sequence[DomainSplit]) -> dict[str, Any]:
    """Return the leakage table: for each domain's held-out set, the training sentences of all domains in it.

    `source`, `target`, `pair` count matches of the normalised, case-folded form, `exact` those of the text as it is;
    `removed` is what was taken out for it (source or target matches), `left` what was found afterwards by a second
    look at the final training text. Beside it, `valid_in_test` counts each domain's validation sentences that are, by
    source or target, also in a test set of the task: only a user's own files can have any, and none is removed.

    Raises:
        DataError: a held-out sentence is in the final training text (a bug, but one that must never pass).
    """
    table: dict[str, Any] = {}
    for domain in domains:
        table[domain.name] = {}
        for name in HELD_OUT:
            held = domain.splits[name]
            before = _count((pair for other in domains for pair in other.pool), held)
            after = _count((pair for other in domains for pair in other.splits["train"]), held)
            if after["removed"]:
                raise DataError(f"domain {domain.name!r}: {after['removed']} training sentences are in {name}")
            table[domain.name][name] = {**before, "left": after["removed"]}
    test = [pair for domain in domains for pair in domain.splits["test"]]
    overlaps = {domain.name: _count(domain.splits["valid"], test)["removed"] for domain in domains}
    return {"domains": table, "valid_in_test": overlaps}


def _count(train: Iterable[Pair], held: Sequence[Pair]) -> dict[str, Any]:
    forms = ({pair.source_form for pair in held}, {pair.target_form for pair in held}, {pair.forms for pair in held})
    texts = ({pair.source for pair in held}, {pair.target for pair in held}, {(p.source, p.target) for p in held})
    names = ("source", "target", "pair")
    counts, exact, removed = dict.fromkeys(names, 0), dict.fromkeys(names, 0), 0
    for pair in train:
        matches = pair.source_form in forms[0], pair.target_form in forms[1], pair.forms in forms[2]
        same = pair.source in texts[0], pair.target in texts[1], (pair.source, pair.target) in texts[2]
        for name, match, equal in zip(names, matches, same, strict=True):
            counts[name] += match
            exact[name] += equal
        removed += matches[0] or matches[1]
    return {**counts, "exact": exact, "removed": removed}
