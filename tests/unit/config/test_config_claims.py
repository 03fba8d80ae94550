"""config/claims: every claim is there, names what there is, and is told in docs/claims.md as it is decided."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.claims import Claim, ClaimsConfig, check_claims, load_claims, row_names
from mdnmt.config.loader import validate_model
from mdnmt.config.method import MethodIndex
from mdnmt.config.paper import PaperConfig, load_paper
from mdnmt.errors import ConfigError
from mdnmt.statements.claims.wording import listing, title_of

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"
METHODS = set(MethodIndex(CONFIG).names)
PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")
# The claims that reading the papers had brought up; more may be added.
IDS = [
    "jiang-t2-mixing-best",
    "jiang-t3-mixing-best",
    "jiang-t4-mixing-best-but-thesis",
    "jiang-t4-thesis-hard",
    "jiang-single-does-not-transfer",
    "jiang-pooling-can-hurt",
    "jiang-f6-faster",
    "jiang-t5-labels-matter",
    "jiang-t6-combination",
    "jiang-t8-postnorm-collapse",
    "jiang-f7-words-differ",
    "jiang-f7-frequency",
    "jiang-f7-end-shared",
    "jiang-f8-top-skewed",
    "jiang-f9-decoder-skewed",
    "jiang-decoder-little",
    "jiang-ambiguity",
    "jiang-same-size",
    "jiang-strong-baseline",
    "jiang-f7-examples",
    "jiang-position",
    "jiang-smoothing-tradeoff",
    "zhang-unsup-gain",
    "zhang-guided-gain",
    "zhang-enfr-trend",
    "zhang-tag-worse",
    "zhang-words-domain",
    "zhang-tsne",
    "zhang-placement",
    "zhang-unsup-clusters",
    "song-t3-best-bleu",
    "song-t3-stars",
    "song-others-trade",
    "song-mbart-trade",
    "song-t4-lean",
    "song-t5-best",
    "song-t5-mbart-zero",
    "song-t6-damha",
    "song-t6-dmoe-over-moe",
    "song-t6-loss-small",
    "song-f3-train",
    "song-f3-valid",
    "song-f4-super-expert",
    "song-f4-balanced",
    "song-f5-tsne",
    "song-metrics-agree",
    "phan-direct-lower",
    "phan-edc-fails",
]


def claim_of(*rules: dict[str, Any]) -> Claim:
    value = {"where": "sec. 1", "says": "So it is.", "kind": "shape", "rules": rules}
    return validate_model({"claims": {"x": value}}, ClaimsConfig, "claims.yaml").claims["x"]


def paper() -> PaperConfig:
    rows = [{"group": "G", "method": "dsa"}, {"group": "G", "best_of": ["mixed", "mixed-enlarged"]}]
    table = {"kind": "scores", "title": "T", "rows": rows, "printed_columns": {"law": "Law"}}
    shown = {"kind": "tsne", "title": "T", "caption": "C", "methods": ["mixed", "waldm-smoothing-0"]}
    varied = {**table, "variant": {"suffix": "post"}}
    return PaperConfig.model_validate(
        {"title": "P", "citation": "C", "tables": {"table2": table, "table8": varied}, "figures": {"figure5": shown}}
    )


def own() -> PaperConfig:
    row = {"group": "G", "method": "dmoe-mix", "labels": ["given", "wrong", "missing"]}
    table = {"kind": "scores", "title": "T", "rows": [row]}
    return PaperConfig.model_validate({"title": "P", "citation": "C", "tables": {"labels": table}})


def test_all_claims_are_there_once() -> None:
    found = [name for name in PAPERS for name in load_claims(CONFIG, name)]
    assert set(IDS) <= set(found)
    assert len(set(found)) == len(found)
    assert {path.stem for path in (CONFIG / "claims").glob("*.yaml")} == set(PAPERS)


def test_claims_name_tables_figures_and_methods_that_there_are() -> None:
    own = load_paper(CONFIG, "mdnmt")
    for name in PAPERS:
        check_claims(load_claims(CONFIG, name), load_paper(CONFIG, name), METHODS, f"config/claims/{name}.yaml", own)


@pytest.mark.parametrize("name", PAPERS)
def test_the_page_tells_the_claims_as_they_are_decided(name: str) -> None:
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- claims of {name} -->\n(.*?)<!-- end -->\n", page, re.DOTALL)
    assert found is not None
    assert found[1] == listing(load_claims(CONFIG, name)), (
        f"docs/claims.md: between its markers put mdnmt.statements.claims.wording.listing("
        f"load_claims(Path('config'), '{name}'))"
    )


LABELS = {"kind": "labels", "table": "mdnmt-labels", "labels": ["wrong"], "rows": ["dmoe-mix"]}
TABLE = {"kind": "cells", "table": "table2", "rows": ["dsa"], "than": ["mixed"]}


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({**TABLE, "table": "table22"}, "rules.0: the paper has no table 'table22' (did you mean 'table2'?)"),
        ({**TABLE, "than": ["mixd"]}, "rules.0: there is no method 'mixd' (did you mean 'mixed'?)"),
        ({**TABLE, "than": ["wdc"]}, "rules.0: table2 does not show 'wdc'; there are: dsa, mixed, mixed-enlarged"),
        ({**TABLE, "columns": ["laws"]}, "rules.0: table2 has no domain 'laws' (did you mean 'law'?)"),
        ({**TABLE, "leaving_out": ["x"]}, "rules.0: table2 has no domain 'x'; there are: law"),
        ({**TABLE, "table": None, "tables": {"table2": "table3"}}, "the paper has no table 'table3'"),
        ({"kind": "measure", "figure": "figure6", "name": "n", "methods": ["mixed"]}, "no figure 'figure6' (did you"),
        ({"kind": "measure", "figure": "figure5", "name": "n", "methods": ["dsa"]}, "figure5 does not show 'dsa'"),
        (
            {"kind": "measure", "figure": "figure5", "name": "n", "methods": ["mixed"], "than": {"methods": ["dsa"]}},
            "figure5 does not show 'dsa'",
        ),
        ({"kind": "stars", "table": "table2", "rows": ["wdc"]}, "table2 does not show 'wdc'"),
        ({**TABLE, "metrics": ["comet"]}, "rules.0: table2 has no metric 'comet'; there are: bleu"),
        ({**LABELS, "table": "mdnmt-label"}, "the paper has no table 'mdnmt-label' (did you mean 'mdnmt-labels'?)"),
        ({**LABELS, "rows": ["dsa"]}, "mdnmt-labels does not show 'dsa'"),
        ({**LABELS, "labels": ["predicted"]}, "mdnmt-labels does not show dmoe-mix under the labels 'predicted'"),
    ],
)
def test_a_claim_about_what_there_is_not_is_refused(rule: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_claims(
            {"x": claim_of({"kind": "noted", "why": "w"}), "y": claim_of(rule)}, paper(), METHODS, "claims.yaml", own()
        )
    assert str(caught.value).startswith("claims.yaml: claims.y.rules.0: ") and told in str(caught.value)


def test_what_a_paper_shows_may_be_named() -> None:
    check_claims(
        {
            "x": claim_of(
                {**TABLE, "than": ["mixed-enlarged"], "columns": ["law"]},
                {**TABLE, "table": None, "tables": {"table8": "table2"}, "than": []},
                {"kind": "measure", "figure": "figure5", "name": "n", "methods": ["waldm-smoothing-0"]},
                {"kind": "measure", "figure": "figure5", "name": "n", "not_tested": "the threshold is ours"},
                {**LABELS, "labels": ["wrong", "missing"], "than": ["dmoe-mix"]},
            )
        },
        paper(),
        METHODS,
        "claims.yaml",
        own(),
    )


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({**TABLE, "above": 1, "below": 2}, "a rule has one of above, below, within"),
        ({**TABLE, "tables": {"a": "b"}}, "either `table` or `tables`"),
        ({**TABLE, "table": None}, "either `table` or `tables`"),
        ({**TABLE, "than": []}, "without `than`, a rule needs other `tables` or `than_columns`"),
        ({**TABLE, "needed": 1.5}, "needed"),
        ({**TABLE, "needed": "some"}, "needed"),
        ({**TABLE, "within": 0}, "within"),
        ({**TABLE, "metrics": ["blue"]}, "did you mean 'bleu'?"),
        ({**TABLE, "kind": "cell"}, "did you mean 'cells'?"),
        ({**TABLE, "row": ["dsa"]}, "unknown key 'claims.x.rules.0.row' (did you mean 'rows'?)"),
        ({**LABELS, "labels": ["given"]}, "gold labels (given) are what the others are compared with; leave them out"),
        ({**LABELS, "labels": []}, "labels"),
        ({"kind": "noted"}, "the key 'claims.x.rules.0.why' is missing"),
        ({"kind": "agreement", "table": "t", "rows": ["a", "b", "c"], "metrics": ["bleu"]}, "rules.0.metrics"),
        ({"table": "t"}, "the key 'claims.x.rules.0.kind' is missing"),
    ],
)
def test_mistakes_in_a_rule_are_one_clear_line(rule: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        claim_of(rule)
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_a_claim_names_each_item_once() -> None:
    found = claim_of(
        {**TABLE, "table": None, "tables": {"table5": "table2", "table6": "table2"}},
        {"kind": "stars", "table": "table3", "rows": ["dsa"]},
        {"kind": "measure", "figure": "figure5", "name": "n", "than": {"figure": "figure7"}},
        {"kind": "noted", "why": "w"},
    )
    assert found.tables == ("table5", "table2", "table6", "table3") and found.figures == ("figure5", "figure7")


def test_a_method_may_stand_under_the_name_that_was_chosen_for_it() -> None:
    tables = paper().tables
    assert row_names(tables["table2"]) == {
        "dsa": ("dsa",),
        "mixed": ("mixed", "mixed-enlarged"),
        "mixed-enlarged": ("mixed", "mixed-enlarged"),
    }
    both = ("mixed-post", "mixed-enlarged-post")
    assert row_names(tables["table8"]) == {"dsa": ("dsa-post",), "mixed": both, "mixed-enlarged": both}
    # A study gives the rows of a variant their names already.
    renamed = tables["table8"].rows[0].model_copy(update={"method": "dsa-post"})
    assert row_names(tables["table8"].model_copy(update={"rows": (renamed,)})) == {"dsa": ("dsa-post",)}


@pytest.mark.parametrize(
    ("item", "title"),
    [
        ("table2", "Table 2"),
        ("table5-en-de", "Table 5 (EN-DE)"),
        ("figure3a", "Figure 3a"),
        ("figure-ambiguity", "Figure ambiguity"),
        ("results", "Results"),
        ("mdnmt-labels", "Labels"),
    ],
)
def test_items_are_called_as_readers_call_them(item: str, title: str) -> None:
    assert title_of(item) == title


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "is above that of mixed, in all comparisons."),
        ({"above": 1.5}, "is more than 1.5 above that of mixed, in all comparisons."),
        ({"above": -1}, "is above that of mixed minus 1, in all comparisons."),
        ({"below": -1}, "is more than 1 below that of mixed, in all comparisons."),
        ({"below": 0.5, "needed": 0.66}, "is below that of mixed plus 0.5, in at least 66 % of the comparisons."),
        ({"within": 0.5, "needed": "most"}, "differs by less than 0.5 from that of mixed, in more than half of the "),
        ({"below": 0, "times": 0.5, "needed": "one"}, "is below 0.5 times that of mixed, in at least one of the "),
        (
            {"above": 2, "times": 3, "per_row": True},
            "is above 3 times that of mixed plus 2, in all comparisons of each",
        ),
    ],
)
def test_a_rule_is_told_with_its_threshold(keys: dict[str, Any], words: str) -> None:
    text = claim_of({**TABLE, **keys}).rules[0].words()
    assert text.startswith(f"Table 2: BLEU on each domain of dsa {words}")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"above": 2}, "the BLEU on average that wrong domain labels cost dmoe-mix is above 2, in all comparisons."),
        (
            {"labels": ["wrong", "missing"], "than": ["dsa"], "below": 0, "metrics": ["chrf"], "columns": "each"},
            "the chrF on each domain that wrong or missing domain labels cost dmoe-mix is below what they cost dsa, in "
            "all comparisons.",
        ),
    ],
)
def test_a_rule_about_labels_is_told_with_its_threshold(keys: dict[str, Any], words: str) -> None:
    assert claim_of({**LABELS, **keys}).rules[0].words() == f"Labels: {words}"
