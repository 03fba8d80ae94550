"""Cleaning: which sentence pairs are kept, and why the others are dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.tasks.text.normalisation import Normaliser, comparison_form
from mdnmt.tasks.text.pair_text import Segments
from mdnmt.tasks.text.tokenise import tokenise_lines

_WORD = re.compile(r"\w+")


class Pair(NamedTuple):
    """A normalised sentence pair, with the forms by which it is compared with others."""

    source: str
    target: str
    source_form: str
    target_form: str

    @property
    def forms(self) -> tuple[str, str]:
        """The forms by which pairs are compared."""
        return self.source_form, self.target_form


class Side(NamedTuple):
    """A side's language and tokenizer."""

    lang: str = "en"
    tokenizer: str = "none"


Sides = tuple[Side, Side]
_PLAIN = (Side(), Side())


def make_pair(source: str, target: str, form: Normaliser | None = None, sides: Sides = _PLAIN) -> Pair:
    """Return the pair of two raw segments, normalised by `form`."""
    form = form or Normaliser()
    return as_pair(form.apply(source, sides[0].lang), form.apply(target, sides[1].lang))


def as_pair(source: str, target: str) -> Pair:
    """Return the pair of two normalised segments."""
    return Pair(source, target, comparison_form(source), comparison_form(target))


def why_dropped(
    pair: Pair, rules: CleaningConfig, sides: Sides = _PLAIN, lengths: tuple[int, int] | None = None
) -> str | None:
    """Return why a pair is dropped before the split, or None if it is kept.

    Args:
        pair: the normalised pair.
        rules: the cleaning rules.
        sides: languages and tokenizers.
        lengths: of both sides, if known.
    """
    if not pair.source or not pair.target:
        return "empty"
    if rules.max_characters is not None and max(len(pair.source), len(pair.target)) > rules.max_characters:
        return "too many characters"
    # Pieces can only be counted later: the codes are learned on the training text.
    if lengths is None and rules.unit != "pieces":
        (lengths,) = lengths_of([pair], rules.unit, sides)
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
    """Return why a pair with these lengths is dropped, or None."""
    if min(lengths) < rules.min_tokens:
        return "too short"
    if rules.max_tokens is not None and max(lengths) > rules.max_tokens:
        return "too long"
    if rules.max_length_ratio is not None and max(lengths) > rules.max_length_ratio * min(lengths):
        return "length ratio"
    return None


def lengths_of(pairs: Sequence[Pair], unit: str, sides: Sides = _PLAIN) -> list[tuple[int, int]]:
    """Return the lengths of both sides of each pair in `unit`: `words` or `tokens`. Pairs are tokenised together."""
    lines: Iterable[tuple[str, str]] = (pair[:2] for pair in pairs)
    if unit == "tokens":
        sources, targets = ([pair[place] for pair in pairs] for place in range(2))
        lines = zip(tokenise_lines((*sides[0], sources)), tokenise_lines((*sides[1], targets)), strict=True)
    return [(_count(source), _count(target)) for source, target in lines]


def _count(line: str) -> int:
    return line.count(" ") + 1 if line else 0


def copied_share(pair: Pair) -> float:
    """Return the share of the shorter side's words that also occur on the other side (names, formulas, codes)."""
    source, target = (Counter(_WORD.findall(form)) for form in pair.forms)
    shorter = min(source.total(), target.total())
    return (source & target).total() / shorter if shorter else 0.0


def held_out(raw: Iterable[Segments], form: Normaliser | None = None, sides: Sides = _PLAIN) -> list[Pair]:
    """Return held-out pairs, normalised but not cleaned; only blank ones are left out."""
    pairs = [make_pair(source, target, form, sides) for source, target in raw]
    return [pair for pair in pairs if pair.source and pair.target]


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
