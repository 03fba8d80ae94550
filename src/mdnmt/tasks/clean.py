"""Clean: which pairs are kept, and how many were dropped for which reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.tasks.form import Form
from mdnmt.tasks.normalise import comparison_form
from mdnmt.tasks.tokenise import tokenise
from mdnmt.tasks.workers import Map, in_this_process

_WORD = re.compile(r"\w+")
LINES_PER_JOB = 2000
Raw = tuple[str, str]


class Pair(NamedTuple):
    """A normalised sentence pair, with the forms by which it is compared with others."""

    source: str
    target: str
    source_form: str
    target_form: str

    @property
    def forms(self) -> tuple[str, str]:
        """Return what makes two pairs the same."""
        return self.source_form, self.target_form


class Side(NamedTuple):
    """A side's language and tokenizer."""

    lang: str = "en"
    tokenizer: str = "none"


Sides = tuple[Side, Side]
_PLAIN = (Side(), Side())


@dataclass
class Cleaned:
    """The pairs that are kept, in order, and the numbers of the others by reason."""

    pairs: list[Pair]
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def make_pair(source: str, target: str, form: Form | None = None, sides: Sides = _PLAIN) -> Pair:
    """Return the normalised pair of two raw segments, in the form of its domain."""
    form = form or Form()
    source, target = form.of(source, sides[0].lang), form.of(target, sides[1].lang)
    return Pair(source, target, _form(source), _form(target))


def _form(text: str) -> str:
    found = comparison_form(text)
    return text if found == text else found  # one string less to keep


def why_dropped(pair: Pair, rules: CleaningConfig, sides: Sides = _PLAIN) -> str | None:
    """Return the reason for which a pair is dropped before the split, or None when it is kept."""
    if not pair.source or not pair.target:
        return "empty"
    # Pieces are counted when there are codes, which are learned on the training text.
    lengths = None if rules.unit == "pieces" else _lengths(pair, rules.unit, sides)
    if lengths is not None and (reason := why_length(lengths, rules)):
        return reason
    if rules.drop_identical and pair.source_form == pair.target_form:
        return "identical"
    if rules.require_letters and not (_has_letter(pair.source) and _has_letter(pair.target)):
        return "no letter"
    if rules.max_copied_share < 1.0 and copied_share(pair) > rules.max_copied_share:
        return "mostly copied"
    return None


def why_length(lengths: tuple[int, int], rules: CleaningConfig) -> str | None:
    """Return the reason for which a pair of two lengths is dropped, or None."""
    if min(lengths) < rules.min_tokens:
        return "too short"
    if rules.max_tokens is not None and max(lengths) > rules.max_tokens:
        return "too long"
    if rules.max_length_ratio is not None and max(lengths) > rules.max_length_ratio * min(lengths):
        return "length ratio"
    return None


def _lengths(pair: Pair, unit: str, sides: Sides) -> tuple[int, int]:
    if unit == "words":
        return len(pair.source.split(" ")), len(pair.target.split(" "))
    return len(tokenise(pair.source, *sides[0])), len(tokenise(pair.target, *sides[1]))


def copied_share(pair: Pair) -> float:
    """Return which share of the shorter side's words stands on the other side as well (names, formulas, codes)."""
    source, target = (Counter(_WORD.findall(form)) for form in pair.forms)
    shorter = min(source.total(), target.total())
    return (source & target).total() / shorter if shorter else 0.0


def clean(raw: Iterable[Raw], rules: CleaningConfig, sides: Sides = _PLAIN, run: Map = in_this_process) -> Cleaned:
    """Return the pairs that pass `rules`; of those that compare equal the first alone, unless the rules say otherwise.

    Args:
        raw: the segments as they stand.
        rules: what is kept.
        sides: languages and tokenizers.
        run: applies a function to jobs, in processes.
    """
    cleaned = Cleaned([])
    seen: set[tuple[str, str]] = set()
    for read, pairs, dropped in run(_clean_lines, [(chunk, rules, sides) for chunk in _chunks(raw)]):
        cleaned.read += read
        cleaned.dropped.update(dropped)
        for pair in pairs:
            if rules.deduplicate and pair.forms in seen:
                cleaned.dropped["duplicate"] += 1
                continue
            if rules.deduplicate:
                seen.add(pair.forms)
            cleaned.pairs.append(pair)
    return cleaned


def _clean_lines(job: tuple[Sequence[Raw], CleaningConfig, Sides]) -> tuple[int, list[Pair], Counter[str]]:
    raw, rules, sides = job
    form, kept = Form.by(rules), []
    dropped: Counter[str] = Counter()
    for source, target in raw:
        pair = make_pair(source, target, form, sides)
        reason = why_dropped(pair, rules, sides)
        if reason is None:
            kept.append(pair)
        else:
            dropped[reason] += 1
    return len(raw), kept, dropped


def held_out(raw: Iterable[Raw], form: Form | None = None, sides: Sides = _PLAIN) -> list[Pair]:
    """Return held-out pairs that are not cleaned, normalised; only blank ones are left out."""
    pairs = [make_pair(source, target, form, sides) for source, target in raw]
    return [pair for pair in pairs if pair.source and pair.target]


def _chunks(raw: Iterable[Raw]) -> Iterable[list[Raw]]:
    lines = iter(raw)
    while chunk := list(islice(lines, LINES_PER_JOB)):
        yield chunk


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
