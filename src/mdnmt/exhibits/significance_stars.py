"""Results of the tests against the baseline as text for any format: difference, interval, p-values, notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mdnmt.config.base import Frozen
from mdnmt.numbers.rounding import half_up, non_breaking, p_value, signed

PLACES = 2
NONE = "\N{EN DASH}"  # in place of a number
ALPHA = 0.05  # the level of the tests if the significance file gives none


class Tested(Frozen):
    """A comparison with the baseline by `mdnmt exhibit`; intervals are 95 % intervals, p-values are two-sided."""

    delta: float
    low: float
    high: float
    over: str  # whose variance the interval covers: "sentences", or "seeds and sentences"
    seeds: int
    p_bootstrap: float  # over sentences, the largest of all seeds
    p_sacrebleu: float  # from the same resamples, as sacreBLEU computes it: one-sided if a system is clearly ahead
    p_randomisation: float
    p_seeds: float | None = None  # over seeds and sentences; None with fewer than three seeds
    p_corrected: float  # of the test that decides, after the correction
    effect: float | None = None  # delta in standard deviations between seeds (Hedges' g)
    seeds_verdict: str  # better, worse, no difference, inconclusive
    agreement: float | None = None  # percentage of pairs with such a difference that people rank alike; None: unknown

    @property
    def difference(self) -> str:
        """Return the difference with its interval: `+1.20 [+0.31, +2.09]`."""
        low, high = signed(self.low, PLACES), signed(self.high, PLACES)
        return f"{signed(self.delta, PLACES)} [{low}, {high}]"


def read_tested(found: Mapping[str, Any]) -> Tested | None:
    """Return a comparison from the significance file; None if it has no interval."""
    if "low" not in found:
        return None
    over_seeds = found.get("over_seeds") or {}
    own = {name: found[name] for name in Tested.model_fields if name in found}
    return Tested.model_validate({**own, "p_seeds": over_seeds.get("p"), "effect": over_seeds.get("effect")})


def in_words(tested: Tested, baseline: str | None) -> str:
    """Return a comparison as one line: difference, interval, and the p-value that decides."""
    against = f"against {baseline or 'the baseline'}: {tested.difference}"
    people = "" if tested.agreement is None else f", people agree in {half_up(tested.agreement, 0)} %"
    return f"{against}, {p_value(tested.p_corrected)} over {tested.over}{people}"


HEADS = (
    *("Difference [95 %]", "Over", "p bootstrap", "as sacreBLEU", "p randomisation", "p seeds", "p corrected"),
    *("Effect", "People agree", "Verdict"),
)


def columns(tested: Tested, verdict: str | None) -> tuple[str, ...]:
    """Return the cells of a comparison below `HEADS`."""
    tests = (tested.p_bootstrap, tested.p_sacrebleu, tested.p_randomisation, tested.p_seeds, tested.p_corrected)
    numbers = (NONE if p is None else p_value(p).lstrip("p=\N{NO-BREAK SPACE}") for p in tests)
    effect = NONE if tested.effect is None else signed(tested.effect, PLACES)
    people = NONE if tested.agreement is None else f"{half_up(tested.agreement, 0)}\N{NO-BREAK SPACE}%"
    return (tested.difference, tested.over, *numbers, effect, people, verdict or "")


def people_note(covered: Sequence[str], not_covered: Mapping[str, str]) -> str:
    """Return what the shares of agreement with people mean, and which metrics have none.

    Args:
        covered: names of the metrics that have them.
        not_covered: name of a metric -> why it has none.
    """
    without = [f"none for {name}: {why}" for name, why in not_covered.items()]
    if not covered:
        return f"How often people agree with such differences is not known: {'; '.join(without)}."
    return (
        f"People agree ({', '.join(covered)}): the percentage of system pairs with such a difference in which people "
        "prefer the same system, on average over other texts and languages (MT-Thresholds, Kocmi et al. 2024)"
        f"{''.join(f'; {text}' for text in without)}."
    )


def star_note(significance: Mapping[str, Any], baseline: str | None, tested: Iterable[Tested]) -> str:
    """Return what the star of a table means."""
    level = non_breaking(f"p < {significance.get('alpha', ALPHA):g}")
    seed = significance.get("seed", "?")
    seeds = {one.seeds for one in tested}
    if significance.get("correction", "none") == "none":
        each = f", with each of {max(seeds)} training seeds" if seeds and max(seeds) > 1 else ""
        return (
            f"* better than {baseline} on the same sentences, {level}: paired bootstrap, "
            f"{significance.get('num_resamples', '?')} resamples, seed {seed}{each}, not corrected for the number of "
            "comparisons, as in the papers. Averages are not tested."
        )
    over = {one.over for one in tested}
    tests = []
    if "seeds and sentences" in over:
        tests.append("a t test of seeds and sentences together")
    if "sentences" in over:
        trials = f"{significance.get('num_trials', '?')} trials, seed {seed}"
        tests.append(f"approximate randomisation of sentences ({trials})")
    number = max(significance.get("comparisons", {}).values(), default=0)
    few = (
        " Fewer than 3 seeds: whether another training would give the same is not known." if "sentences" in over else ""
    )
    return (
        f"* better than {baseline}, {level} by {' or, with fewer than 3 seeds, '.join(tests)}, after Holm's correction "
        f"for {number} comparisons of each metric.{few} Averages are not tested."
    )
