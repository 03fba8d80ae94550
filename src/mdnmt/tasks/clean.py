"""Clean: which pairs are kept, and how many were dropped for which reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mdnmt.config.task import CleaningConfig
from mdnmt.tasks.normalise import comparison_form, normalise

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Pair:
    """A normalised sentence pair, with the forms by which it is compared with others."""

    source: str
    target: str
    source_form: str
    target_form: str

    @property
    def forms(self) -> tuple[str, str]:
        """Return what makes two pairs the same."""
        return self.source_form, self.target_form


@dataclass
class Cleaned:
    """The pairs that are kept, in order, and the numbers of the others by reason."""

    pairs: list[Pair]
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def make_pair(source: str, target: str) -> Pair:
    """Return the normalised pair of two raw segments."""
    source, target = normalise(source), normalise(target)
    return Pair(source, target, comparison_form(source), comparison_form(target))


def why_dropped(pair: Pair, rules: CleaningConfig) -> str | None:
    """Return the reason for which a pair is dropped, or None when it is kept."""
    if not pair.source or not pair.target:
        return "empty"
    lengths = len(pair.source.split(" ")), len(pair.target.split(" "))
    if min(lengths) < rules.min_tokens:
        return "too short"
    if max(lengths) > rules.max_tokens:
        return "too long"
    if max(lengths) > rules.max_length_ratio * min(lengths):
        return "length ratio"
    if rules.drop_identical and pair.source_form == pair.target_form:
        return "identical"
    if rules.require_letters and not (_has_letter(pair.source) and _has_letter(pair.target)):
        return "no letter"
    if rules.max_copied_share < 1.0 and copied_share(pair) > rules.max_copied_share:
        return "mostly copied"
    return None


def copied_share(pair: Pair) -> float:
    """Return which share of the shorter side's words stands on the other side as well (names, formulas, codes)."""
    source, target = (Counter(_WORD.findall(form)) for form in pair.forms)
    shorter = min(source.total(), target.total())
    return (source & target).total() / shorter if shorter else 0.0


def clean(raw: Iterable[tuple[str, str]], rules: CleaningConfig) -> Cleaned:
    """Return the pairs that pass `rules`, each once (the first of those that compare equal)."""
    kept: dict[tuple[str, str], Pair] = {}
    cleaned = Cleaned([])
    for source, target in raw:
        cleaned.read += 1
        pair = make_pair(source, target)
        reason = why_dropped(pair, rules)
        if reason is None and pair.forms in kept:
            reason = "duplicate"
        if reason is None:
            kept[pair.forms] = pair
        else:
            cleaned.dropped[reason] += 1
    cleaned.pairs = list(kept.values())
    return cleaned


def held_out(raw: Iterable[tuple[str, str]]) -> list[Pair]:
    """Return a corpus' own held-out pairs, normalised; only blank ones are left out."""
    pairs = [make_pair(source, target) for source, target in raw]
    return [pair for pair in pairs if pair.source and pair.target]


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
