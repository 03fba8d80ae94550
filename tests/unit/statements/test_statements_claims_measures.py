"""Rules on the numbers of figures against an independent computation."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import scipy.stats
from claim_data import compared, figure, measure, spec_of
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt.errors import DataError
from mdnmt.statements.claims.evidence import read_measures
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.rules.measure import MeasureRule

NUMBERS = st.floats(0, 60).map(lambda x: round(x, 2))


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
        found = list(compared(rule, spec_of(folder, "figures", f=figure(*measures))))
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
        return list(compared(MeasureRule(kind="measure", figure="f", methods=["m"], **keys), spec))

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
    absent = compared(
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
    (one,) = compared(rule, spec_of(tmp_path, "figures", f=figure(*measures)))
    assert one.left == pytest.approx((1000 + 400 + 1000) / 3) and one.right == pytest.approx(502)
    assert (one.toward, one.num_seeds) == (False, 3)


def test_a_number_of_all_seeds_together_stands_fast(tmp_path: Path) -> None:
    rule = MeasureRule(kind="measure", figure="f", name="a", methods=["m"], than={"name": "b"}, above=0)
    seeds = [measure("a", 1.0 + 0.1 * seed, seed=seed) for seed in (1, 2, 3)]
    (one,) = compared(rule, spec_of(tmp_path, "figures", f=figure(*seeds, measure("b", 0.5, seed=None))))
    assert (one.num_seeds, one.holds) == (3, True)
    # Of one run whose seed is not known, it is a number of one seed.
    (one,) = compared(
        rule, spec_of(tmp_path, "figures", f=figure(measure("a", 1.0, seed=None), measure("b", 0.5, seed=None)))
    )
    assert (one.num_seeds, one.holds, one.toward) == (1, None, True)


def test_two_numbers_of_the_same_models_are_compared_seed_by_seed(tmp_path: Path) -> None:
    first, last = [0.2, 0.5, 0.8], [0.3, 0.61, 0.89]  # the seeds differ more than the layers do
    measures = [
        measure("e", value, seed=seed, layer=layer)
        for layer, values in ((1, first), (2, last))
        for seed, value in enumerate(values)
    ]
    rule = MeasureRule(
        kind="measure", figure="f", name="e", methods=["m"], at={"layer": "last"}, than={"at": {"layer": "first"}}
    )
    (one,) = compared(rule, spec_of(tmp_path, "figures", f=figure(*measures)))
    assert (one.num_seeds, one.holds) == (3, True)
    assert one.p == pytest.approx(scipy.stats.ttest_rel(last, first).pvalue)
    # Models of another system are independent, also with the same seeds.
    others = [{**one, "method": "n"} if one["at"]["layer"] == 1 else one for one in measures]
    together = rule.model_copy(update={"methods": ()})
    (one,) = compared(together, spec_of(tmp_path, "figures", f=figure(*others)))
    assert one.holds is None and one.p == pytest.approx(scipy.stats.ttest_ind(last, first, equal_var=False).pvalue)


def test_a_file_that_is_no_figure_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "figure.json"
    for content in ("{", "[]", '{"measures": [{"method": "m"}]}', '{"measures": [{"value": "x"}]}'):
        path.write_text(content)
        with pytest.raises(DataError, match=r"figure\.json: expected the numbers of a figure"):
            read_measures(path)


def test_sides_without_a_place_in_common_cannot_be_compared(tmp_path: Path) -> None:
    measures = [measure("entropy", 0.5, method="m", layer=1), measure("entropy", 0.4, method="n", layer=2)]
    rule = MeasureRule(
        kind="measure", figure="f", name="entropy", methods=["m"], each=["layer"], than={"methods": ["n"]}
    )
    (one,) = compared(rule, spec_of(tmp_path, "figures", f=figure(*measures)))
    assert one.missing is not None and one.missing.startswith("entropy in F (the two sides have no place in common")
