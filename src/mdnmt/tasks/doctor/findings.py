"""Findings of the doctor, grouped by kind, with the first places of each and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

PLACES = 3
_LINES = re.compile(r"\d+( = \d+)?")
LEVELS = ("error", "warning", "note")


@dataclass
class Finding:
    """One kind of problem in one text: how often it occurs, and its first places."""

    level: str  # error: the task cannot be built; warning: should be fixed; note: cleaning handles it
    what: str
    remedy: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return it as printed."""
        times = f"{self.count:,} x " if self.count > 1 else ""
        where = f" ({_joined(self.places)}{', ...' if self.count > len(self.places) else ''})" if self.places else ""
        return f"{self.level}: {times}{self.what}{where}; {self.remedy}"


def _joined(places: list[str]) -> str:
    """Join places, naming their file once if it is the same; a place may be two equal lines (`a.en:9 = 4`)."""
    files = {place.rpartition(":")[0] for place in places}
    if len(files) > 1 or not all(_LINES.fullmatch(place.rpartition(":")[2]) for place in places):
        return ", ".join(places)
    return ", ".join([places[0], *(place.rpartition(":")[2] for place in places[1:])])


class Findings:
    """The findings on one text."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}

    def add(self, level: str, what: str, remedy: str, place: str = "") -> None:
        """Count a finding; of each kind the first places are kept."""
        finding = self._found.setdefault(what, Finding(level, what, remedy))
        finding.count += 1
        if place and len(finding.places) < PLACES:
            finding.places.append(place)

    def raise_level(self, what: str, level: str, remedy: str) -> None:
        """Raise the level of a finding once its frequency is known."""
        finding = self._found[what]
        finding.level, finding.remedy = level, remedy

    def __iter__(self) -> Iterator[Finding]:
        """Yield the findings, the worst first."""
        return iter(sorted(self._found.values(), key=lambda finding: LEVELS.index(finding.level)))
