"""The table of a task's data: counts of stats.json beside the printed ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.exhibits.registry import parse_table
from mdnmt.report import render_text
from mdnmt.report.write_table import build as build_table


@pytest.fixture
def stats(tmp_path: Path) -> Path:
    counts = {"news": (183_600, 18_000, 19_000), "ted": (170_000, 7_000, 7_000)}
    domains = {
        name: {split: {"sentences": n} for split, n in zip(("train", "valid", "test"), three, strict=True)}
        for name, three in counts.items()
    }
    path = tmp_path / "stats.json"
    path.write_text(json.dumps({"domains": domains}))
    return path


def build(rows: list[dict[str, Any]], **more: Any) -> Any:
    return build_table(parse_table(json.dumps({"kind": "corpora", "title": "Data", "rows": rows, **more})))


def row(domain: str, stats: Path | None, **more: Any) -> dict[str, Any]:
    printed = {"train": {"value": 184000, "raw": "184K"}, "test": {"value": 19000, "raw": "19K"}}
    about = {"label": domain.title(), "domain": domain, "stats": str(stats) if stats else None, "printed": printed}
    return {**about, **more}


def test_counts_beside_the_printed_ones(stats: Path) -> None:
    grid = build([row("news", stats), row("ted", stats)], where="Table 1")
    news, ted = grid.rows
    assert grid.kind == "corpora" and grid.where == "Table 1" and grid.row_head == "Domain"
    assert [cell.text for cell in news.cells] == ["183\u202f600", "18\u202f000", "19\u202f000"]
    assert [cell.judgement and cell.judgement.verdict for cell in news.cells] == ["reproduced", None, "reproduced"]
    assert [cell.judgement.verdict for cell in ted.cells[::2]] == ["not reproduced"] * 2
    assert (news.cells[0].difference, news.cells[0].difference_text) == (-400, "−0.2 %")
    assert ted.cells[0].judgement.reason == "found 170,000; 184K stands for 183,500 to 184,499"
    assert r"183 600 \[184K, −0.2 %, ≈\]" in render_text.to_markdown(grid).replace("\u202f", " ")
    assert not any(cell.best for each in grid.rows for cell in each.cells)


def test_a_domain_that_stands_for_another_is_not_compared(stats: Path) -> None:
    grid = build([row("news", stats), row("ted", stats, differs="talks of another year")])
    assert [cell.judgement.verdict for cell in grid.rows[1].cells[::2]] == ["not comparable"] * 2
    assert grid.reasons == ("talks of another year",)
    assert [cell.judgement.verdict for cell in grid.rows[0].cells[::2]] == ["reproduced"] * 2


def test_the_last_row_has_the_sums(stats: Path) -> None:
    total = {"label": "Total", "domain": "total", "sum_of": ["news", "ted"], "stats": str(stats)}
    domains = [row("news", stats), row("ted", stats)]
    grid = build([*domains, {**total, "printed": {"train": {"value": 354000, "raw": "354K"}}}])
    sums = [sum(one.cells[place].mean for one in grid.rows[:2]) for place in range(3)]
    assert [cell.mean for cell in grid.rows[2].cells] == sums
    assert sums[0] == 353600
    assert grid.rows[2].cells[0].judgement.verdict == "reproduced"


def test_a_task_that_is_not_made_shows_what_was_printed(stats: Path) -> None:
    grid = build([row("news", None, missing="needs UM-Corpus")])
    assert grid.reasons == ("needs UM-Corpus",)
    assert [cell.text for cell in grid.rows[0].cells] == ["–"] * 3
    assert grid.rows[0].cells[0].published_text == "184K"
