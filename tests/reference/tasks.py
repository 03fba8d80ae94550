"""How a task's text is cleaned, divided and compared, as a slow reference that holds everything in memory.

Text is a list of (source, target); every list is gone through sentence by sentence.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Pair = tuple[str, str]
Sets = dict[str, dict[str, list[Pair]]]  # domain -> split -> pairs


@dataclass
class Domain:
    """A domain's raw text, what is wanted of it, and its rules."""

    raw: list[Pair]
    own: dict[str, list[Pair]] = field(default_factory=dict)
    wanted: dict[str, int | None] = field(default_factory=dict)
    every: int | None = None
    modulo: int | None = None
    seed: int = 1


def plain(text: str) -> str:
    """Return text in NFC with single blanks."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def form(text: str) -> str:
    """Return the form by which sentences compare: case does not matter."""
    return unicodedata.normalize("NFC", text.casefold())


def same(one: Pair, other: Pair) -> bool:
    return form(one[0]) == form(other[0]) and form(one[1]) == form(other[1])


def touches(pair: Pair, others: Sequence[Pair]) -> bool:
    """Say whether the source or the target of a pair is that of another."""
    return any(form(pair[0]) == form(other[0]) or form(pair[1]) == form(other[1]) for other in others)


def why_dropped(pair: Pair) -> str | None:
    """Return the reason of the recommended recipe."""
    lengths = sorted(len(side.split()) for side in pair)
    if not all(pair):
        return "empty"
    if lengths[1] > 100:
        return "too long"
    if lengths[1] > 4 * lengths[0]:
        return "length ratio"
    if form(pair[0]) == form(pair[1]):
        return "identical"
    if not all(any(character.isalpha() for character in side) for side in pair):
        return "no letter"
    return None


def cleaned(raw: Sequence[Pair], deduplicate: bool) -> tuple[list[Pair], dict[str, int]]:
    """Return the pairs that are kept, and the numbers of the others by reason."""
    kept: list[Pair] = []
    dropped: dict[str, int] = {}
    for source, target in raw:
        pair = plain(source), plain(target)
        reason = why_dropped(pair)
        if reason is None and deduplicate and any(same(pair, other) for other in kept):
            reason = "duplicate"
        if reason is None:
            kept.append(pair)
        else:
            dropped[reason] = dropped.get(reason, 0) + 1
    return kept, dropped


def drawn(pairs: Sequence[Pair], seed: int, domain: str, apart: bool = True) -> list[int]:
    """Return the places of pairs in the order of the draw, by a hash in which repetitions are counted where `apart`."""
    keys = []
    for place, pair in enumerate(pairs):
        again = sum(other == pair for other in pairs[:place])
        text = "\0".join([str(seed), domain, *pair, *([str(again)] if again and apart else [])])
        keys.append((hashlib.sha256(text.encode()).hexdigest(), place))
    return [place for _, place in sorted(keys)]


def settled(name: str, domain: Domain, deduplicate: bool) -> tuple[list[Pair], dict[str, list[Pair]]]:
    """Return the pool of a domain, and the held-out sets that its files or its rule give."""
    held = {}
    for split, pairs in domain.own.items():
        plain_pairs = [(plain(source), plain(target)) for source, target in pairs]
        held[split] = [pair for pair in plain_pairs if all(pair)]
    raw = domain.raw
    if domain.modulo:
        lines = list(enumerate(raw, start=1))
        held["valid"] = cleaned([pair for n, pair in lines if n % domain.modulo == 0], deduplicate)[0]
        test = [(plain(source), plain(target)) for n, (source, target) in lines if n % domain.modulo == 1]
        held["test"] = [pair for pair in test if all(pair)]
        first = domain.modulo - domain.modulo // 10
        raw = [pair for n, pair in lines if n % domain.modulo >= max(2, first)]
    pool = cleaned(raw, deduplicate)[0]
    if domain.every:
        held["valid"] = [pair for n, pair in enumerate(pool, start=1) if n % domain.every == 0]
        pool = [pair for n, pair in enumerate(pool, start=1) if n % domain.every]
    for split, pairs in held.items():
        wanted = domain.wanted[split]
        if len(pairs) < (wanted or 1):
            raise ValueError("too few")
        if wanted is not None:
            held[split] = [pairs[place] for place in sorted(drawn(pairs, domain.seed, name, False)[:wanted])]
    return pool, held


def splits(domains: Mapping[str, Domain], deduplicate: bool, remove: bool) -> tuple[Sets, dict[str, list[Pair]]]:
    """Return the splits of all domains, and each domain's pool without what was drawn.

    Raises:
        ValueError: there is not as much as is wanted.
    """
    pools, held = {}, {}
    for name, domain in domains.items():
        pools[name], held[name] = settled(name, domain, deduplicate)
    for name, domain in domains.items():
        order = drawn(pools[name], domain.seed, name)
        taken: list[int] = []
        for split in ("test", "valid"):
            if split in held[name]:
                continue
            chosen: list[int] = []
            while len(chosen) < (domain.wanted[split] or 0):
                if not order:
                    raise ValueError("too few")
                place = order.pop(0)
                known = [pair for sets in held.values() for pairs in sets.values() for pair in pairs]
                known += [pools[name][other] for other in chosen]
                if not (remove and touches(pools[name][place], known)):
                    chosen.append(place)
            held[name][split] = [pools[name][place] for place in sorted(chosen)]
            taken += chosen
        pools[name] = [pair for place, pair in enumerate(pools[name]) if place not in taken]
    everything = [pair for sets in held.values() for pairs in sets.values() for pair in pairs]
    found: Sets = {}
    for name, domain in domains.items():
        train = [pair for pair in pools[name] if not (remove and touches(pair, everything))]
        wanted = domain.wanted["train"]
        if wanted is not None:
            train = [train[place] for place in sorted(drawn(train, domain.seed, name)[:wanted])]
        if not train:
            raise ValueError("nothing left")
        found[name] = {"train": train, **held[name]}
    return found, pools


def leakage(found: Sets, pools: Mapping[str, list[Pair]], remove: bool) -> dict[str, dict[str, dict[str, object]]]:
    """Return the leakage table: domain -> held-out split -> what of all domains' training text is in it."""
    before = [pair for pool in pools.values() for pair in pool]
    after = [pair for sets in found.values() for pair in sets["train"]]
    table: dict[str, dict[str, dict[str, object]]] = {}
    for name, sets in found.items():
        table[name] = {}
        for split in ("valid", "test"):
            held = sets[split]
            removed = sum(touches(pair, held) for pair in before)
            table[name][split] = {
                "source": sum(any(form(pair[0]) == form(other[0]) for other in held) for pair in before),
                "target": sum(any(form(pair[1]) == form(other[1]) for other in held) for pair in before),
                "pair": sum(any(same(pair, other) for other in held) for pair in before),
                "exact": {
                    "source": sum(any(pair[0] == other[0] for other in held) for pair in before),
                    "target": sum(any(pair[1] == other[1] for other in held) for pair in before),
                    "pair": sum(pair in held for pair in before),
                },
                "removed": removed if remove else 0,
                "left": sum(touches(pair, held) for pair in after),
            }
    return table


def identity(pairs: Sequence[Pair]) -> str:
    """Return the hash of the sorted hashes of pairs."""
    digests = sorted(hashlib.sha256(f"{source}\t{target}".encode()).digest() for source, target in pairs)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]
