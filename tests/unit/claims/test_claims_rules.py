"""Each kind of rule against an independent computation, and the limits of what decides it."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mdnmt.claims import correlation, decide, sample
from mdnmt.claims.figure_rules import measure_comparisons, trend_comparisons
from mdnmt.claims.outcome import Comparison
from mdnmt.claims.place import read_measures
from mdnmt.claims.spec import ClaimsSpec
from mdnmt.claims.table_rules import agreement_comparisons, star_comparisons, table_comparisons
from mdnmt.config.claims import AgreementRule, CellsRule, MeasureRule, StarsRule, Threshold, TrendRule
from mdnmt.errors import DataError
from mdnmt.paper import resources_table, specs

NUMBERS = st.floats(0, 60).map(lambda x: round(x, 2))
BOUNDS = st.sampled_from([{"above": 0.0}, {"above": 1.5}, {"below": 0.0}, {"below": -2.0}, {"within": 3.0}])


def cell(values: list[float], **more: Any) -> dict[str, Any]:
    spread = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": spread, "num_seeds": len(values), "values": values, **more}


def grid(columns: list[tuple[str, str]], rows: dict[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {
        "format": 2,
        "kind": "scores",
        "title": "T",
        "headers": [{"key": key, "label": key.title(), "metric": metric} for metric, key in columns],
        "rows": [{"group": "G", "label": name.upper(), "method": name, "cells": cells} for name, cells in rows.items()],
        "baseline_label": "Base",
        **more,
    }


def spec_of(folder: Path | str, kind: str, **more: Any) -> ClaimsSpec:
    """Return a spec whose tables or figures hold the JSON given by item; `options` are further keys."""
    options = more.pop("options", {})
    paths = {}
    for item, value in more.items():
        paths[item] = Path(folder) / f"{item}.json"
        paths[item].write_text(json.dumps(value))
    return ClaimsSpec(paper="p", title="P", claims={}, **{kind: paths}, **options)


def measure(name: str, number: float, /, method: str = "m", seed: int | None = 1, **at: Any) -> dict[str, Any]:
    return {"method": method, "label": method.upper(), "seed": seed, "name": name, "at": at, "value": number}


def figure(*measures: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "any", "title": "T", "measures": list(measures)}


def fulfilled(threshold: dict[str, float], number: float) -> bool:
    ((side, bound),) = threshold.items()
    return {"above": number > bound, "below": number < bound, "within": -bound < number < bound}[side]


@pytest.mark.filterwarnings("ignore:Precision loss")  # of scipy, where all values are the same
@settings(max_examples=60, deadline=None)
@given(
    left=st.lists(NUMBERS, min_size=1, max_size=4),
    right=st.lists(NUMBERS, min_size=1, max_size=4),
    times=st.sampled_from([1.0, 0.5, 2.0]),
    threshold=BOUNDS,
)
def test_two_samples_are_compared_by_welchs_interval(
    left: list[float], right: list[float], times: float, threshold: dict[str, float]
) -> None:
    found = sample.compare(
        Threshold(**threshold), sample.of_values(left), sample.of_values(right), times=times, what="x"
    )
    scaled = [times * value for value in right]
    difference = statistics.fmean(left) - statistics.fmean(scaled)
    assume(abs(difference - next(iter(threshold.values()))) > 1e-9)
    assert found.difference == pytest.approx(difference, abs=1e-9)
    assert found.toward is fulfilled(threshold, difference)
    assert found.num_seeds == min(len(left), len(right))
    if min(len(left), len(right)) < 2:
        assert (found.half_width, found.holds) == (None, None)
        return
    if statistics.stdev(left) == statistics.stdev(right) == 0:
        low = high = difference
    else:
        low, high = scipy.stats.ttest_ind(left, scaled, equal_var=False).confidence_interval(0.95)
    assert found.half_width == pytest.approx((high - low) / 2, rel=1e-6, abs=1e-9)
    if min(len(left), len(right)) < 3:
        assert found.holds is None
    elif all(abs(edge - bound) > 1e-6 for edge in (low, high) for bound in (*threshold.values(), -3.0)):
        points = [fulfilled(threshold, number) for number in np.linspace(low, high, 2001)]
        assert found.holds is (True if all(points) else None if any(points) else False)


@pytest.mark.parametrize(
    ("threshold", "low", "high", "expected"),
    [
        ({"above": 1.0}, 1.1, 2.0, True),
        ({"above": 1.0}, 1.0, 2.0, None),  # the bound itself is not above it
        ({"above": 1.0}, 0.5, 1.0, False),
        ({"above": 1.0}, 0.5, 1.1, None),
        ({"below": 1.0}, 0.0, 0.9, True),
        ({"below": 1.0}, 0.0, 1.0, None),
        ({"below": 1.0}, 1.0, 2.0, False),
        ({"within": 0.5}, -0.4, 0.4, True),
        ({"within": 0.5}, -0.5, 0.4, None),
        ({"within": 0.5}, 0.5, 0.9, False),
        ({"within": 0.5}, -0.9, -0.5, False),
        ({"within": 0.5}, -1.0, 1.0, None),
        ({}, 0.1, 0.2, True),  # above 0
        ({}, 0.0, 0.0, False),
    ],
)
def test_the_limits_of_a_threshold(threshold: dict[str, float], low: float, high: float, expected: bool | None) -> None:
    assert sample.fulfils(Threshold(**threshold), low, high) is expected


def test_one_number_against_a_threshold_and_numbers_that_no_seed_changes() -> None:
    ones = sample.of_values([1.0, 1.2, 1.4])
    found = sample.compare(Threshold(above=1.0), ones, what="x")
    expected = scipy.stats.t.interval(0.95, 2, 1.2, 0.2 / math.sqrt(3))
    assert found.half_width == pytest.approx((expected[1] - expected[0]) / 2)
    assert (found.right, found.num_seeds, found.holds) == (None, 3, None)
    exact, measured = sample.Sample(10.0, slack=0.0), sample.Sample(9.0, slack=0.45)
    assert sample.compare(Threshold(), exact, exact, what="x").holds is False
    close = sample.compare(Threshold(above=0.8), exact, measured, what="x")
    assert (close.half_width, close.holds, close.num_seeds) == (0.45, None, None)
    assert sample.compare(Threshold(above=0.5), exact, measured, what="x").holds is True
    doubted = sample.compare(Threshold(), sample.Sample(10.0, slack=0.0, doubt="busy"), measured, what="x")
    assert (doubted.holds, doubted.toward, doubted.doubt) == (None, True, "busy")


@pytest.mark.parametrize("needed", ["all", "most", "one", 0.5, 0.66, 1.0])
@pytest.mark.parametrize("number", range(7))
def test_a_verdict_is_what_every_way_to_end_agrees_on(needed: Any, number: int) -> None:
    for states in itertools.combinations_with_replacement([True, False, None], number):
        check_verdict(needed, list(states))


def check_verdict(needed: Any, states: list[bool | None]) -> None:
    found = [Comparison(what="x", holds=state) for state in states]
    open_ones = sum(state is None for state in states)
    ends = set()
    for choice in itertools.product([True, False], repeat=open_ones):
        rest = iter(choice)
        yes = sum(next(rest) if state is None else state for state in states)
        share = {"all": yes == len(states), "most": 2 * yes > len(states), "one": yes >= 1}
        ends.add(share[needed] if isinstance(needed, str) else yes >= needed * len(states) - 1e-9)
    expected = "inconclusive" if len(ends) > 1 else "reproduced" if ends == {True} else "not reproduced"
    assert decide.verdict_of(needed, found) == (expected if states else "not comparable")
    # With something missing nothing is known but what it could not change.
    absent = Comparison(what="needs y", missing="y")
    settled = {"all": ("not reproduced", False), "one": ("reproduced", True)}
    verdict, state = settled.get(needed, ("", None))
    expected = verdict if state is not None and state in states else "not comparable"
    assert decide.verdict_of(needed, [*found, absent]) == expected


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "inconclusive"], "inconclusive"),
        (["not comparable", "inconclusive", "reproduced"], "not comparable"),
        (["not comparable", "not reproduced"], "not reproduced"),
    ],
)
def test_a_claim_holds_if_each_rule_does(verdicts: Any, expected: str) -> None:
    assert decide.together(verdicts) == expected


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
        found = list(table_comparisons(rule, spec_of(folder, "tables", t=table)))
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
    (whole,) = table_comparisons(rule, spec_of(tmp_path, "tables", t=grid([("bleu", "law")], cells)))
    for of_row in cells.values():
        of_row[0].pop("values")
    (means,) = table_comparisons(rule, spec_of(tmp_path, "tables", t=grid([("bleu", "law")], cells)))
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
        return [one.in_print for one in table_comparisons(rule, spec)]

    assert in_print() == [True, False]
    assert in_print(below=0.1) == [False, True]  # 26.1 less 26.0 is 0.1 on the page
    assert in_print(times=0.5, below=13.05) == [False, True]  # 13.1 and 13.0
    assert in_print(columns="average") == [None]


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
        found = table_comparisons(CellsRule(kind="cells", table="t", **keys), spec)
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
        ("needs thesis in T (no domain of this study stands for it)", None)
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
    found = [one.missing for one in table_comparisons(rule, spec_of(tmp_path, "tables", t=table))]
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
    made = resources_table.build(
        specs.ResourceTableSpec.model_validate({"title": "T", "rows": told, "measure": measured})
    )
    spec = spec_of(tmp_path, "tables", t=made.model_dump(mode="json"))

    def one(**keys: Any) -> Comparison:
        (found,) = table_comparisons(CellsRule(kind="cells", table="t", rows=["a"], than=["b"], **keys), spec)
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
    found = list(star_comparisons(rule, spec_of(tmp_path, "tables", t=table)))
    assert [(one.toward, one.holds) for one in found[:4]] == [
        (True, True),
        (False, False),
        (False, False),
        (True, None),
    ]
    assert (found[0].left, found[0].right, found[0].difference) == (20.0, 18.5, 1.5)
    assert [one.missing for one in found[4:]] == [
        "the significance test in T (not made)",
        "BLEU on News of C in T (no number)",
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=8))
def test_rank_correlation_against_scipy(pairs: list[tuple[int, int]]) -> None:
    left, right = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = correlation.spearman(left, right)
    if len(set(left)) < 2 or len(set(right)) < 2:
        assert found == 0.0
    else:
        assert found == pytest.approx(scipy.stats.spearmanr(left, right).statistic, abs=1e-9)


def test_metrics_agree_seed_by_seed_and_means_alone_count_as_one_seed(tmp_path: Path) -> None:
    bleu = {"a": [1.0, 3.0, 1.0], "b": [2.0, 2.0, 2.0], "c": [3.0, 1.0, 3.0]}
    chrf = {"a": [5.0, 5.0, 5.0], "b": [6.0, 6.0, 6.0], "c": [7.0, 7.0, 7.0]}
    table = grid([("bleu", "avg"), ("chrf", "avg")], {name: [cell(bleu[name]), cell(chrf[name])] for name in bleu})
    rule = AgreementRule(kind="agreement", table="t", rows=("a", "b", "c"), metrics=("bleu", "chrf", "comet"), above=0)
    found, missing = sorted(
        agreement_comparisons(rule, spec_of(tmp_path, "tables", t=table)), key=lambda one: one.missing is not None
    )
    assert found.left == pytest.approx((1 - 1 + 1) / 3) and found.num_seeds == 3 and found.holds is None
    assert missing.missing == "COMET in T (no run has it)"
    table["rows"].append({"group": "G", "label": "D", "method": "d", "cells": [cell([1.0]), {}]})
    whole = rule.model_copy(update={"rows": ("a", "b", "c", "d"), "metrics": ("bleu", "chrf")})
    lacking, same = agreement_comparisons(whole, spec_of(tmp_path, "tables", t=table))
    assert lacking.missing == "average chrF of D in T (no number)" and same.left == found.left
    for row in table["rows"]:
        for of_row in row["cells"]:
            of_row.pop("values", None)
    alone = next(iter(agreement_comparisons(rule, spec_of(tmp_path, "tables", t=table))))
    others = [one for one in agreement_comparisons(rule, spec_of(tmp_path, "tables", t=table)) if one.left is not None]
    assert alone.missing is not None and (others[0].left, others[0].num_seeds) == (pytest.approx(1.0), 1)


@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(NUMBERS, min_size=24, max_size=24),
    reduce=st.sampled_from(
        [{}, {"domain": "min", "expert": "max"}, {"expert": "max", "domain": "min"}, {"expert": "mean"}]
    ),
)
def test_measures_are_reduced_as_asked(values: list[float], reduce: dict[str, Any]) -> None:
    v_LDE = np.array(values).reshape(2, 3, 4)
    measures = [
        measure("gate", v_LDE[layer, domain, expert], layer=layer + 1, domain=f"d{domain}", expert=expert + 1)
        for layer, domain, expert in np.ndindex(2, 3, 4)
    ]
    rule = MeasureRule(kind="measure", figure="f", name="gate", methods=("m",), each=("layer",), reduce=reduce)
    with TemporaryDirectory() as folder:
        found = list(measure_comparisons(rule, spec_of(folder, "figures", f=figure(*measures))))
    axes = {"domain": 0, "expert": 1}
    for one, v_DE in zip(found, v_LDE, strict=True):
        v, left = v_DE, list(axes)
        for key in (key for key in axes if key not in reduce):
            v = v.mean(axis=left.index(key))
            left.remove(key)
        for key, how in reduce.items():
            v = {"min": np.min, "max": np.max, "mean": np.mean}[how](v, axis=left.index(key))
            left.remove(key)
        assert one.left == pytest.approx(float(v))


def test_measures_against_others_place_by_place(tmp_path: Path) -> None:
    measures = [
        measure(
            "entropy",
            0.5 * layer + (0.2 if side == "decoder" else 0.0) + 0.01 * seed,
            side=side,
            layer=layer,
            seed=seed,
        )
        for side in ("encoder", "decoder")
        for layer in (1, 2, 3)
        for seed in (1, 2, 3)
    ]
    spec = spec_of(tmp_path, "figures", f=figure(*measures))

    def found(**keys: Any) -> list[Comparison]:
        return list(measure_comparisons(MeasureRule(kind="measure", figure="f", methods=["m"], **keys), spec))

    at = {"at": {"side": "decoder"}, "than": {"at": {"side": "encoder"}}}
    assert [one.difference for one in found(name="entropy", each=["layer"], **at)] == pytest.approx([0.2] * 3)
    (whole,) = found(name="entropy", **at)
    assert whole.left == pytest.approx(1.22) and whole.right == pytest.approx(1.02) and whole.num_seeds == 3
    (ends,) = found(name="entropy", at={"side": "encoder", "layer": "last"}, than={"at": {"layer": "first"}})
    assert ends.difference == pytest.approx(1.0)
    assert ends.what == " against ".join(
        f"M (entropy of the proportions, encoder, {w} layer)" for w in ("last", "first")
    )
    assert [one.missing for one in found(name="silhouette")] == [
        "silhouette of the sentence vectors by domain of m in F (not measured)"
    ]
    absent = measure_comparisons(
        MeasureRule(kind="measure", figure="f", name="entropy", methods=["m"], than={"methods": ["x", "y"]}), spec
    )
    assert [one.missing for one in absent] == ["x in F (not part of this study)", "y in F (not part of this study)"]


def test_a_run_that_never_gets_there_counts_all_its_updates(tmp_path: Path) -> None:
    rule = MeasureRule(
        kind="measure",
        figure="f",
        name="updates_to",
        if_none="updates",
        methods=["a"],
        than={"methods": ["b"]},
        below=0,
    )
    measures = [measure("updates", 1000, method=method, seed=seed) for method in "ab" for seed in (1, 2, 3)]
    measures += [measure("updates_to", 500 + seed, method="b", seed=seed) for seed in (1, 2, 3)]
    measures += [measure("updates_to", 400, method="a", seed=2)]
    (one,) = measure_comparisons(rule, spec_of(tmp_path, "figures", f=figure(*measures)))
    assert one.left == pytest.approx((1000 + 400 + 1000) / 3) and one.right == pytest.approx(502)
    assert (one.toward, one.num_seeds) == (False, 3)


def test_a_number_of_all_seeds_together_stands_fast(tmp_path: Path) -> None:
    rule = MeasureRule(kind="measure", figure="f", name="a", methods=["m"], than={"name": "b"}, above=0)
    seeds = [measure("a", 1.0 + 0.1 * seed, seed=seed) for seed in (1, 2, 3)]
    (one,) = measure_comparisons(rule, spec_of(tmp_path, "figures", f=figure(*seeds, measure("b", 0.5, seed=None))))
    assert (one.num_seeds, one.holds) == (3, True)
    # Of one run whose seed is not known, it is a number of one seed.
    (one,) = measure_comparisons(
        rule, spec_of(tmp_path, "figures", f=figure(measure("a", 1.0, seed=None), measure("b", 0.5, seed=None)))
    )
    assert (one.num_seeds, one.holds, one.toward) == (1, None, True)


def test_trends_are_taken_seed_by_seed_and_over_several_systems(tmp_path: Path) -> None:
    curves = {1: [3.0, 2.0, 1.0], 2: [1.0, 3.0, 2.0], 3: [2.0, 2.0, 2.0]}
    measures = [measure("e", v, seed=s, layer=i) for s, values in curves.items() for i, v in enumerate(values)]
    sweep = [measure("bleu", v, method=f"s{i}", value=v) for i, v in enumerate((0.0, 0.5, 1.0))]
    spec = spec_of(tmp_path, "figures", f=figure(*measures, *sweep, measure("bleu", 9.0, method="mixed")))
    (one,) = trend_comparisons(
        TrendRule(kind="trend", figure="f", name="e", methods=["m"], over="layer", below=0), spec
    )
    assert one.left == pytest.approx(statistics.fmean([-1.0, 0.5, 0.0])) and one.num_seeds == 3
    (one,) = trend_comparisons(TrendRule(kind="trend", figure="f", name="bleu", over="value"), spec)
    assert (one.left, one.num_seeds) == (1.0, 1)
    (one,) = trend_comparisons(TrendRule(kind="trend", figure="f", name="bleu", methods=["s0"], over="value"), spec)
    assert one.missing == "BLEU of S0 for two values of value in F (not measured)"


@pytest.mark.parametrize("content", ["{", "[]", '{"measures": [{"method": "m"}]}', '{"measures": [{"value": "x"}]}'])
def test_a_file_that_is_no_figure_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "figure.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"figure\.json: expected the numbers of a figure"):
        read_measures(path)
