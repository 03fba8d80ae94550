"""Split: draw held-out sentences by a fixed seed and keep them out of all training text, by source and by target.

A pair's place in the draw is a hash of (seed, domain, pair), so the split depends neither on the order of the corpus
nor on any generator, and a pair that is added or removed moves no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mdnmt.errors import DataError
from mdnmt.tasks.clean import Pair

HELD_OUT = ("valid", "test")
SPLITS = ("train", *HELD_OUT)


@dataclass
class DomainText:
    """A domain's pairs: the pool from which is drawn, and the corpora's own held-out sets (None: there are none)."""

    name: str
    pool: list[Pair]
    wanted: dict[str, int | None]
    own: dict[str, list[Pair] | None] = field(default_factory=dict)


@dataclass
class DomainSplit:
    """A domain's pairs by split; `pool` is the training text before held-out sentences were removed from it."""

    name: str
    pool: list[Pair]
    splits: dict[str, list[Pair]]


def draw_order(pairs: Iterable[Pair], seed: int, domain: str) -> list[Pair]:
    """Return pairs in the order in which they are drawn."""

    def key(pair: Pair) -> tuple[bytes, str, str]:
        text = "\0".join((str(seed), domain, pair.source, pair.target))
        return hashlib.sha256(text.encode("utf-8")).digest(), pair.source, pair.target

    return sorted(pairs, key=key)


def split(domains: Sequence[DomainText], seed: int) -> list[DomainSplit]:
    """Return the splits of all domains of a task.

    No sentence that is held out in any domain is in the training text of any: neither the pair nor its source nor its
    target, compared in normalised, case-folded form. Sampled held-out sets share no sentence with each other either.

    Raises:
        DataError: a domain has fewer pairs than asked for, or none left to train on.
    """
    held = {domain.name: _own_sets(domain, seed) for domain in domains}
    sources = {pair.source_form for sets in held.values() for pairs in sets.values() for pair in pairs}
    targets = {pair.target_form for sets in held.values() for pairs in sets.values() for pair in pairs}
    drawn: dict[str, set[tuple[str, str]]] = {}
    for domain in domains:
        candidates = iter(draw_order(domain.pool, seed, domain.name))
        # Test first, so that another number of validation pairs leaves the test set as it is.
        for name in reversed(HELD_OUT):
            if name in held[domain.name]:
                continue
            wanted = domain.wanted[name]
            if wanted is None:
                raise DataError(f"domain {domain.name!r}: {name} is null, but no corpus brings its own; give a number")
            chosen: list[Pair] = []
            while len(chosen) < wanted and (pair := next(candidates, None)) is not None:
                if pair.source_form not in sources and pair.target_form not in targets:
                    chosen.append(pair)
                    sources.add(pair.source_form)
                    targets.add(pair.target_form)
            if len(chosen) < wanted:
                raise DataError(_too_few(domain, name, len(chosen), wanted))
            held[domain.name][name] = chosen
            drawn.setdefault(domain.name, set()).update(pair.forms for pair in chosen)
    return [
        _assemble(domain, held[domain.name], drawn.get(domain.name, set()), sources, targets, seed)
        for domain in domains
    ]


def _own_sets(domain: DomainText, seed: int) -> dict[str, list[Pair]]:
    """Return the held-out sets that the corpora bring along, cut to the number asked for."""
    sets: dict[str, list[Pair]] = {}
    for name in HELD_OUT:
        own, wanted = domain.own.get(name), domain.wanted[name]
        if own is None:
            continue
        if len(own) < (wanted or 1):
            raise DataError(_too_few(domain, name, len(own), wanted or 1))
        if wanted is not None:
            chosen = set(map(id, draw_order(own, seed, domain.name)[:wanted]))
            own = [pair for pair in own if id(pair) in chosen]
        sets[name] = own
    return sets


def _assemble(
    domain: DomainText,
    held: dict[str, list[Pair]],
    drawn: set[tuple[str, str]],
    sources: set[str],
    targets: set[str],
    seed: int,
) -> DomainSplit:
    """Return a domain's splits, each in the order of its corpus; `train` is what is left, cut to its number."""
    pool = [pair for pair in domain.pool if pair.forms not in drawn]
    train = [pair for pair in pool if pair.source_form not in sources and pair.target_form not in targets]
    wanted = domain.wanted["train"]
    if wanted is not None and len(train) > wanted:
        kept = {pair.forms for pair in draw_order(train, seed, domain.name)[:wanted]}
        train = [pair for pair in train if pair.forms in kept]
    if not train:
        raise DataError(
            f"domain {domain.name!r}: no training sentence is left of {len(domain.pool)} cleaned ones; "
            "ask for fewer held-out sentences, relax `cleaning`, or give it more text"
        )
    place = {pair.forms: index for index, pair in enumerate(domain.pool)}
    splits = {"train": train}
    for name in HELD_OUT:
        pairs = held[name]
        own = domain.own.get(name) is not None
        splits[name] = pairs if own else sorted(pairs, key=lambda pair: place[pair.forms])
    return DomainSplit(domain.name, pool, splits)


def _too_few(domain: DomainText, name: str, found: int, wanted: int) -> str:
    return (
        f"domain {domain.name!r}: {wanted} {name} sentences were asked for, {found} can be had of {len(domain.pool)} "
        "cleaned ones; lower the number, relax `cleaning`, or give it more text"
    )
