"""The result of a check, and of the whole audit: findings, and how many comparisons were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from mdnmt.config.base import Frozen

Status = Literal["inconsistent", "consistent", "noted"]


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


class Finding(Frozen, extra="ignore"):
    """One entry of the audit."""

    id: str
    paper: str = Field(description="a file of config/papers/")
    where: str = Field(description="section, table or equation")
    kind: str = Field(description="the sweep or check that computed it; of what is noted: what it is about")
    printed: str = Field(description="what stands there, in our words")
    recomputed: str | None = Field(description="what comes out; null: not computed")
    status: Status
    computed: bool = Field(description="false: noted, and the comment says why it cannot be computed")
    ours: bool = Field(description="not among the inconsistencies that reading the papers had brought up")
    comment: str


class Checked(Frozen, extra="ignore"):
    """How many single comparisons of a kind were made, and how many of them agreed with the print."""

    paper: str
    kind: str
    compared: int
    agreed: int


class AuditResult(Frozen, extra="ignore"):
    """The audit of some papers; what `mdnmt audit --json` writes also says which code made it."""

    papers: tuple[str, ...]
    findings: tuple[Finding, ...]
    checked: tuple[Checked, ...]

    def of(self, paper: str) -> AuditResult:
        """Return the audit of one paper."""
        return AuditResult(
            papers=(paper,),
            findings=tuple(finding for finding in self.findings if finding.paper == paper),
            checked=tuple(one for one in self.checked if one.paper == paper),
        )

    def count(self, status: Status) -> int:
        """Return how many findings have a status."""
        return sum(finding.status == status for finding in self.findings)

    @property
    def compared(self) -> int:
        """Return how many single comparisons were made."""
        return sum(one.compared for one in self.checked)

    @property
    def agreed(self) -> int:
        """Return how many of them agreed with the print."""
        return sum(one.agreed for one in self.checked)
