"""How often people rank two systems in the same order as a metric does, given the metric's difference.

Kocmi et al. (2024), "Navigating the Metrics Maze: Reconciling Score Magnitudes and Accuracies", fitted one curve per
metric. It maps the difference of two systems' scores to the share of system pairs that people rank in the same order.
The constants are those of the authors' package `mt-thresholds` 1.0.4. A curve is valid only for the metric's settings
with which it was fitted.
"""

from __future__ import annotations

import math

# metric -> (a, b) of a / (1 + exp(-b |difference|)), in percent; COMET is wmt22-comet-da times 100.
CURVES = {
    "bleu": (88.33333333333225, 0.9663926931178954),
    "chrf": (92.999999999972, 1.1142732157139852),
    "comet": (96.22374133884283, 2.8359194570556636),
}
# metric -> the settings of the fit, sacreBLEU's defaults: a signature must contain one of each tuple.
SETTINGS = {
    "bleu": (("nrefs:1",), ("case:mixed",), ("tok:13a", "tok:zh"), ("smooth:exp",)),
    "chrf": (("nrefs:1",), ("case:mixed",), ("nc:6",), ("nw:0",)),
    "comet": (("model:wmt22-comet-da",),),
}
TOY = "toy:random-weights"  # part of the signature of the toy COMET


def why_not_covered(metric: str, signature: str) -> str | None:
    """Return why MT-Thresholds has no curve for a metric with these settings; None if it has one.

    Args:
        metric: a key of `mdnmt.config.metrics.METRICS`.
        signature: the scores' signature, which gives the settings.
    """
    if metric not in CURVES:
        return "MT-Thresholds has no curve for this metric"
    parts = signature.split("|")
    if TOY in parts:
        return "the scores are of a toy model"
    for alternatives in SETTINGS[metric]:
        if not any(setting in parts for setting in alternatives):
            return f"MT-Thresholds has no curve for scores without {alternatives[0]}"
    return None


def agreement(metric: str, signature: str, difference: float) -> float | None:
    """Return the percentage of pairs with this difference in which people prefer the same system; None: unknown."""
    if why_not_covered(metric, signature) is not None:
        return None
    high, slope = CURVES[metric]
    return high / (1 + math.exp(-slope * abs(difference)))
