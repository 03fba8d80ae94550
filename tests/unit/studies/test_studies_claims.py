"""What a study gives to the claims of a paper, and that `paper` has everything that they read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from mdnmt.config.claims import Claim, is_own, without_tables
from mdnmt.config.study import load_study
from mdnmt.errors import ConfigError
from mdnmt.exhibits import curve_measures, proportion_measures
from mdnmt.exhibits.registry import figure_class
from mdnmt.exhibits.request import paper_figure, paper_table
from mdnmt.statements.claims.rules.measure import MeasureRule
from mdnmt.statements.claims.rules.noted import NotedRule
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study
from mdnmt.studies.study_exhibits import load_papers

CONFIG = Path(__file__).parents[3] / "config"
PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")
# The docstring of a kind's `measures` names them between backticks, or that of the function that it calls.
MEASURED = {
    "curves": curve_measures.measures,
    "proportion_words": proportion_measures.measures,
    "proportion_heatmap": proportion_measures.measures,
    "proportion_histograms": proportion_measures.measures,
}


@cache
def study(name: str) -> Study:
    return resolve(CONFIG, name, Path("no-corpora"))


def spec_of(name: str, paper: str) -> ClaimsSpec:
    return claims_spec(study(name), paper, ResultPaths(study(name), Path("results")))


def _measures_of(kind: str) -> str:
    return MEASURED.get(kind, figure_class(kind).measures).__doc__ or ""


def lacks(claim: Claim, paper: str, study: Study) -> list[str]:
    """Return what a claim reads and the study does not make."""
    missing = []
    for rule in claim.rules:
        for kind, item, methods, _ in rule.uses():
            key = item if is_own(item) else f"{paper}-{item}"
            if key not in getattr(study.config, kind):
                missing.append(key)
                continue
            shown = (paper_table if kind == "tables" else paper_figure)(study, key)[0]
            suffix = f"-{shown.variant.suffix}" if getattr(shown, "variant", None) else ""
            missing += [f"{key}: {name}" for name in methods if f"{name}{suffix}" not in study.methods]
            if isinstance(rule, MeasureRule):
                than = getattr(rule, "than", None)
                named = {rule.name, *([than.name] if than and than.name else [])}
                told = set(re.findall(r"`(\w+)", _measures_of(shown.kind)))
                told |= {re.sub("function$", word, name) for name in told for word in ("shared", "specific")}
                told |= {f"final_{panel}" for panel in ("train_loss", "train_accuracy", "valid_bleu", "valid_accuracy")}
                missing += [f"{key}: {name}" for name in named - told]
    return missing


@pytest.mark.slow
@pytest.mark.parametrize(("name", "paper"), [(name, paper) for paper in PAPERS for name in ("paper", paper)])
def test_the_paper_study_and_that_of_one_paper_make_all_that_claims_read(name: str, paper: str) -> None:
    whole = study(name)
    decided = {
        name: claim
        for name, claim in whole.claims[paper].items()
        if not any(isinstance(rule, NotedRule) for rule in claim.rules)
    }
    assert decided
    found = {name: lacks(claim, paper, whole) for name, claim in decided.items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_claims_read_our_own_tables_beside_the_papers() -> None:
    spec = spec_of("paper", "song2026")
    assert spec.tables["mdnmt-labels"] == Path("results/paper/tables/mdnmt-labels.json")
    assert spec.tables["table6"] == Path("results/paper/tables/song2026-table6.json")
    assert spec.key("mdnmt-labels") == "mdnmt-labels" and spec.key("table6") == "song2026-table6"
    assert spec.unusable == {}
    assert "mdnmt-labels" not in spec_of("paper", "jiang2020").tables


def test_the_bleu_of_a_claim_is_the_one_that_is_compared_with_print() -> None:
    jiang = spec_of("paper", "jiang2020")
    assert {jiang.printed_bleu[item] for item in ("table2", "table4", "table8")} == {"bleu_tok"}
    assert spec_of("paper", "zhang2021").printed_bleu["table3-zh-en"] == "bleu"


@pytest.mark.slow
def test_a_claim_is_decided_without_tables_that_the_study_leaves_out() -> None:
    spec = spec_of("replication", "jiang2020")
    labels = spec.claims["jiang-t5-labels-matter"]
    assert labels.tables == ("table5-en-fr", "table3")
    assert spec.left_out["jiang-t5-labels-matter"] == ("table5-en-de", "table5-zh-en")
    assert "jiang-all-domains" not in spec.left_out
    kept = spec_of("paper", "jiang2020")
    assert kept.left_out == {} and "table5-en-de" in kept.claims["jiang-t5-labels-matter"].tables
    only = without_tables(labels, ["table5-en-de", "table5-en-fr", "table5-zh-en"])
    assert only == labels, "a rule that would lose all its tables keeps them and stays undecided"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("jiang2020-table3", "jiang2020-table3 is shown by this study"),
        ("jiang2020-table5-en-it", "jiang2020 has no table 'table5-en-it'"),
        ("nobody2020-table1", "nobody2020"),
    ],
)
def test_tables_that_a_claim_goes_without_are_left_out_of_the_study(key: str, message: str) -> None:
    config = load_study(CONFIG, "replication").model_copy(update={"claims_without": (key,)})
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_papers(CONFIG, config, "study")


def test_a_toy_of_comet_decides_no_claim() -> None:
    assert spec_of("smoke", "song2026").unusable == {"comet": "scored with a toy of random weights"}
