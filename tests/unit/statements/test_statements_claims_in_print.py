"""The rules, tried on the papers' own numbers: they hold where the papers are right, and fail where they are not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from mdnmt.config.claims import load_claims
from mdnmt.config.paper import PaperTable, TableRow, load_paper
from mdnmt.statements.claims.decide import decide
from mdnmt.statements.claims.spec import ClaimsSpec

CONFIG = Path(__file__).resolve().parents[3] / "config"
# What the papers say and their own tables do not show.
FALSE_IN_PRINT = {
    "jiang-t4-mixing-best-but-thesis": (60, 72),  # training on one domain is better on Laws, News and Speech
    "zhang-enfr-trend": (1, 2),  # guidance is below no guidance
    "zhang-tag-worse": (6, 8),  # the tag is above the baseline on two of the three domains of EN-FR
    "jiang-all-domains": (20, 24),  # all four forms are below the mixed baseline on Thesis
    "song-t3-best-comet": (9, 10),  # Mix has the COMET of DASA
    "song-t6-damha-chrf": (2, 3),  # DMoE (mix) gains 0.22
    "song-t6-complementary-chrf": (3, 4),  # DAMHA alone has 0.12 more than with DMoE (Domain-only)
    "song-t6-complementary-comet": (2, 4),  # DAMHA alone has the highest COMET
    "song-metrics-agree-comet": (0, 2),  # 0.31 with BLEU, 0.22 with chrF
}
TRUE_IN_PRINT = {
    "jiang-t2-mixing-best",
    "jiang-t4-mixing-beats-joint",
    "jiang-t4-thesis-hard",
    "jiang-single-does-not-transfer",
    "jiang-pooling-can-hurt",
    "jiang-pooling-can-help",
    "jiang-t8-postnorm-collapse",
    "jiang-decoder-little",
    "zhang-unsup-gain",
    "zhang-guided-gain",
    "zhang-beats-tag",
    "song-t3-best-bleu",
    "song-t3-gain",
    "song-others-trade",
    "song-mbart-trade",
    "song-mbart-trade-comet",
    "song-mbart-thesis-science",
    "song-mbart-law",
    "song-t5-best",
    "song-t5-best-comet",
    "song-t5-gain",
    "song-t5-mbart-zero",
    "song-t5-mbart-zero-comet",
    "song-t6-damha",
    "song-t6-damha-comet",
    "song-t6-complementary",
    "song-t6-dmoe-over-moe",
    "song-t6-dmoe-over-moe-comet",
    "song-t6-loss-small",
    "song-t6-loss-domain",
    "song-t6-loss-mix",
    "song-t6-loss-comet",
    "song-metrics-agree",
}


def published(paper: str) -> list[dict[str, str]]:
    lines = (CONFIG / "published" / f"{paper}.tsv").read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def printed_rows(table: PaperTable, row: TableRow) -> list[tuple[str, str]]:
    """Return (method, its name in print), of models of one domain for each domain."""
    if row.methods[0] == "single":
        names = {domain: column for domain, column in table.printed_columns.items() if isinstance(column, str)}
        return [(f"single-{domain}", column.rpartition("/")[2]) for domain, column in names.items()]
    return [(row.methods[0], str(row.printed or row.label))]


def in_print(table: PaperTable, cells: list[dict[str, str]]) -> dict[str, Any]:
    """Return a table of the paper's own numbers, as exact ones; where it prints no average, the mean."""
    columns = {domain: (c,) if isinstance(c, str) else c for domain, c in table.printed_columns.items()}
    found: dict[str, dict[tuple[str, str], float]] = {}
    for method, name in (pair for row in table.rows for pair in printed_rows(table, row)):
        values = found.setdefault(method, {})
        for metric in table.metrics:
            for domain, of_domain in columns.items():
                for cell in cells:
                    same = (cell["table"], cell["row"]) == (table.printed, name) and cell["column"] in of_domain
                    if same and cell["metric"].lower().startswith(metric) and cell["value"]:
                        values[metric, domain] = float(cell["value"])
            of_metric = [values[key] for key in values if key[0] == metric]
            if len(of_metric) == len(columns):
                values.setdefault((metric, "avg"), fmean(of_metric))
    heads = [(metric, key) for metric in table.metrics for key in dict.fromkeys([*columns, "avg"])]
    return {
        "format": 2,
        "kind": "scores",
        "title": "T",
        "headers": [{"key": key, "label": key, "metric": metric} for metric, key in heads],
        "rows": [
            {
                "group": "G",
                "label": name,
                "method": name,
                "cells": [{"mean": values[head]} if head in values else {} for head in heads],
            }
            for name, values in found.items()
        ],
    }


@pytest.mark.parametrize("paper", ["jiang2020", "zhang2021", "song2026"])
def test_claims_hold_in_print_where_the_paper_is_right(paper: str, tmp_path: Path) -> None:
    cells, tables = published(paper), {}
    for item, table in load_paper(CONFIG, paper).tables.items():
        if table.kind == "scores" and table.printed is not None:
            tables[item] = tmp_path / f"{item}.json"
            tables[item].write_text(json.dumps(in_print(table, cells)))
    claims = load_claims(CONFIG, paper)
    outcomes = decide(ClaimsSpec(paper=paper, title="P", claims=claims, tables=tables)).outcomes
    assert {one.id for one in outcomes if one.verdict == "reproduced"} == TRUE_IN_PRINT & set(claims)
    false = {one.id: (one.holds, one.of) for one in outcomes if one.verdict == "not reproduced"}
    assert false == {name: counts for name, counts in FALSE_IN_PRINT.items() if name in claims}
