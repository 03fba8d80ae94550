"""Which commit and which code made the results on the page, from the records in the files themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mdnmt.code_hash import code_hash
from mdnmt.exhibits.grid import Provenance
from mdnmt.exhibits.registry import figure_code, table_code
from mdnmt.report.contents import ReportFigure, ReportSpec
from mdnmt.report.plain_tables import NONE, Entry, PlainTable, number, optional_json
from mdnmt.report.png_metadata import read_picture
from mdnmt.report.sections.runs import RunRecord

MOST_NAMED = 6  # exhibits of a commit that are listed by name; beyond that they are counted
NOT_RECORDED = "not recorded"
WIDE = frozenset({"Tables, figures, claims and audits"})  # columns of sentences


@dataclass(frozen=True)
class Origin:
    """The code that made one exhibit.

    Attributes:
        name: title of the exhibit on the page.
        made: the record in its file; None if there is none.
        is_current: whether it was made by the code that is installed now.
    """

    name: str
    made: Provenance | None
    is_current: bool


@dataclass(frozen=True)
class Origins:
    """The commits behind a page.

    Attributes:
        table: a line per commit: which exhibits and how many runs it made.
        mixed: a warning that several commits, or other code than the installed one, made the page; None if neither.
        stale: exhibits that were made by other code than the installed one.
    """

    table: PlainTable
    mixed: str | None
    stale: list[str]


def origins(spec: ReportSpec, records: Iterable[RunRecord], page: dict[str, Any]) -> Origins:
    """Return the commits behind a page.

    Args:
        spec: the page.
        records: its runs.
        page: the provenance of the page itself.
    """
    exhibits = list(_exhibits(spec))
    this = _commit(page.get("commit"), page.get("dirty"))
    by_commit: dict[str, list[str]] = {this: []}
    for one in exhibits:
        commit = NOT_RECORDED if one.made is None else _commit(one.made.commit, one.made.dirty)
        by_commit.setdefault(commit, []).append(one.name)
    runs: dict[str, int] = {}
    for record in records:
        if record.made is not None:
            made_by = record.made.get("provenance") or {}
            commit = _commit(made_by.get("commit"), made_by.get("dirty")) if made_by else NOT_RECORDED
            runs[commit] = runs.get(commit, 0) + 1
    commits = list(dict.fromkeys([*by_commit, *runs]))
    rows = [_row(commit, by_commit.get(commit, []), len(exhibits), runs.get(commit, 0), this) for commit in commits]
    headers = ["Commit", "This page", "Tables, figures, claims and audits", "Runs"]
    stale = [one.name for one in exhibits if not one.is_current]
    return Origins(
        table=PlainTable("Which commit made what", headers, rows, [False, False, False, True], WIDE),
        mixed=_mixed(len(commits), stale) if len(commits) > 1 or stale else None,
        stale=stale,
    )


def _mixed(commits: int, stale: list[str]) -> str:
    found = []
    if commits > 1:
        found.append(f"What this page shows was made by {commits} states of the code, listed under How it was made.")
    if stale:
        found.append(f"Made by other code than the current one: {_named(stale)}; make the page again.")
    elif commits > 1:
        found.append("The code that makes its tables, figures, claims and audits is still the same.")
    return " ".join(found)


def _row(commit: str, exhibits: list[str], number_of_all: int, runs: int, this: str) -> list[Entry]:
    if not exhibits:
        shown = NONE
    elif len(exhibits) == number_of_all:
        shown = f"all {number_of_all}" if number_of_all > 1 else exhibits[0]
    else:
        shown = _named(exhibits)
    is_commit = commit.split(",")[0].isalnum() and commit != NOT_RECORDED
    return [Entry(commit, code=is_commit), Entry("yes" if commit == this else NONE), Entry(shown), number(runs or None)]


def _named(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def _commit(commit: str | None, dirty: bool | None) -> str:
    if commit is None:
        return "not from a repository"
    return f"{commit}, with changes that were not committed" if dirty else commit


def _exhibits(spec: ReportSpec) -> Iterable[Origin]:
    for table in spec.tables:
        if table.data.is_file():
            yield _origin(table.full_title, _record_in_json(table.data), table_code(table.kind))
    for figure in spec.figures:
        if figure.png.is_file():
            name = f"{figure.where}: {figure.full_title}" if figure.where else figure.full_title
            yield _origin(name, _record_in_png(figure), figure_code(figure.kind))
    for paper in spec.papers:
        audit_code = code_hash("mdnmt.commands.audit")
        of_paper = (("Claims", paper.claims, paper.claims_code), ("Audit", paper.audit, audit_code))
        for what, path, code in of_paper:
            if path is not None and path.is_file():
                yield _origin(f"{what} of {paper.citation}", _record_in_json(path), code)


def _record_in_json(path: Path) -> Any:
    found = optional_json(path)
    return found.get("made") if isinstance(found, dict) else None


def _record_in_png(figure: ReportFigure) -> Any:
    """Return the record in a PNG's metadata."""
    text = read_picture(figure.png).texts.get("Provenance", "")
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return {key: found.get(key) for key in Provenance.model_fields} if isinstance(found, dict) else None


def _origin(name: str, record: Any, current: str) -> Origin:
    try:
        made = Provenance.model_validate(record)
    except ValidationError:
        return Origin(name, None, is_current=False)
    return Origin(name, made, is_current=made.code == current)
