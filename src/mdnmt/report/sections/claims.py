"""Prepare the verdicts on a paper's claims, written by `mdnmt exhibit`, for the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.numbers.verdicts import VERDICTS, Verdict
from mdnmt.report.plain_tables import Entry, PlainTable, any_number


class _Read(BaseModel):
    # Fields that the page does not show may change.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Comparison(_Read):
    """One comparison of a claim's rule.

    `toward`: whether the means fulfil the rule. `holds`: whether the whole interval fulfils it; None if undecided.
    """

    what: str
    left: float | None = None
    right: float | None = None
    difference: float | None = None
    half_width: float | None = None
    toward: bool | None = None
    holds: bool | None = None
    num_seeds: int | None = None
    doubt: str | None = None
    missing: str | None = None


class Claim(_Read):
    """A claim with its verdict."""

    id: str
    where: str
    says: str
    rule_text: str
    verdict: Verdict
    reason: str
    on_other_text: str | None = None
    holds: int = 0
    of: int = 0
    num_seeds: int | None = None
    comparisons: tuple[Comparison, ...] = ()
    evidence: tuple[str, ...] = ()


class Claims(_Read):
    """All claims of a paper."""

    outcomes: tuple[Claim, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Return verdict -> how many claims, in the order of `VERDICTS`."""
        return {verdict: sum(one.verdict == verdict for one in self.outcomes) for verdict in VERDICTS}


@dataclass(frozen=True)
class ClaimSection:
    """A claim with the table of its comparisons, if any was made."""

    claim: Claim
    table: PlainTable | None


def read_claims(path: Path) -> Claims:
    """Return the claims in a file that `mdnmt exhibit` wrote.

    Raises:
        DataError: the file is not such output.
    """
    try:
        return Claims.model_validate(read_json(path))
    except (OSError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: expected what `mdnmt exhibit` writes, found: {reason}") from error


def claim_sections(claims: Claims) -> list[ClaimSection]:
    """Return the claims in the paper's order, each with its numbers."""
    return [ClaimSection(claim, _table(claim) if _made(claim) else None) for claim in claims.outcomes]


def _made(claim: Claim) -> bool:
    """Return whether any comparison was made; if none was, the reason of the verdict is enough."""
    return any(one.missing is None for one in claim.comparisons)


def _table(claim: Claim) -> PlainTable:
    # Columns that are empty for all comparisons are left out.
    seeds = any(one.num_seeds is not None for one in claim.comparisons)
    widths = any(one.half_width is not None for one in claim.comparisons)
    headers = ["Comparison", "First", "Second", "Difference", *(["\N{PLUS-MINUS SIGN} 95 %"] if widths else [])]
    headers += [*(["Seeds"] if seeds else []), "Holds"]
    numeric = [header not in ("Comparison", "Holds") for header in headers]
    table = PlainTable(f"Numbers of the claim {claim.id}", headers, [], numeric, frozenset({"Comparison", "Holds"}))
    for one in claim.comparisons:
        row = [Entry(one.what), any_number(one.left), any_number(one.right), any_number(one.difference)]
        row += [any_number(one.half_width)] if widths else []
        row += [any_number(one.num_seeds)] if seeds else []
        table.rows.append([*row, Entry(_holds(one))])
    return table


def _holds(one: Comparison) -> str:
    if one.missing is not None:
        return "cannot be made"
    if one.holds is not None:
        return "yes" if one.holds else "no"
    so_far = "so far" if one.toward else "so far not"
    return f"open; {so_far}" + (f"; {one.doubt}" if one.doubt else "")
