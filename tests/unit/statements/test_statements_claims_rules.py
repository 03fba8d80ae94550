"""Rules on tables against an independent computation, and the limits of what decides a claim."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import scipy.stats
from claim_data import cell, compared, fulfilled, grid, spec_of
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt.exhibits.tables.resources import ResourcesTable
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.rules.agreement import AgreementRule
from mdnmt.statements.claims.rules.cells import CellsRule
from mdnmt.statements.claims.rules.stars import StarsRule

NUMBERS = st.floats(0, 60).map(lambda x: round(x, 2))
BOUNDS = st.sampled_from([{"above": 0.0}, {"above": 1.5}, {"below": 0.0}, {"below": -2.0}, {"within": 3.0}])


VALUES_3 = st.lists(NUMBERS, min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.fixed_dictionaries({name: st.lists(VALUES_3, min_size=3, max_size=3) for name in ("a", "b", "c")}),
    threshold=BOUNDS,
    average=st.booleans(),
)
def test_rows_of_a_table_against_an_independent_computation(
    rows: dict[str, list[list[float]]], threshold: dict[str, float], average: bool
) -> None:
    keys = ["law", "news", "avg"]
    rule = CellsRule(
        kind="cells", table="t", rows=("a", "b"), than=("c",), columns="average" if average else "each", **threshold
    )
    with TemporaryDirectory() as folder:
        table = grid([("bleu", k) for k in keys], {name: [cell(v) for v in cells] for name, cells in rows.items()})
        found = list(compared(rule, spec_of(folder, "tables", t=table)))
    columns = [2] if average else [0, 1]
    expected = [
        statistics.fmean(rows[name][column]) - statistics.fmean(rows["c"][column])
        for name in ("a", "b")
        for column in columns
    ]
    assert [one.difference for one in found] == pytest.approx(expected, abs=1e-9)
    near = min(abs(d - b) for d in expected for b in (*threshold.values(), -3.0))
    if near > 1e-9:
        assert [one.toward for one in found] == [fulfilled(threshold, difference) for difference in expected]
    assert all(one.num_seeds == 3 and one.missing is None for one in found)


def test_a_table_without_the_values_of_seeds_is_compared_by_mean_and_spread(tmp_path: Path) -> None:
    rule = CellsRule(kind="cells", table="t", rows=("a",), than=("b",))
    cells = {"a": [cell([30.0, 30.2, 30.4])], "b": [cell([29.0, 29.1, 29.2])]}
    (whole,) = compared(rule, spec_of(tmp_path, "tables", t=grid([("bleu", "law")], cells)))
    for of_row in cells.values():
        of_row[0].pop("values")
    (means,) = compared(rule, spec_of(tmp_path, "tables", t=grid([("bleu", "law")], cells)))
    assert means.half_width == pytest.approx(whole.half_width)
    assert means.holds is whole.holds is True
    assert whole.what == "BLEU on Law: A against B"


def test_the_papers_own_numbers_are_compared_too(tmp_path: Path) -> None:
    cells = {
        "a": [cell([30.0], published=26.1), cell([30.0], published=27.0), cell([30.0])],
        "b": [cell([29.0], published=26.0), cell([29.0], published=28.0), cell([29.0], published=27.0)],
    }
    table = grid([("bleu", "law"), ("bleu", "news"), ("bleu", "avg")], cells)
    spec = spec_of(tmp_path, "tables", t=table)

    def in_print(**keys: Any) -> list[bool | None]:
        rule = CellsRule(kind="cells", table="t", rows=("a",), than=("b",), **keys)
        return [one.in_print for one in compared(rule, spec)]

    assert in_print() == [True, False]
    assert in_print(below=0.1) == [False, True]  # 26.1 less 26.0 is 0.1 on the page
    assert in_print(times=0.5, below=13.05) == [False, True]  # 13.1 and 13.0
    assert in_print(columns="average") == [None]


def test_bleu_is_that_of_the_printed_number_where_it_was_computed(tmp_path: Path) -> None:
    columns = [("bleu", "law"), ("bleu", "avg"), ("bleu_tok", "law"), ("bleu_tok", "avg")]
    ours, words = [cell([30.0])] * 2, [cell([25.0], published=24.0)] * 2
    rows = {"a": [*ours, *words], "b": [*ours, *[cell([20.0], published=21.0)] * 2]}
    options = {"printed_bleu": {"t": "bleu_tok"}}

    def found(rows: dict[str, Any], **keys: Any) -> list[Comparison]:
        spec = spec_of(tmp_path, "tables", t=grid(columns, rows), options=options)
        return list(compared(CellsRule(kind="cells", table="t", rows=("a",), than=("b",), **keys), spec))

    (one,) = found(rows)
    assert (one.what, one.difference, one.in_print) == ("BLEU (tokenised) on Law: A against B", 5.0, True)
    assert found(rows, columns="average")[0].what == "average BLEU (tokenised): A against B"
    (one,) = found({name: [*ours, {}, {}] for name in "ab"})
    assert (one.what, one.difference) == ("BLEU on Law: A against B", 0.0)


def test_models_of_one_domain_and_names_that_differ(tmp_path: Path) -> None:
    table = grid(
        [("bleu", "law"), ("bleu", "news"), ("bleu", "avg")],
        {
            "single-enlarged-law": [cell([30.0]), cell([3.0]), cell([16.0])],
            "single-news": [cell([2.0]), cell([25.0]), cell([13.0])],
            "mixed-post": [cell([20.0]), cell([21.0]), cell([20.5])],
        },
    )
    options = {
        "rows": {"t": {"single": ("single", "single-enlarged"), "mixed": ("mixed-post",)}},
        "domains": {"t": {"laws": "law"}},
    }
    spec = spec_of(tmp_path, "tables", t=table, options=options)

    def differences(**keys: Any) -> list[tuple[str, float | None]]:
        found = compared(CellsRule(kind="cells", table="t", **keys), spec)
        return [(one.what, one.difference) for one in found]

    assert differences(rows=["mixed"], than=["single"]) == [
        ("BLEU on Law: MIXED-POST against SINGLE-ENLARGED-LAW", -10.0),
        ("BLEU on News: MIXED-POST against SINGLE-NEWS", -4.0),
    ]
    assert [d for _, d in differences(rows=["single"], than=["single"], than_trained_on="others", times=2)] == [
        26.0,
        19.0,
    ]
    assert differences(rows=["mixed"], than=["single"], leaving_out=["laws"]) == [
        ("BLEU on News: MIXED-POST against SINGLE-NEWS", -4.0)
    ]
    assert differences(rows=["mixed", "single"], columns=["laws"], than_columns=["news"]) == [
        ("BLEU on Law: MIXED-POST against MIXED-POST (BLEU on News)", -1.0),
        ("BLEU on Law: SINGLE-ENLARGED-LAW against SINGLE-NEWS (BLEU on News)", 5.0),
    ]
    assert differences(rows=["mixed"], than=["single"], columns=["thesis"]) == [
        ("needs thesis in T (no domain of this study corresponds to it)", None)
    ]


def test_what_is_missing_in_a_table_is_named(tmp_path: Path) -> None:
    table = grid(
        [("bleu", "law"), ("comet", "law")],
        {"a": [cell([30.0]), {}], "b": [{}, {}]},
        reasons=["needs UM-Corpus"],
    )
    table["rows"][1]["marks"] = [0]
    table["headers"][1]["missing"] = "needs COMET"
    rule = CellsRule(kind="cells", table="t", rows=("a", "x", "y"), than=("b",), metrics=("bleu", "comet"))
    found = [one.missing for one in compared(rule, spec_of(tmp_path, "tables", t=table))]
    assert found == [
        "x, y in T (not part of this study)",
        "BLEU on Law of B in T (needs UM-Corpus)",
        "COMET in T (needs COMET)",
    ]


@pytest.mark.parametrize(("busy", "expected"), [(2.0, True), (60.0, None)])
def test_resources_are_known_to_five_percent_and_not_at_all_on_a_busy_machine(
    tmp_path: Path, busy: float, expected: bool | None
) -> None:
    rows = {"a": {"num_parameters": 100, "epoch_seconds": 30.0}, "b": {"num_parameters": 101, "epoch_seconds": 60.0}}
    measured = tmp_path / "measure.json"
    measured.write_text(json.dumps({"rows": rows, "hardware": {"cpu": "x", "cores": 2, "busy_percent": busy}}))
    told = [{"group": "G", "label": name, "method": name} for name in rows]
    made = ResourcesTable.model_validate({"title": "T", "rows": told, "measure": measured}).build()
    spec = spec_of(tmp_path, "tables", t=made.model_dump(mode="json"))

    def one(**keys: Any) -> Comparison:
        (found,) = compared(CellsRule(kind="cells", table="t", rows=["a"], than=["b"], **keys), spec)
        return found

    exact = one(metrics=["num_parameters"], below=0)
    assert (exact.half_width, exact.holds, exact.num_seeds) == (0.0, True, None)
    slow = one(metrics=["epoch_seconds"], times=0.6, below=0)
    assert (slow.half_width, slow.holds) == (pytest.approx(0.05 * 30 + 0.6 * 0.05 * 60), expected)
    assert one(metrics=["epoch_seconds"], times=0.52, below=0).holds is None  # 30 against 31.2


def test_stars_are_the_bootstraps(tmp_path: Path) -> None:
    def tested(verdict: str | None, seeds: int = 3) -> dict[str, Any]:
        return cell([20.0] * seeds, delta=1.5, p=0.01, verdict=verdict)

    table = grid(
        [("bleu", "law"), ("bleu", "news"), ("bleu", "avg")],
        {"a": [tested("better"), tested("worse"), cell([20.0])], "b": [tested(None), tested("better", 2), {}]},
    )
    table["rows"].append({"group": "G", "label": "C", "method": "c", "cells": [cell([1.0]), {}, {}]})
    rule = StarsRule(kind="stars", table="t", rows=("a", "b", "c"))
    found = list(compared(rule, spec_of(tmp_path, "tables", t=table)))
    assert [(one.toward, one.holds) for one in found[:4]] == [
        (True, True),
        (False, False),
        (False, None),  # a missing star shows nothing
        (True, None),
    ]
    assert (found[0].left, found[0].right, found[0].difference) == (20.0, 18.5, 1.5)
    uncorrected = found
    table["correction"] = "holm"
    corrected = list(compared(rule, spec_of(tmp_path, "tables", t=table)))
    # Only where the table has not corrected for the number of comparisons, the claim has to.
    assert [one.p for one in uncorrected[:4]] == [0.01, 0.01, None, None]
    assert [one.p for one in corrected[:4]] == [None] * 4
    assert [one.missing for one in found[4:]] == [
        "the significance test in T (not made)",
        "BLEU on News of C in T (no number)",
    ]


def test_metrics_agree_seed_by_seed_and_means_alone_count_as_one_seed(tmp_path: Path) -> None:
    bleu = {"a": [1.0, 3.0, 1.0], "b": [2.0, 2.0, 2.0], "c": [3.0, 1.0, 3.0]}
    chrf = {"a": [5.0, 5.0, 5.0], "b": [6.0, 6.0, 6.0], "c": [7.0, 7.0, 7.0]}
    table = grid([("bleu", "avg"), ("chrf", "avg")], {name: [cell(bleu[name]), cell(chrf[name])] for name in bleu})
    rule = AgreementRule(kind="agreement", table="t", rows=("a", "b", "c"), metrics=("bleu", "chrf", "comet"), above=0)
    found, missing = sorted(
        compared(rule, spec_of(tmp_path, "tables", t=table)), key=lambda one: one.missing is not None
    )
    assert found.left == pytest.approx((1 - 1 + 1) / 3) and found.num_seeds == 3 and found.holds is None
    assert found.what == "BLEU with chrF over 3 systems (averages)"
    assert missing.missing == "COMET in T (no run has it)"
    table["rows"].append({"group": "G", "label": "D", "method": "d", "cells": [cell([1.0]), {}]})
    whole = rule.model_copy(update={"rows": ("a", "b", "c", "d"), "metrics": ("bleu", "chrf")})
    lacking, same = compared(whole, spec_of(tmp_path, "tables", t=table))
    assert lacking.missing == "average chrF of D in T (no number)" and same.left == found.left
    for row in table["rows"]:
        for of_row in row["cells"]:
            of_row.pop("values", None)
    alone = next(iter(compared(rule, spec_of(tmp_path, "tables", t=table))))
    others = [one for one in compared(rule, spec_of(tmp_path, "tables", t=table)) if one.left is not None]
    assert alone.missing is not None and (others[0].left, others[0].num_seeds) == (pytest.approx(1.0), 1)


def test_scores_that_are_all_equal_have_no_rank_correlation(tmp_path: Path) -> None:
    rows = {name: [cell([5.0] * 3), cell([5.0 + k] * 3)] for k, name in enumerate("abc")}
    rule = AgreementRule(kind="agreement", table="t", rows=("a", "b", "c"), metrics=("bleu", "chrf"), above=0)
    spec = spec_of(tmp_path, "tables", t=grid([("bleu", "avg"), ("chrf", "avg")], rows))
    (one,) = compared(rule, spec)
    assert one.left is None and one.missing is not None and "all systems have the same score" in one.missing


def test_two_columns_of_one_row_are_compared_seed_by_seed(tmp_path: Path) -> None:
    law, news = [10.0, 20.0, 30.0], [9.0, 19.1, 28.9]
    spec = spec_of(tmp_path, "tables", t=grid([("bleu", "law"), ("bleu", "news")], {"a": [cell(law), cell(news)]}))
    rule = CellsRule(kind="cells", table="t", rows=("a",), columns=("law",), than_columns=("news",))
    (one,) = compared(rule, spec)
    assert one.holds is True and one.p == pytest.approx(scipy.stats.ttest_rel(law, news).pvalue)


def test_metrics_of_two_systems_are_not_correlated(tmp_path: Path) -> None:
    table = grid([("bleu", "avg"), ("chrf", "avg")], {name: [cell([1.0]), cell([2.0])] for name in "ab"})
    rule = AgreementRule(kind="agreement", table="t", rows=("a", "b", "c"), metrics=("bleu", "chrf"), above=0)
    no_row, too_few = compared(rule, spec_of(tmp_path, "tables", t=table))
    assert no_row.left is None and too_few.left is None
    assert too_few.missing == "three rows or more in T (2 found)"


def test_a_domain_that_only_one_of_two_tables_has_is_named_with_the_other(tmp_path: Path) -> None:
    left = grid([("bleu", "law"), ("bleu", "news")], {"a": [cell([30.0]), cell([20.0])]})
    right = grid([("bleu", "law")], {"a": [cell([29.0])]})
    rule = CellsRule(kind="cells", tables={"t": "u"}, rows=("a",))
    found = list(compared(rule, spec_of(tmp_path, "tables", t=left, u=right)))
    assert [one.difference for one in found if one.missing is None] == [1.0]
    assert any((one.missing or "").startswith("news in U (no domain") for one in found)
    rule = CellsRule(kind="cells", tables={"u": "t"}, rows=("a",))
    assert [one.missing for one in compared(rule, spec_of(tmp_path, "tables", t=left, u=right))] == [None]
