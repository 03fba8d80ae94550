"""Split a task: choose the held-out pairs and remove them, by source and by target, from all training text.

Pairs are sampled by a hash of the seed, the domain and the pair, so a sample depends neither on the order of the
corpus nor on a random generator, and adding or removing a pair does not change the rank of any other. Equal pairs are
distinguished by how many equal ones come before them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdnmt.errors import DataError
from mdnmt.tasks.splits.heldout_index import HeldOutSets, leaking_lines
from mdnmt.tasks.splits.near_duplicates import lines_like_heldout
from mdnmt.tasks.text.clean import Pair, as_pair
from mdnmt.tasks.text.duplicates import DuplicateIndex
from mdnmt.tasks.text.pair_text import ChunkSelection, LineMask, PairText, save_pairs
from mdnmt.tasks.workers import ParallelMap, in_this_process

_KEY = np.dtype("S32")
_SORTED_TOGETHER = 10_000
Keys = NDArray[np.bytes_]
Numbers = NDArray[np.int64]


def draw_keys(job: tuple[ChunkSelection, NDArray[np.uint32] | None, str]) -> Keys:
    """Return the sampling keys of (lines, number of equal lines before each, seed and domain): one job of a process."""
    part, before, start = job
    prefix = start.encode() + b"\0"
    texts = [prefix + line.replace(b"\t", b"\0") for line in part.lines()]
    if before is not None:
        for place in np.flatnonzero(before):
            texts[place] += b"\0%d" % before[place]
    return np.frombuffer(b"".join(hashlib.sha256(text).digest() for text in texts), dtype=_KEY)


def first_in_draw(
    text: PairText, repeats: DuplicateIndex | None, count: int, seed: int, domain: str, run: ParallelMap
) -> Numbers:
    """Return the numbers of the lines that are drawn first, in the order of the draw.

    Args:
        text: the text to draw from.
        repeats: which of its lines are equal; None: no two are.
        count: how many to draw; all lines if there are fewer.
        seed: seed of the draw.
        domain: domain of the text.
        run: applies a function to jobs, in processes.
    """
    before = None if repeats is None else repeats.numbers(text.kept)
    parts = text.parts()
    jobs = (
        (part, None if before is None else before[part.first :][: part.chunk.lines][part.kept], f"{seed}\0{domain}")
        for part in text.parts()
    )
    return smallest(((part.numbers(), keys) for part, keys in zip(parts, run(draw_keys, jobs), strict=True)), count)


def first_blocks(text: PairText, size: int, count: int, seed: int, domain: str) -> Numbers:
    """Return the numbers of the first `count` lines, block after block in the order of a draw.

    A sentence in the middle of a document resembles its neighbours, so a block is held out as a whole.
    """
    numbers = np.flatnonzero(text.kept)
    order = sorted(
        range(-(-len(numbers) // size)),
        key=lambda block: hashlib.sha256(f"{seed}\0{domain}\0{block}".encode()).digest(),
    )
    blocks = [numbers[block * size : (block + 1) * size] for block in order[: -(-count // size) + 1]]
    found: Numbers = np.concatenate(blocks)[:count]
    return found


def smallest(found: Iterable[tuple[Numbers, Keys]], count: int) -> Numbers:
    """Return the numbers of the `count` smallest keys, in sorted order, with few more than that in memory."""
    numbers, keys, bound = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=_KEY), None
    waiting: list[tuple[Numbers, Keys]] = []

    def cut() -> tuple[Numbers, Keys]:
        all_numbers = np.concatenate([numbers, *(some for some, _ in waiting)])
        all_keys = np.concatenate([keys, *(some for _, some in waiting)])
        waiting.clear()
        order = np.argsort(all_keys, kind="stable")[:count]
        return all_numbers[order], all_keys[order]

    for some_numbers, some_keys in found:
        below = slice(None) if bound is None else np.less_equal(some_keys, bound)
        waiting.append((some_numbers[below], some_keys[below]))
        if len(keys) + sum(len(some) for _, some in waiting) >= 2 * count + _SORTED_TOGETHER:
            numbers, keys = cut()
            bound = keys[-1:] if len(keys) == count else None  # an array: a NumPy scalar loses trailing zeros
    return cut()[0]


HELD_OUT = ("valid", "test")


@dataclass
class DomainText:
    """A domain's pairs: the pool to draw from, and held-out sets that are already fixed.

    Attributes:
        name: the domain's name.
        pool: the pairs to draw from and to train on.
        wanted: number of pairs of each split; None: all.
        seed: seed of the draws.
        own: held-out sets from the corpora's own files or a split rule.
        repeats: which pairs of the pool are equal; None: no two are.
        block: draw held-out sets as blocks of so many consecutive pairs of the pool; None: pair by pair.
    """

    name: str
    pool: PairText
    wanted: dict[str, int | None]
    seed: int
    own: dict[str, list[Pair]] = field(default_factory=dict)
    repeats: DuplicateIndex | None = None
    block: int | None = None


@dataclass
class DomainSplit:
    """A domain's pairs by split; `pool` is the training text before held-out sentences were removed from it."""

    name: str
    pool: PairText
    splits: dict[str, PairText]


def by_modulo(count: int, modulo: int) -> dict[str, LineMask]:
    """Return which of `count` lines are in each split, by the line number (from 1) modulo `modulo`.

    Remainder 0 is validation, 1 is test, the last tenth of the remainders is training text, and the others are left
    out. With 100, this is the split of Jiang et al. (2020) for News.
    """
    rest = (np.arange(1, count + 1) % modulo).astype(np.int32)
    return {"train": rest >= max(2, modulo - modulo // 10), "valid": rest == 0, "test": rest == 1}


def split(
    domains: Sequence[DomainText],
    scratch: Path,
    remove_leaks: bool = True,
    run: ParallelMap = in_this_process,
    remove_near: float | None = None,
) -> list[DomainSplit]:
    """Return the splits of all domains of a task.

    With `remove_leaks`, no source or target of any held-out set is in the training text of any domain, compared in
    normalised, case-folded form. Sampled held-out sets share no sentence with other held-out sets either. Without it,
    equal pairs may be in different splits.

    Args:
        domains: their text.
        scratch: a folder for the held-out sets.
        remove_leaks: remove held-out sentences from all training text.
        run: applies a function to jobs, in processes.
        remove_near: also remove training pairs with a side this similar to a held-out one; None: only equal ones.

    Raises:
        DataError: a domain has fewer pairs than asked for, or none left to train on.
    """
    held = {domain.name: _own_sets(domain) for domain in domains}
    known = _HeldOutSentences([pair for sets in held.values() for pairs in sets.values() for pair in pairs])
    left: dict[str, PairText] = {}
    for domain in domains:
        missing = [name for name in reversed(HELD_OUT) if name not in held[domain.name]]
        candidates = _candidates(domain, missing, run)
        drawn: list[int] = []
        # Test first, so that the number of validation pairs does not change the test set.
        for name in missing:
            chosen = _draw(domain, name, candidates, known if remove_leaks else None)
            held[domain.name][name] = [chosen[number] for number in sorted(chosen)]
            drawn += chosen
        left[domain.name] = domain.pool.without(np.array(drawn, dtype=np.int64))
    texts = {
        (name, split): save_pairs(scratch / f"{number:03d}.{split}", (p[:2] for p in pairs))
        for number, (name, sets) in enumerate(held.items())
        for split, pairs in sets.items()
    }
    sets = HeldOutSets.of(texts) if remove_leaks else None
    near = remove_near if remove_leaks else None
    return [_assemble(domain, left[domain.name], texts, sets, near, run) for domain in domains]


class _HeldOutSentences:
    """The sentences that are held out so far."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.sources = {pair.source_form for pair in pairs}
        self.targets = {pair.target_form for pair in pairs}

    def has(self, pair: Pair) -> bool:
        return pair.source_form in self.sources or pair.target_form in self.targets

    def add(self, pair: Pair) -> None:
        self.sources.add(pair.source_form)
        self.targets.add(pair.target_form)


def _own_sets(domain: DomainText) -> dict[str, list[Pair]]:
    """Return the held-out sets that are already fixed, reduced to the number asked for."""
    sets: dict[str, list[Pair]] = {}
    for name in HELD_OUT:
        if name not in domain.own:
            continue
        own, wanted = domain.own[name], domain.wanted[name]
        if len(own) < (wanted or 1):
            raise DataError(_too_few(domain, name, len(own), wanted or 1))
        if wanted is not None:
            own = [own[place] for place in sorted(_drawn_first(own, wanted, domain.seed, domain.name))]
        sets[name] = own
    return sets


def _drawn_first(own: Sequence[Pair], count: int, seed: int, domain: str) -> list[int]:
    """Return the indices of the pairs of an own set that are drawn first; equal pairs are drawn together."""
    texts = ("\0".join((str(seed), domain, *pair[:2])) for pair in own)
    keys = [hashlib.sha256(text.encode()).digest() for text in texts]
    return sorted(range(len(keys)), key=keys.__getitem__)[:count]


def _candidates(domain: DomainText, missing: Sequence[str], run: ParallelMap) -> Iterator[tuple[int, Pair]]:
    """Yield (number, pair) of the pool in the order of the draw, looking up only as many as needed."""
    wanted = sum(domain.wanted[name] or 0 for name in missing)
    done, count = 0, min(len(domain.pool), 2 * wanted + 100)
    while wanted and done < count:
        if domain.block is None:
            numbers = first_in_draw(domain.pool, domain.repeats, count, domain.seed, domain.name, run)[done:]
        else:
            numbers = first_blocks(domain.pool, domain.block, count, domain.seed, domain.name)[done:]
        pairs = dict(zip(sorted(numbers.tolist()), domain.pool.take(numbers), strict=True))
        yield from ((number, as_pair(*pairs[number])) for number in numbers.tolist())
        done, count = count, min(len(domain.pool), 8 * count)


def _draw(
    domain: DomainText, name: str, candidates: Iterator[tuple[int, Pair]], known: _HeldOutSentences | None
) -> dict[int, Pair]:
    """Draw a split and return number -> pair; sentences in `known` are skipped, and drawn ones are added to it."""
    wanted = domain.wanted[name]
    if wanted is None:
        raise DataError(f"domain {domain.name!r}: {name} is null, but no corpus has its own; give a number")
    chosen: dict[int, Pair] = {}
    while len(chosen) < wanted and (candidate := next(candidates, None)) is not None:
        number, pair = candidate
        if known is None or not known.has(pair):
            chosen[number] = pair
            if known is not None:
                known.add(pair)
    if len(chosen) < wanted:
        raise DataError(_too_few(domain, name, len(chosen), wanted))
    return chosen


def _assemble(
    domain: DomainText,
    pool: PairText,
    held: Mapping[tuple[str, str], PairText],
    removed: HeldOutSets | None,
    near: float | None,
    run: ParallelMap,
) -> DomainSplit:
    """Return a domain's splits, each in corpus order; `train` is the rest of the pool, reduced to its number."""
    train = pool
    if removed is not None:
        train = pool.select(~leaking for leaking in run(leaking_lines, ((part, removed) for part in pool.parts())))
        if near is not None:
            jobs = ((part, removed, near) for part in train.parts())
            train = train.select(~similar for similar in run(lines_like_heldout, jobs))
    wanted = domain.wanted["train"]
    if wanted is not None and len(train) > wanted:
        chosen = np.zeros(len(train.kept), dtype=np.bool_)
        chosen[first_in_draw(train, domain.repeats, wanted, domain.seed, domain.name, run)] = True
        train = train.only(chosen)
    if not len(train):
        raise DataError(
            f"domain {domain.name!r}: no training sentence is left of {len(domain.pool)} cleaned ones; "
            "ask for fewer held-out sentences, relax `cleaning`, or give it more text"
        )
    return DomainSplit(domain.name, pool, {"train": train, **{name: held[domain.name, name] for name in HELD_OUT}})


def _too_few(domain: DomainText, name: str, found: int, wanted: int) -> str:
    return (
        f"domain {domain.name!r}: {wanted} {name} sentences were requested, {found} are available from "
        f"{len(domain.pool)} cleaned ones; lower the number, relax `cleaning`, or give it more text"
    )
