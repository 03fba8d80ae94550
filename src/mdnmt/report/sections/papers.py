"""Papers as sections: their tables and figures in the paper's order, claims, audit, and counts of all of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from mdnmt.errors import DataError
from mdnmt.exhibits.grid import Grid, read_written, tally
from mdnmt.numbers.verdicts import NOT_AVAILABLE, VERDICTS
from mdnmt.numbers.verdicts import NOT_MADE as NO_NUMBER
from mdnmt.report.contents import ReportExhibit, ReportPaper
from mdnmt.report.plain_tables import NONE, Entry, PlainTable, number
from mdnmt.report.sections.exhibit_sections import NOT_MADE, Item, TableSection
from mdnmt.report.sections.statements import audit_tables, claim_table
from mdnmt.statements.audit.finding import AuditResult, Status
from mdnmt.statements.claims.outcome import Outcome, Outcomes, count_verdicts, read_outcomes

NOT_SHOWN = "not part of this study"
WIDE = frozenset({"Paper"})


@dataclass(frozen=True)
class Place:
    """An entry of a paper's contents: its place on the page, or why it is missing."""

    name: str  # "Table 2: Test BLEU of each system"
    link: str
    why_not: str


@dataclass(frozen=True)
class Section:
    """A paper as a section of the page; parts that are missing have a reason."""

    name: str
    title: str
    citation: str
    places: list[Place]
    items: list[Item]
    tables: tuple[int, int]  # on the page, in the paper
    figures: tuple[int, int]
    cells: dict[str, int]  # verdict, not made, not available -> published cells
    claims: Outcomes | None
    claim_counts: dict[str, int]  # verdict -> how many of its claims
    claims_missing: str | None
    shown_claims: list[tuple[Outcome, PlainTable | None]]  # with the numbers of its comparisons
    audit: AuditResult | None  # of the paper alone
    audit_missing: str | None
    audit_tables: list[tuple[Status, PlainTable]]

    @property
    def published(self) -> int:
        """Return how many published numbers its tables on this page have."""
        return sum(count for kind, count in self.cells.items() if kind != NOT_AVAILABLE)

    @property
    def with_ours(self) -> int:
        """Return how many of them have a number of ours beside them."""
        return self.published - self.cells[NO_NUMBER]


def section(paper: ReportPaper, items: Mapping[str, Item], *, partial: bool = False) -> Section:
    """Return the section of a paper.

    Args:
        paper: its parts, in the paper's order.
        items: id -> table or figure.
        partial: the page is made from whatever exists, so claims that were decided on earlier tables count as not made.

    Raises:
        DataError: the file of its claims or of its audit is invalid.
    """
    shown = [items[item.id] for item in paper.items if item.id is not None and item.id in items]
    claims = None
    if paper.claims is not None and paper.claims.is_file():
        with suppress(*([DataError] if partial else [])):
            claims = read_outcomes(paper.claims)
    audit = None
    if paper.audit is not None and paper.audit.is_file():
        audit = read_written(paper.audit, AuditResult, "what `mdnmt audit --json` writes").of(paper.name)
    return Section(
        name=paper.name,
        title=paper.title,
        citation=paper.citation,
        places=[_place(item, items) for item in paper.items],
        items=shown,
        tables=_share(paper.items, items, "table"),
        figures=_share(paper.items, items, "figure"),
        cells=tally(_grids_of_test_text(shown)),
        claims=claims,
        claim_counts=count_verdicts(claims.outcomes if claims is not None else ()),
        claims_missing=None if claims is not None else NOT_MADE if paper.claims is not None else None,
        shown_claims=[(one, claim_table(one)) for one in claims.outcomes] if claims is not None else [],
        audit=audit,
        audit_missing=None if audit is not None else NOT_MADE if paper.audit is not None else None,
        audit_tables=audit_tables(audit) if audit is not None else [],
    )


def _grids_of_test_text(shown: Iterable[Item]) -> list[Grid]:
    """Return the tables whose verdicts are counted; those of validation text repeat the same printed numbers."""
    grids = [item.grid for item in shown if isinstance(item, TableSection) and item.grid is not None]
    return [grid for grid in grids if grid.split == "test"]


def _place(item: ReportExhibit, items: Mapping[str, Item]) -> Place:
    found = items.get(item.id or "")
    if found is None:
        return Place(item.where or item.title, "", NOT_SHOWN)
    return Place(found.title, f"#{found.id}", found.missing or "")


def _share(places: Iterable[ReportExhibit], items: Mapping[str, Item], kind: str) -> tuple[int, int]:
    of_kind = [items.get(place.id or "") for place in places if place.kind == kind]
    return sum(item is not None and item.missing is None for item in of_kind), len(of_kind)


def elsewhere(papers: Iterable[ReportPaper], items: Mapping[str, Item]) -> list[Item]:
    """Return the tables and figures that belong to no paper."""
    placed = {item.id for paper in papers for item in paper.items}
    return [item for name, item in items.items() if name not in placed]


def _of(share: tuple[int, int]) -> Entry:
    made, number_of_all = share
    return Entry(f"{made} of {number_of_all}" if number_of_all else NONE, float(made) if number_of_all else None)


def rebuilt(sections: Iterable[Section]) -> PlainTable:
    """Return how much of each paper is on the page."""
    headers = ["Paper", "Tables", "Figures", "Numbers beside ours", "Claims decided", "Checks of the audit"]
    rows = []
    for one in sections:
        decided = None
        if one.claims is not None:
            counts = one.claim_counts
            decided = counts["reproduced"] + counts["not reproduced"], sum(counts.values())
        rows.append(
            [
                Entry(one.citation, link=f"#paper-{one.name}"),
                _of(one.tables),
                _of(one.figures),
                _of((one.with_ours, one.published)),
                Entry(NONE) if decided is None else _of(decided),
                Entry(NONE) if one.audit is None else number(one.audit.compared),
            ]
        )
    return PlainTable("How much of each paper is rebuilt here", headers, rows, [False] + [True] * 5, WIDE)


def verdicts(sections: Iterable[Section]) -> PlainTable:
    """Return how many published numbers and claims of each paper got which verdict."""
    headers = ["Paper", "Of its", *(verdict.capitalize() for verdict in VERDICTS), "No number yet"]
    rows = []
    for one in sections:
        name = Entry(one.citation, link=f"#paper-{one.name}")
        if one.published:
            counts = [number(one.cells[kind]) for kind in (*VERDICTS, NO_NUMBER)]
            rows.append([name, Entry("numbers"), *counts])
        if one.claims is not None:
            counts = [number(one.claim_counts[verdict]) for verdict in VERDICTS]
            rows.append([name, Entry("claims"), *counts, Entry(NONE)])
    return PlainTable("Verdicts", headers, rows, [False, False] + [True] * (len(headers) - 2), WIDE)
