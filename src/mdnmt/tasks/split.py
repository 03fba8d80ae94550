"""Split: draw held-out sentences by a fixed seed and keep them out of all training text, by source and by target.

A pair's place in the draw is a hash of (seed, domain, pair), so the split depends neither on the order of the corpus
nor on any generator, and a pair that is added or removed moves no other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mdnmt.errors import DataError
from mdnmt.tasks.clean import Pair

HELD_OUT = ("valid", "test")
SPLITS = ("train", *HELD_OUT)


@dataclass
class DomainText:
    """A domain's pairs: the pool from which is drawn, and held-out sets that are settled already.

    Attributes:
        name: the domain's name.
        pool: the pairs from which is drawn, and trained on.
        wanted: how many of each split; None: all.
        own: held-out sets that the corpora bring, or the rule of the split gives (None, or no entry: there are none).
    """

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


def by_modulo(raw: Iterable[tuple[str, str]], modulo: int) -> dict[str, list[tuple[str, str]]]:
    """Return the lines by split, after the remainder of their number, counted from 1.

    0 is validation, 1 is test, the last tenth of the remainders is training text, the others are left out: with 100
    the split of Jiang et al. (2020) for News.
    """
    first = modulo - modulo // 10
    lines: dict[str, list[tuple[str, str]]] = {name: [] for name in SPLITS}
    for number, pair in enumerate(raw, start=1):
        rest = number % modulo
        if rest < 2:
            lines[HELD_OUT[rest]].append(pair)
        elif rest >= first:
            lines["train"].append(pair)
    return lines


def draw_order(pairs: Sequence[Pair], seed: int, domain: str, apart: bool = True) -> list[int]:
    """Return the places of pairs in the order in which they are drawn, equal ones `apart` from each other or not."""
    met: Counter[tuple[str, str]] = Counter()
    keys: list[tuple[bytes, str, str]] = []
    for pair in pairs:
        again = met[pair.source, pair.target]
        met[pair.source, pair.target] += 1
        text = "\0".join((str(seed), domain, pair.source, pair.target, *([str(again)] if again and apart else [])))
        keys.append((hashlib.sha256(text.encode("utf-8")).digest(), pair.source, pair.target))
    return sorted(range(len(keys)), key=keys.__getitem__)


def split(
    domains: Sequence[DomainText], seeds: Mapping[str, int] | int, remove_leaks: bool = True
) -> list[DomainSplit]:
    """Return the splits of all domains of a task.

    With `remove_leaks`, no sentence that is held out in any domain is in the training text of any: neither the pair
    nor its source nor its target, compared in normalised, case-folded form. Sampled held-out sets share no sentence
    with each other either. Without, a pair is in one split, and its repetitions may be in another.

    Args:
        domains: their text.
        seeds: of the draws, by domain or of all.
        remove_leaks: take out of the training text what is held out somewhere.

    Raises:
        DataError: a domain has fewer pairs than asked for, or none left to train on.
    """
    seed_of = {one.name: seeds if isinstance(seeds, int) else seeds[one.name] for one in domains}
    held = {domain.name: _own_sets(domain, seed_of[domain.name]) for domain in domains}
    sources = {pair.source_form for sets in held.values() for pairs in sets.values() for pair in pairs}
    targets = {pair.target_form for sets in held.values() for pairs in sets.values() for pair in pairs}
    drawn: dict[str, set[int]] = {}
    for domain in domains:
        drawn[domain.name] = set()
        missing = [name for name in reversed(HELD_OUT) if name not in held[domain.name]]
        candidates = iter(draw_order(domain.pool, seed_of[domain.name], domain.name) if missing else [])
        # Test first, so that another number of validation pairs leaves the test set as it is.
        for name in missing:
            wanted = domain.wanted[name]
            if wanted is None:
                raise DataError(f"domain {domain.name!r}: {name} is null, but no corpus brings its own; give a number")
            chosen: list[int] = []
            while len(chosen) < wanted and (place := next(candidates, None)) is not None:
                pair = domain.pool[place]
                if not remove_leaks or (pair.source_form not in sources and pair.target_form not in targets):
                    chosen.append(place)
                    sources.add(pair.source_form)
                    targets.add(pair.target_form)
            if len(chosen) < wanted:
                raise DataError(_too_few(domain, name, len(chosen), wanted))
            held[domain.name][name] = [domain.pool[place] for place in sorted(chosen)]
            drawn[domain.name].update(chosen)
    known = (sources, targets) if remove_leaks else (set[str](), set[str]())
    return [_assemble(domain, held[domain.name], drawn[domain.name], known, seed_of[domain.name]) for domain in domains]


def _own_sets(domain: DomainText, seed: int) -> dict[str, list[Pair]]:
    """Return the held-out sets that are settled already, cut to the number asked for."""
    sets: dict[str, list[Pair]] = {}
    for name in HELD_OUT:
        own, wanted = domain.own.get(name), domain.wanted[name]
        if own is None:
            continue
        if len(own) < (wanted or 1):
            raise DataError(_too_few(domain, name, len(own), wanted or 1))
        if wanted is not None:
            own = [own[place] for place in sorted(draw_order(own, seed, domain.name, apart=False)[:wanted])]
        sets[name] = own
    return sets


def _assemble(
    domain: DomainText,
    held: dict[str, list[Pair]],
    drawn: set[int],
    known: tuple[set[str], set[str]],
    seed: int,
) -> DomainSplit:
    """Return a domain's splits, each in the order of its corpus; `train` is what is left, cut to its number."""
    sources, targets = known
    pool = [pair for place, pair in enumerate(domain.pool) if place not in drawn]
    train = [pair for pair in pool if pair.source_form not in sources and pair.target_form not in targets]
    wanted = domain.wanted["train"]
    if wanted is not None and len(train) > wanted:
        train = [train[place] for place in sorted(draw_order(train, seed, domain.name)[:wanted])]
    if not train:
        raise DataError(
            f"domain {domain.name!r}: no training sentence is left of {len(domain.pool)} cleaned ones; "
            "ask for fewer held-out sentences, relax `cleaning`, or give it more text"
        )
    return DomainSplit(domain.name, pool, {"train": train, **{name: held[name] for name in HELD_OUT}})


def _too_few(domain: DomainText, name: str, found: int, wanted: int) -> str:
    return (
        f"domain {domain.name!r}: {wanted} {name} sentences were asked for, {found} can be had of {len(domain.pool)} "
        "cleaned ones; lower the number, relax `cleaning`, or give it more text"
    )
