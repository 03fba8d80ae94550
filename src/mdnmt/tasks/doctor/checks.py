"""Check a task's text before anything is trained: name what to fix by file and line.

Text is read once, line by line; only three 8-byte digests are kept of each line, to find duplicates and overlaps.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.config.task import DomainConfig, TaskConfig
from mdnmt.errors import DataError
from mdnmt.languages import language, unknown_code
from mdnmt.tasks.doctor.findings import Finding, Findings
from mdnmt.tasks.doctor.misalignment import ShiftFinder
from mdnmt.tasks.doctor.not_text import HEADER, LONG, LONG_HELD_OUT, Oddity, is_header, oddities
from mdnmt.tasks.doctor.user_text import Line, SplitText
from mdnmt.tasks.doctor.wrong_language import suspect
from mdnmt.tasks.text.clean import Pair, Side, Sides, make_pair, why_dropped
from mdnmt.tasks.text.normalisation import Normaliser
from mdnmt.tasks.text.pair_text import SIDES
from mdnmt.tasks.text.tokenise import splits_spaceless

# Shares of the lines above which a note becomes a warning, or (_SWAPPED) above which the sides seem exchanged.
_SUSPECTS = 0.01
_DROPPED = 0.2
_DUPLICATES = 0.1
_SWAPPED = 0.5
Digests = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass
class Report:
    """The findings on one part of the task, under its heading."""

    heading: str
    findings: list[Finding]


@dataclass
class _Seen:
    """Digests of the lines of one text: pair, source, target; 0 means a blank line or a dropped pair."""

    text: SplitText
    digests: tuple[array[int], array[int], array[int]] = field(
        default_factory=lambda: (array("Q"), array("Q"), array("Q"))
    )
    kept: int = 0  # lines that the cleaning keeps, duplicates included

    def add(self, pair: Pair, kept: bool) -> None:
        blank = not pair.source or not pair.target
        self.kept += kept
        self.digests[0].append(_digest("\0".join(pair.forms)) if kept else 0)
        for digests, text in zip(self.digests[1:], pair.forms, strict=True):
            digests.append(0 if blank else _digest(text))

    def column(self, index: int) -> Digests:
        """Return the digests of the pairs (0), sources (1) or targets (2)."""
        return np.frombuffer(self.digests[index], dtype=np.uint64)


def check_task(
    task: TaskConfig, texts: Mapping[str, Mapping[str, list[SplitText]]], incomplete: Collection[str] = ()
) -> Iterator[Report]:
    """Yield a report for each corpus, then for each domain, then on overlaps between the splits.

    Args:
        task: its configuration.
        texts: domain -> split -> the texts of its corpora; always `train`; `valid` and `test` if a corpus has them.
        incomplete: domains with a missing corpus, so that their amount of text is unknown.
    """
    if about := list(_check_languages(task)):
        yield Report("languages", about)
    seen: dict[str, dict[str, list[_Seen]]] = {}
    for name, domain in task.domains.items():
        seen[name] = {}
        for split, parts in texts[name].items():
            seen[name][split] = []
            for text in parts:
                digests, report = _check_text(task, domain, text, f"{name}, {split}: {text.label}", split == "train")
                seen[name][split].append(digests)
                yield report
    for name, domain in task.domains.items():
        if name in incomplete:
            continue
        yield _check_domain(name, task, domain, seen[name])
    if any(split in texts for texts in seen.values() for split in ("valid", "test")):
        yield _check_overlap(task, seen)


def _check_languages(task: TaskConfig) -> Iterator[Finding]:
    """Yield what the task's options do not know about its languages."""
    langs = (task.source_lang, task.target_lang)
    if (unknown := unknown_code(langs)) is not None:
        yield Finding("warning", *unknown, count=1)
    for lang in langs:
        about, tokenizer = language(lang), task.segmentation.tokenizer_of(lang)
        if not about.is_spaceless:
            continue
        if not splits_spaceless(tokenizer, about.scripts):
            what = f"the tokenizer {tokenizer} does not split {about.name}, which has no spaces between words"
            yield Finding("warning", what, f"write `tokenizers: {{{lang}: reversible}}` in `segmentation`", count=1)
        rules = [task.cleaning, *(domain.cleaning for domain in task.domains.values() if domain.cleaning)]
        if tokenizer != "none" and any(_bounds_words(rule) for rule in rules):
            what = f"the cleaning counts words at spaces, which {about.name} does not have"
            yield Finding("warning", what, "write `unit: tokens` in `cleaning`", count=1)


def _bounds_words(rules: CleaningConfig) -> bool:
    return rules.unit == "words" and (rules.max_length_ratio is not None or rules.max_tokens is not None)


def _check_text(
    task: TaskConfig, domain: DomainConfig, text: SplitText, heading: str, cleaned: bool
) -> tuple[_Seen, Report]:
    rules = domain.cleaning or task.cleaning
    sides = tuple(Side(lang, task.segmentation.tokenizer_of(lang)) for lang in (task.source_lang, task.target_lang))
    found, seen, shifts = Findings(), _Seen(text), ShiftFinder()
    check = _LineCheck(found, rules, (sides[0], sides[1]), cleaned)
    try:
        for line in text.lines(found):
            pair, is_kept = check.look(line)
            seen.add(pair, is_kept)
            shifts.add(pair.source, pair.target)
    except DataError as error:  # the reader cannot go on
        found.add("error", str(error), "fix it, then run the doctor again: the rest of the text was not checked")
    for shift in shifts.finish():
        later = "later" if shift.offset > 0 else "earlier"
        what = f"the target seems to be {abs(shift.offset)} line(s) {later} than its source"
        found.add("error", what, "look for a missing or an extra line", f"lines {shift.first}-{shift.last}")
    _raise_levels(found, check, max(1, len(seen.digests[0])))
    kept = f", {seen.kept:,} kept by the cleaning" if cleaned else ""
    return seen, Report(f"{heading}: {len(seen.digests[0]):,} pairs{kept}", list(found))


@dataclass
class _LineCheck:
    found: Findings
    rules: CleaningConfig
    sides: Sides
    cleaned: bool  # False for the corpora's own held-out text
    languages: Counter[tuple[int, str]] = field(default_factory=Counter)
    odd: set[str] = field(default_factory=set)
    lines: int = 0

    def look(self, line: Line) -> tuple[Pair, bool]:
        """Note problems of one line; return its pair and whether the cleaning keeps it."""
        pair = make_pair(line.source, line.target, Normaliser.from_config(self.rules), self.sides)
        reason = why_dropped(pair, self.rules, self.sides)
        if reason == "empty":
            blank = SIDES[0] if not pair.source else SIDES[1]
            both = not pair.source and not pair.target
            self._note("both sides are empty" if both else f"the {blank} is empty", line)
        elif reason is not None:
            self._note(f"{'dropped by' if self.cleaned else 'against the rules of'} the cleaning: {reason}", line)
        if self.lines == 0 and is_header(line.source, line.target, [side.lang for side in self.sides]):
            self._add(HEADER, line)
        self.lines += 1
        raw = (line.source, line.target)
        for index, (text, side) in enumerate(zip((pair.source, pair.target), self.sides, strict=True)):
            for oddity in oddities(SIDES[index], raw[index], text, language(side.lang).base):
                is_long = oddity.remedy == LONG
                if is_long and self.cleaned and reason == "too many characters":
                    continue  # the option that would be advised is set
                self._add(oddity._replace(remedy=LONG_HELD_OUT) if is_long and not self.cleaned else oddity, line)
            suspected = suspect(text, side.lang)
            if suspected is not None:
                self.languages[index, suspected] += 1
                self._note(f"the {SIDES[index]} seems to be {suspected}, not {language(side.lang).name}", line)
        return pair, reason is None

    def _add(self, oddity: Oddity, line: Line) -> None:
        self.odd.add(oddity.what)
        self.found.add("warning" if oddity.alone else "note", oddity.what, oddity.remedy, line.place)

    def _note(self, what: str, line: Line) -> None:
        remedy = "nothing to do" if self.cleaned else "held-out text is not cleaned, so it stays"
        self.found.add("note", what, "look at it" if "seems" in what else remedy, line.place)


def _raise_levels(found: Findings, check: _LineCheck, lines: int) -> None:
    """Turn frequent notes into warnings, and report exchanged sides as an error."""
    for finding in list(found):
        if finding.what in check.odd:
            if finding.level == "note" and finding.count > _SUSPECTS * lines:
                found.raise_level(finding.what, "warning", finding.remedy)
            continue
        suspected = "seems to be" in finding.what
        if finding.level == "note" and finding.count > (_SUSPECTS if suspected else _DROPPED) * lines:
            share = f"{100 * finding.count / lines:.1f} % of the lines"
            remedy = "take them out, or give the right text" if suspected else "see whether that is what you want"
            found.raise_level(finding.what, "warning", f"{share}: {remedy}")
    names = [language(side.lang).name for side in check.sides]
    crossed = [check.languages[index, names[1 - index]] for index in (0, 1)]
    if min(crossed) > _SWAPPED * lines / 2 and lines > 1:
        found.add("error", "the two sides seem to be exchanged", "exchange the files, or the task's languages")


def _check_domain(name: str, task: TaskConfig, domain: DomainConfig, seen: Mapping[str, list[_Seen]]) -> Report:
    """Look for duplicates within the training text, and whether there is enough of it."""
    found = Findings()
    kept = sum(part.kept for part in seen["train"])
    repeated = 0
    for place in _repeated(seen["train"]):
        repeated += 1
        found.add("note", "repeats an earlier pair (except for case and spaces)", "the cleaning keeps the first", place)
    if repeated > _DUPLICATES * max(1, kept):
        share = 100 * repeated / max(1, kept)
        what = "repeats an earlier pair (except for case and spaces)"
        found.raise_level(what, "warning", f"{share:.0f} % of the pairs: see whether the text is what you want")
    rules = domain.split or task.split
    drawn = {split: getattr(domain, split) for split in ("valid", "test") if split not in seen}
    for split, wanted in drawn.items():
        if wanted is None and split not in rules.ruled:
            found.add("error", f"{split} is null, but no corpus has {split} text of its own", "give a number")
    asked = sum(wanted or 0 for wanted in drawn.values())
    left = kept - repeated - asked
    if left <= 0:
        what = f"{asked:,} held-out pairs are requested, at most {max(0, kept - repeated):,} are available"
        found.add("error", what, "lower the numbers, relax `cleaning`, or give more text")
    elif left < asked:
        what = f"only about {left:,} pairs are left to train on beside {asked:,} held-out ones"
        found.add("warning", what, "lower the numbers, or give more text")
    for split in ("valid", "test"):
        wanted, own = getattr(domain, split), sum(len(part.digests[0]) for part in seen.get(split, ()))
        if split in seen and wanted is not None and wanted > own:
            found.add("error", f"{wanted:,} {split} pairs are asked for, its files have {own:,}", "lower the number")
    return Report(f"{name}: about {max(0, left):,} pairs to train on", list(found))


def _repeated(parts: Iterable[_Seen]) -> Iterator[str]:
    """Yield the place of each pair that repeats an earlier one, with the place of the earlier one."""
    parts = list(parts)
    columns = [part.column(0) for part in parts]
    digests = np.concatenate(columns) if columns else np.empty(0, np.uint64)
    _, first, inverse = np.unique(digests, return_index=True, return_inverse=True)
    ends = np.cumsum([len(column) for column in columns])
    for index in np.flatnonzero((first[inverse] != np.arange(len(digests))) & (digests != 0)):
        one, line = _place(ends, int(index))
        other, earlier = _place(ends, int(first[inverse[index]]))
        known = str(earlier) if one == other else parts[other].text.place(earlier)
        yield f"{parts[one].text.place(line)} = {known}"


def _place(ends: Any, index: int) -> tuple[int, int]:
    """Return the part that contains a pair, and its number there, counted from 1."""
    part = int(np.searchsorted(ends, index, side="right"))
    return part, index - (int(ends[part - 1]) if part else 0) + 1


def _check_overlap(task: TaskConfig, seen: Mapping[str, Mapping[str, list[_Seen]]]) -> Report:
    """Compare the corpora's own held-out text with all training text, and validation text with test text."""
    found = Findings()
    parts = {
        split: [part for domain in seen.values() for part in domain.get(split, ())]
        for split in ("train", "valid", "test")
    }
    removed = "training text loses it" if task.leakage.remove else "scores will be too high: set leakage.remove"
    level = "note" if task.leakage.remove else "warning"
    for split, other, rank, remedy in (
        ("valid", "train", level, removed),
        ("test", "train", level, removed),
        ("valid", "test", "warning", "remove it from one of the two, or the best checkpoint is chosen on test text"),
    ):
        for index, side in ((1, "source"), (2, "target")):
            known = [part.column(index) for part in parts[other]]
            pool = np.unique(np.concatenate(known)) if known else np.empty(0, np.uint64)
            for part in parts[split]:
                column = part.column(index)
                for line in np.flatnonzero(np.isin(column, pool) & (column != 0)):
                    what = f"the {side} of a {split} pair is also in {other} text"
                    found.add(rank, what, remedy, part.text.place(int(line) + 1))
    shared = list(found)
    return Report("between the splits" if shared else "between the splits: no sentence is shared", shared)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") or 1
