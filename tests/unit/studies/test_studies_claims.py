"""What a study gives to the claims of a paper, and that `paper` has everything that they read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from mdnmt.config.claims import Claim, MeasureRule, NotedRule, TrendRule, is_own, uses
from mdnmt.paper import (
    ambiguity,
    curve_measures,
    domain_attention,
    gates,
    option_sweep,
    proportion_measures,
    tsne,
)
from mdnmt.studies.claim_specs import claims_spec
from mdnmt.studies.figure_specs import paper_figure
from mdnmt.studies.places import Places
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study
from mdnmt.studies.table_specs import paper_table

CONFIG = Path(__file__).parents[3] / "config"
PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")
# What each kind of figure measures stands, between backticks, in the docstring of the function that measures it.
MEASURED = {
    "curves": curve_measures.measures,
    "proportion_words": proportion_measures.measures,
    "proportion_heatmap": proportion_measures.measures,
    "proportion_histograms": proportion_measures.measures,
    "option_sweep": option_sweep.measures,
    "ambiguity": ambiguity.measures,
    "domain_attention": domain_attention.measures,
    "tsne": tsne.measures,
    "gate_use": gates.measures,
}


@cache
def study(name: str) -> Study:
    return resolve(CONFIG, name, Path("no-corpora"))


def places() -> Places:
    return Places(
        task=lambda name: f"tasks/{name}",
        run=lambda run: f"runs/{run.row}",
        test=lambda run: f"tests/{run.row}",
        comet=lambda run: f"comet/{run.row}",
        labels=lambda name: f"labels/{name}",
        copied=lambda name: f"copied/{name}",
        analysis=lambda run: f"analyses/{run.row}",
        ambiguity=lambda name: f"ambiguity/{name}",
        significance=lambda key: f"significance/{key}",
        measure=lambda name: f"measure/{name}",
        table=lambda key, kind: f"tables/{key}.{kind}",
        figure=lambda key, kind: f"figures/{key}.{kind}",
        runs_table="runs.tsv",
    )


def lacks(claim: Claim, paper: str, study: Study) -> list[str]:
    """Return what a claim reads and the study does not make."""
    missing = []
    for rule in claim.rules:
        for kind, item, methods in uses(rule):
            key = item if is_own(item) else f"{paper}-{item}"
            if key not in getattr(study.config, kind):
                missing.append(key)
                continue
            shown = (paper_table if kind == "tables" else paper_figure)(study, key)[0]
            suffix = f"-{shown.variant.suffix}" if getattr(shown, "variant", None) else ""
            missing += [f"{key}: {name}" for name in methods if f"{name}{suffix}" not in study.methods]
            if isinstance(rule, MeasureRule | TrendRule):
                than = getattr(rule, "than", None)
                named = {rule.name, *([than.name] if than and than.name else [])}
                told = set(re.findall(r"`(\w+)", MEASURED[shown.kind].__doc__ or ""))
                told |= {re.sub("function$", word, name) for name in told for word in ("shared", "specific")}
                told |= {f"final_{panel}" for panel in ("train_loss", "train_accuracy", "valid_bleu", "valid_accuracy")}
                missing += [f"{key}: {name}" for name in named - told]
    return missing


@pytest.mark.parametrize("paper", PAPERS)
def test_the_paper_study_makes_all_that_claims_read(paper: str) -> None:
    whole = study("paper")
    decided = {
        name: claim
        for name, claim in whole.claims[paper].items()
        if not any(isinstance(rule, NotedRule) for rule in claim.rules)
    }
    assert decided
    found = {name: lacks(claim, paper, whole) for name, claim in decided.items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_claims_read_our_own_tables_beside_the_papers() -> None:
    spec = claims_spec(study("paper"), "song2026", places())
    assert spec.tables["mdnmt-labels"] == Path("tables/mdnmt-labels.json")
    assert spec.tables["table6"] == Path("tables/song2026-table6.json")
    assert spec.key("mdnmt-labels") == "mdnmt-labels" and spec.key("table6") == "song2026-table6"
    assert spec.unusable == {}
    assert "mdnmt-labels" not in claims_spec(study("paper"), "jiang2020", places()).tables


def test_the_bleu_of_a_claim_is_the_one_that_is_compared_with_print() -> None:
    jiang = claims_spec(study("paper"), "jiang2020", places())
    assert {jiang.printed_bleu[item] for item in ("table2", "table4", "table8")} == {"bleu_tok"}
    assert claims_spec(study("paper"), "zhang2021", places()).printed_bleu["table3-zh-en"] == "bleu"


def test_a_toy_of_comet_decides_no_claim() -> None:
    assert claims_spec(study("smoke"), "song2026", places()).unusable == {
        "comet": "scored with a toy of random weights"
    }
