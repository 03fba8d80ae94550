"""What the claims of `replication` compare, known before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.exhibits.request import paper_table
from mdnmt.extras.power.claim_contrasts import Design, designs
from mdnmt.extras.power.seed_spread import Components, SeedSpread, Spread
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

CONFIG = Path(__file__).parents[4] / "config"
OF_METRIC = dict.fromkeys(("bleu", "bleu_tok", "chrf"), Components(seed=0.09, interaction=0, sentences=60, freedom=9))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Design]:
    folder = tmp_path_factory.mktemp("nothing")
    study = resolve(CONFIG, "replication", folder, None)
    spread = Spread(SeedSpread(made="", sources=(), domain=OF_METRIC, average=OF_METRIC))
    return {one.name: one for one in designs(study, ResultPaths(study, folder), spread)}


def test_two_rows_against_one_in_two_metrics_with_bounds_and_printed_differences(found: dict[str, Design]) -> None:
    bleu, chrf = found["song-t5-gain"].groups
    assert [one.bound for one in (*bleu.contrasts, *chrf.contrasts)] == [0.27, 0.27, 0.17, 0.17]
    assert bleu.rules == 2 and bleu.needed == "all"
    # config/published/song2026.tsv, T5: 21.94 (Domain-only) and 21.90 (Domain+Sentence) less 21.35 (Transformer).
    assert [round(one.printed or 0, 2) for one in bleu.contrasts] == [0.59, 0.55]
    assert {one.right.row for one in bleu.contrasts if one.right} == {"replication-en-fr/mixed"}
    assert set(found["song-t5-gain"].rows) == {
        f"replication-en-fr/{name}" for name in ("mixed", "damha-dmoe-domain", "damha-dmoe-mix-loss")
    }


def test_each_column_each_table_and_each_row_is_a_comparison(found: dict[str, Design]) -> None:
    (all_domains,) = found["jiang-all-domains"].groups
    assert len(all_domains.contrasts) == 4 * (2 + 3 + 3)  # four forms on the domains of three tasks
    (pooling,) = found["jiang-pooling-can-help"].groups
    # A model of one domain is compared on its own domain.
    own = {(one.left.name.rpartition("/")[2], one.right.row) for one in pooling.contrasts if one.right}
    assert own == {(d, f"replication-zh-en/single-{d}") for d in ("religion", "home", "medical")}
    assert pooling.needed == "one"


def test_the_share_that_is_needed_of_each_row_makes_a_group_of_each_row(found: dict[str, Design]) -> None:
    groups = found["song-others-trade"].groups
    assert len(groups) == 8 and {group.rules for group in groups} == {8}
    assert {len(group.contrasts) for group in groups} == {3}


def test_stars_know_the_size_of_their_table_and_the_sentences(found: dict[str, Design]) -> None:
    (stars,) = found["song-t5-stars"].groups
    # Three domains, and each method of Table 5 that can be trained, less the baseline.
    study = resolve(CONFIG, "replication", Path("nothing"), None)
    shown = {method for row in paper_table(study, "song2026-table5")[0].rows for method in row.methods}
    rows = {run.row for run in study.makeable("replication-en-fr") if run.method in shown}
    assert {one.family for one in stars.contrasts} == {3 * (len(rows) - 1)}
    assert stars.contrasts[0].sentence_sd == pytest.approx((60 / 1500) ** 0.5)


def test_numbers_of_figures_are_planned_in_standard_deviations(found: dict[str, Design]) -> None:
    one = found["jiang-top-identifies"]
    assert not one.in_points and one.groups[0].contrasts[0].right is None and one.groups[0].contrasts[0].left.sd == 1.0
    assert found["jiang-ambiguity"].rows == ("replication-en-fr/waldm-edc", "replication-en-fr/mixed")
    assert all("-en-fr/" in row for row in found["jiang-t5-labels-matter"].rows), "decided without the other two pairs"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("song-t4-lean", "needs Table 4 (not part of this study)"),
        ("song-metrics-agree-comet", "wmt22-comet-da"),
        ("song-mbart-law", "no domain of this study corresponds to it"),
        ("jiang-same-size", "a matter of counting"),
        ("jiang-f6-converged", "not tested: whether training has converged depends on how long we train"),
    ],
)
def test_what_cannot_be_decided_says_why(found: dict[str, Design], claim: str, why: str) -> None:
    assert found[claim].groups == () and why in (found[claim].why_not or "")
