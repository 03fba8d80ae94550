"""Find where one side of aligned text is shifted by a few lines against the other, from the lengths of the lines.

The lengths of sentences and translations correlate. If they correlate far better after one side is shifted by a few
lines, a line was added or lost before that place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Lengths = np.ndarray[Any, np.dtype[np.float64]]

_LINES = 200
_OFFSETS = (1, -1, 2, -2, 3, -3)
_GAIN = 0.3
_ENOUGH = 0.5


@dataclass(frozen=True)
class Shift:
    """Lines whose target is `offset` lines later than its source (negative: earlier)."""

    first: int
    last: int
    offset: int


@dataclass
class ShiftFinder:
    """Takes both sides line by line and keeps the lengths of at most one block."""

    found: list[Shift] = field(default_factory=list)
    _lengths: list[tuple[float, float]] = field(default_factory=list)
    _lines: int = 0

    def add(self, source: str, target: str) -> None:
        """Take one line of both sides, blank ones included."""
        self._lines += 1
        self._lengths.append((math.log1p(len(source)), math.log1p(len(target))))
        if len(self._lengths) == _LINES:
            self._look()

    def finish(self) -> list[Shift]:
        """Return the shifts; adjacent ones with the same offset are joined."""
        if len(self._lengths) >= _LINES // 2:
            self._look()
        joined: list[Shift] = []
        for shift in self.found:
            if joined and joined[-1].offset == shift.offset and joined[-1].last + 1 == shift.first:
                joined[-1] = Shift(joined[-1].first, shift.last, shift.offset)
            else:
                joined.append(shift)
        return joined

    def _look(self) -> None:
        lengths = np.array(self._lengths)
        self._lengths = []
        unmoved = _agreement(lengths[:, 0], lengths[:, 1])
        moved = {offset: _moved(lengths, offset) for offset in _OFFSETS}
        best = max(moved, key=lambda offset: moved[offset])
        # Where lengths repeat, as in forms, a shift agrees with the text itself.
        periodic = _agreement(lengths[abs(best) :, 0], lengths[: -abs(best), 0])
        if moved[best] > max(_ENOUGH, unmoved + _GAIN) and periodic < _ENOUGH:
            self.found.append(Shift(self._lines - len(lengths) + 1, self._lines, best))


def _moved(lengths: Lengths, offset: int) -> float:
    source, target = lengths[:, 0], lengths[:, 1]
    if offset > 0:
        return _agreement(source[:-offset], target[offset:])
    return _agreement(source[-offset:], target[:offset])


def _agreement(source: Lengths, target: Lengths) -> float:
    """Return the correlation, 0 where one side does not vary."""
    if source.std() < 1e-6 or target.std() < 1e-6:
        return 0.0
    return float(np.corrcoef(source, target)[0, 1])
