"""Agreement with people: the numbers of the package mt-thresholds, and only where it has a curve."""

from __future__ import annotations

import pytest

from mdnmt.score.human_agreement import agreement, why_not_covered

BLEU = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
CHRF = "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"
COMET = "model:wmt22-comet-da|checkpoint:e213091cde22|precision:float16|batch:16|device:cpu|version:2.2.7"


@pytest.mark.parametrize(
    ("metric", "signature", "difference", "expected"),
    [  # printed by mt_thresholds.accuracy of version 1.0.4, "comet22" for COMET
        ("bleu", BLEU, 0.0, 44.166667),
        ("bleu", BLEU, 1.0, 63.988658),
        ("bleu", BLEU, -1.0, 63.988658),
        ("bleu", BLEU.replace("13a", "zh"), 5.0, 87.634809),
        ("chrf", CHRF, 0.5, 59.128447),
        ("comet", COMET, 0.5, 77.461879),
        ("comet", COMET, 2.0, 95.89372),
    ],
)
def test_the_numbers_are_those_of_the_package(metric: str, signature: str, difference: float, expected: float) -> None:
    assert agreement(metric, signature, difference) == pytest.approx(expected, abs=1e-6)
    assert why_not_covered(metric, signature) is None


@pytest.mark.parametrize(
    ("metric", "signature", "reason"),
    [
        ("ter", "nrefs:1|case:lc|tok:tercom", "no curve for this metric"),
        ("bleu_tok", BLEU, "no curve for this metric"),
        ("bleu", BLEU.replace("13a", "none"), "without tok:13a"),
        ("bleu", BLEU.replace("nrefs:1", "nrefs:2"), "without nrefs:1"),
        ("chrf", CHRF.replace("nw:0", "nw:2"), "without nw:0"),
        ("comet", COMET.replace("wmt22-comet-da", "wmt20-comet-da"), "without model:wmt22-comet-da"),
        ("comet", f"{COMET}|toy:random-weights", "toy"),
    ],
)
def test_other_metrics_and_settings_have_none(metric: str, signature: str, reason: str) -> None:
    assert agreement(metric, signature, 1.0) is None
    assert reason in (why_not_covered(metric, signature) or "")
