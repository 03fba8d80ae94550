"""The audit itself: sweeps and checks of each paper, and what is only noted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from string import digits
from typing import Any

from mdnmt.config.audit import AuditConfig, Check, Gains, Noted, Sweep
from mdnmt.errors import ConfigError
from mdnmt.statements.audit import comparisons, differences
from mdnmt.statements.audit.cells import readable, split_cell
from mdnmt.statements.audit.finding import AuditResult, Checked, CheckResult, Finding, Status
from mdnmt.statements.audit.printed_tables import AuditInput
from mdnmt.statements.audit.sweeps import SWEEPS, CheckedNumber

CHECKS: dict[str, Callable[[AuditInput, str, Any], CheckResult]] = {
    "stated": differences.stated,
    "range": differences.within,
    "gains": differences.gains_of_one_row,
    "order": comparisons.order,
    "distance": comparisons.distance,
    "same_row": comparisons.same_row,
    "names": comparisons.names,
}


def audit(inputs: AuditInput) -> AuditResult:
    """Return the audit of all papers of `inputs`.

    Raises:
        ConfigError: a check names a cell, a method or an option that does not exist.
    """
    findings: list[Finding] = []
    checked: list[Checked] = []
    for paper, config in inputs.configs.items():
        compared, agreed = Counter[str](), Counter[str]()
        swept = _swept(inputs, paper, config)
        for kind, results in swept.items():
            compared[kind] += len(results)
            agreed[kind] += sum(result.agrees for result in results)
        findings += _of_sweeps(paper, config, swept)
        for check in config.checks:
            outcome = _check_function(check)(inputs, paper, check)
            compared[check.kind] += outcome.compared
            agreed[check.kind] += outcome.agreed
            status: Status = "consistent" if outcome.agrees else "inconsistent"
            findings.append(_of_list(paper, check, outcome.recomputed, status, check.comment))
        for entry in config.noted:
            comment = " ".join(part for part in (entry.comment, f"Not computed: {entry.why}") if part)
            findings.append(_of_list(paper, entry, None, "noted", comment))
        checked += [
            Checked(paper=paper, kind=kind, compared=compared[kind], agreed=agreed[kind])
            for kind in compared
            if compared[kind]
        ]
    return AuditResult(papers=tuple(inputs.configs), findings=tuple(findings), checked=tuple(checked))


def _check_function(check: Check) -> Callable[[AuditInput, str, Any], CheckResult]:
    if check.kind in CHECKS:
        return CHECKS[check.kind]
    from mdnmt.statements.audit import sizes  # imported here because it needs torch

    by_kind: dict[str, Callable[[AuditInput, str, Any], CheckResult]] = {
        "parameters": sizes.parameters,
        "size_ratio": sizes.size_ratio,
        "vocabulary": sizes.vocabulary,
        "peak": sizes.peak,
    }
    return by_kind[check.kind]


def _swept(inputs: AuditInput, paper: str, config: AuditConfig) -> dict[str, list[CheckedNumber]]:
    published = inputs.published.get(paper)
    found = {kind: list(sweep(published)) if published else [] for kind, sweep in SWEEPS.items()}
    lists = [check for check in config.checks if isinstance(check, Gains)]
    found["gain"] = [compared for check in lists for compared in differences.gains(inputs, paper, check)]
    return found


def _of_sweeps(paper: str, config: AuditConfig, swept: dict[str, list[CheckedNumber]]) -> list[Finding]:
    findings: list[Finding] = []
    named: set[tuple[str, str]] = set()
    for entry in config.sweeps:
        looked_at = {compared.cell: compared for compared in swept[entry.sweep]}
        for cell in () if entry.at == "all" else entry.at:
            if cell not in looked_at:
                raise ConfigError(
                    f"config/audit/{paper}.yaml: {entry.id}: the sweep {entry.sweep} has no cell {cell!r}"
                )
        cells = [compared for cell, compared in looked_at.items() if entry.at == "all" or cell in entry.at]
        named |= {(entry.sweep, compared.cell) for compared in cells}
        findings.append(_of_entry(paper, entry, cells))
    for kind, results in swept.items():
        for hit in results:
            if not hit.agrees and (kind, hit.cell) not in named:
                findings.append(_unnamed(paper, kind, hit))
    return findings


def _of_entry(paper: str, entry: Sweep, cells: list[CheckedNumber]) -> Finding:
    hits = [compared for compared in cells if not compared.agrees]
    if len(cells) == 1:
        recomputed, comment = cells[0].recomputed, cells[0].comment
    else:
        recomputed = "; ".join(f"{readable(hit.cell)}: {hit.printed}, {hit.recomputed}" for hit in hits)
        comment = f"{len(hits)} of {len(cells)} cells."
    return Finding(
        id=entry.id,
        paper=paper,
        where=entry.where or readable(cells[0].cell),
        kind=entry.sweep,
        printed=entry.printed or cells[0].printed,
        recomputed=recomputed or "nothing to object to",
        status="inconsistent" if hits else "consistent",
        computed=True,
        ours=entry.ours,
        comment=" ".join(part for part in (comment, entry.comment) if part),
    )


def _unnamed(paper: str, kind: str, hit: CheckedNumber) -> Finding:
    table, row, measure = split_cell(hit.cell)
    return Finding(
        id=re.sub(r"[^A-Za-z0-9+.]+", "-", f"{paper.rstrip(digits)} {table} {kind} {row} {measure}").strip("-"),
        paper=paper,
        where=readable(hit.cell),
        kind=kind,
        printed=hit.printed,
        recomputed=hit.recomputed,
        status="inconsistent",
        computed=True,
        ours=True,
        comment=hit.comment,
    )


def _of_list(paper: str, entry: Check | Noted, recomputed: str | None, status: Status, comment: str) -> Finding:
    return Finding(
        id=entry.id,
        paper=paper,
        where=entry.where,
        kind=entry.kind,
        printed=entry.printed,
        recomputed=recomputed,
        status=status,
        computed=status != "noted",
        ours=entry.ours,
        comment=comment,
    )
