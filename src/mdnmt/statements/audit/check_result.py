"""What a check computes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes:
        recomputed: what came out, in words.
        compared: single comparisons that were made.
        agreed: those of them that hold.
    """

    recomputed: str
    compared: int
    agreed: int

    @property
    def agrees(self) -> bool:
        """Say whether everything holds."""
        return self.agreed == self.compared
