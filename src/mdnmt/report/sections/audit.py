"""Turn the audit of a paper's own arithmetic, written by `mdnmt audit --json`, into tables."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.report.plain_tables import NONE, Entry, PlainTable

Status = Literal["inconsistent", "consistent", "noted"]
TITLES: dict[Status, str] = {
    "inconsistent": "What does not agree",
    "noted": "What was noted, but cannot be computed",
    "consistent": "What agrees",
}


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Finding(_Read):
    """One entry of the audit."""

    id: str
    paper: str
    where: str
    printed: str
    recomputed: str | None = None
    status: Status
    comment: str = ""


class Checked(_Read):
    """How many single comparisons of a kind were made, and how many agreed with the printed numbers."""

    paper: str
    compared: int
    agreed: int


class Audit(_Read):
    """The audit of a paper."""

    findings: tuple[Finding, ...]
    checked: tuple[Checked, ...] = ()

    def count(self, status: Status) -> int:
        """Return how many findings have a status."""
        return sum(finding.status == status for finding in self.findings)

    @property
    def compared(self) -> int:
        """Return how many single comparisons were made."""
        return sum(one.compared for one in self.checked)

    @property
    def agreed(self) -> int:
        """Return how many of them agreed with the printed numbers."""
        return sum(one.agreed for one in self.checked)


def read_audit(path: Path, paper: str) -> Audit:
    """Return the audit of one paper from the output of `mdnmt audit --json`.

    Raises:
        DataError: the file is not such output.
    """
    try:
        found = Audit.model_validate(read_json(path))
    except (OSError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: expected what `mdnmt audit --json` writes, found: {reason}") from error
    return Audit(
        findings=tuple(finding for finding in found.findings if finding.paper == paper),
        checked=tuple(one for one in found.checked if one.paper == paper),
    )


def tables(audit: Audit) -> list[tuple[Status, PlainTable]]:
    """Return the findings by status, inconsistent ones first; a status without findings is left out."""
    found = []
    for status, title in TITLES.items():
        findings = [finding for finding in audit.findings if finding.status == status]
        recomputed = status != "noted"
        headers = ["Place", "Printed", *(["Recomputed"] if recomputed else []), "Remark"]
        rows = [
            [
                Entry(text)
                for text in (one.where, one.printed, *([one.recomputed or NONE] if recomputed else []), one.comment)
            ]
            for one in findings
        ]
        if rows:
            table = PlainTable(title, headers, rows, [False] * len(headers), frozenset(headers))
            found.append((status, table))
    return found
