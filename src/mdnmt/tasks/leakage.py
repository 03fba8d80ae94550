"""Leakage: how many training sentences also occur held-out, before and after their removal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mdnmt.errors import DataError
from mdnmt.tasks.clean import Pair
from mdnmt.tasks.near import near_duplicates
from mdnmt.tasks.split import HELD_OUT, DomainSplit
from mdnmt.tasks.workers import Map, in_this_process

Key = TypeVar("Key", bound=Hashable)
_FORM: dict[str, Callable[[Pair], str]] = {
    "source": lambda pair: pair.source_form,
    "target": lambda pair: pair.target_form,
}


def leakage(
    domains: Sequence[DomainSplit],
    removed: bool = True,
    threshold: float | None = None,
    run: Map = in_this_process,
) -> dict[str, Any]:
    """Return the leakage table: for each domain's held-out set, the training sentences of all domains in it.

    `source`, `target`, `pair` count matches of the normalised, case-folded form, `exact` those of the text as it is;
    `removed` is what was taken out for it (source or target matches), `left` what was found afterwards by a second
    look at the final training text. `near` counts, by side, the held-out sentences to which a sentence of the final
    training text is as similar as `threshold`, equal ones included, and `by_train` gives the same a domain of the
    training text. Beside it, `valid_in_test` counts each domain's validation sentences that are, by source or target,
    also in a test set of the task: only a user's own files can have any, and none is removed.

    Args:
        domains: the splits.
        removed: whether leaks were removed from the training text.
        threshold: similarity of near-duplicates; None: none are looked for.
        run: applies a function to jobs, in processes.

    Raises:
        DataError: a held-out sentence is in training text from which it was removed (a bug that must never pass).
    """
    held = {(domain.name, name): domain.splits[name] for domain in domains for name in HELD_OUT}
    before = _count((pair for domain in domains for pair in domain.pool), held)
    after = _count((pair for domain in domains for pair in domain.splits["train"]), held)
    table: dict[str, Any] = {domain.name: {} for domain in domains}
    for (domain, name), counts in before.items():
        left = after[domain, name]["removed"]
        if removed and left:
            raise DataError(f"domain {domain!r}: {left} training sentences are in {name}")
        table[domain][name] = {**counts, "removed": counts["removed"] if removed else 0, "left": left}
    for side in _FORM if threshold is not None else ():
        for (held_domain, name, train_domain), count in _near(domains, side, threshold or 1.0, run).items():
            row = table[held_domain][name]
            near = row.setdefault("near", {})
            if train_domain is None:
                near[side] = count
            else:
                row.setdefault("by_train", {}).setdefault(train_domain, {})[side] = count
    test = {"test": [pair for domain in domains for pair in domain.splits["test"]]}
    overlaps = {domain.name: _count(domain.splits["valid"], test)["test"]["removed"] for domain in domains}
    return {"domains": table, "valid_in_test": overlaps, "near_duplicates": threshold}


def _near(
    domains: Sequence[DomainSplit], side: str, threshold: float, run: Map
) -> dict[tuple[str, str, str | None], int]:
    """Return (domain, split, training domain, or None for any) -> held-out sentences with a near-duplicate in it."""
    form = _FORM[side]
    held = [form(pair) for domain in domains for name in HELD_OUT for pair in domain.splits[name]]
    by_domain: dict[str, set[str]] = {}
    for domain in domains:
        train = (form(pair) for pair in domain.splits["train"])
        by_domain[domain.name] = set(near_duplicates(train, held, threshold, run))
    found: list[tuple[str | None, set[str]]] = [(None, set().union(*by_domain.values())), *by_domain.items()]
    return {
        (domain.name, name, train): sum(form(pair) in matched for pair in domain.splits[name])
        for domain in domains
        for name in HELD_OUT
        for train, matched in found
    }


def _count(train: Iterable[Pair], held: Mapping[Key, Sequence[Pair]]) -> dict[Key, dict[str, Any]]:
    """Return the matches of training pairs in each held-out set, by looking at every pair once."""
    names = ("source", "target", "pair")
    # What is compared -> the sets that hold it; a pair of strings is both sides.
    known: list[dict[Any, set[Key]]] = [{} for _ in range(6)]
    for key, pairs in held.items():
        for pair in pairs:
            for index, value in zip(known, _compared(pair), strict=True):
                index.setdefault(value, set()).add(key)
    nowhere: set[Key] = set()
    counts: dict[Key, dict[str, Any]] = {
        key: {**dict.fromkeys(names, 0), "exact": dict.fromkeys(names, 0), "removed": 0} for key in held
    }
    for pair in train:
        matches = [index.get(value, nowhere) for index, value in zip(known, _compared(pair), strict=True)]
        for name, match, equal in zip(names, matches[:3], matches[3:], strict=True):
            for key in match:
                counts[key][name] += 1
            for key in equal:
                counts[key]["exact"][name] += 1
        for key in matches[0] | matches[1]:
            counts[key]["removed"] += 1
    return counts


def _compared(pair: Pair) -> tuple[Any, ...]:
    return pair.source_form, pair.target_form, pair.forms, pair.source, pair.target, (pair.source, pair.target)
