"""How often does each verdict come out? The rules for published numbers and claims, where the truth is known.

    python benchmarks/verdicts.py [--trials 2000] [--claim-trials 2000]

Simulates scores of seeds as normal with a known standard deviation, and a printed number as one run rounded to two
decimals. Calls the rules that the pages use (mdnmt.numbers.verdicts, mdnmt.statements.claims.decide). Prints Markdown.
The seed of the simulation is fixed.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from mdnmt.config.claim_rule import Needed, Threshold
from mdnmt.numbers.verdicts import Printed, judge
from mdnmt.statements.claims.decide import verdict_of
from mdnmt.statements.claims.seed_samples import ALPHA, compare, of_values

SEED = 12345
TRUTHS = (0.0, 0.25, 0.5, 1.0, 2.0)
SPREADS = (0.1, 0.25, 0.5, 1.0)
SEEDS = (3, 5, 10)
COMPARISONS = (1, 8, 48)
NEEDED: tuple[Needed, ...] = ("all", "most", "one")
KEYS = ("interval", "only inside", "not reproduced")


def published(trials: int, truth: float, spread: float, seeds: int, rng: np.random.Generator) -> str:
    counts: Counter[str] = Counter()
    for _ in range(trials):
        printed = round(30 + truth + spread * rng.standard_normal(), 2)
        values = (30 + spread * rng.standard_normal(seeds)).tolist()
        found = judge(values, Printed(value=printed, raw=f"{printed:.2f}"), None)
        assert found is not None
        key = ("only inside" if found.only_inside else "interval") if found.verdict == "reproduced" else found.verdict
        counts[key] += 1
    return " / ".join(f"{100 * counts[key] / trials:.0f}" for key in KEYS)


def claims(trials: int, number: int, seeds: int, needed: Needed, hold: bool, rng: np.random.Generator) -> str:
    """Return the share of false verdicts in percent, uncorrected and as the rule is.

    The truth is the worst there is. Nothing may be refuted: all differences are at the threshold. Nothing may be
    confirmed: one fewer than needed holds by far, the others are at the threshold.
    """
    enough = {"all": number, "most": number // 2 + 1, "one": 1}[str(needed)]
    sure = enough if hold else enough - 1
    uncorrected = corrected = 0
    wrong = "not reproduced" if hold else "reproduced"
    for _ in range(trials):
        # All rows are compared with the same baseline, so the comparisons depend on each other.
        baseline = of_values(rng.standard_normal(seeds).tolist())
        shifts = [0.0 if hold or place >= sure else 100.0 for place in range(number)]
        if hold:  # the fewest that may hold do, at the threshold; the others fail by far
            shifts = [0.0 if place < enough else -100.0 for place in range(number)]
        rows = [of_values((shift + rng.standard_normal(seeds)).tolist()) for shift in shifts]
        found = [compare(Threshold(), row, baseline, what="x") for row in rows]
        yes, no = (sum(one.holds is state for one in found) for state in (True, False))
        uncorrected += (no > number - enough) if hold else yes >= enough
        corrected += verdict_of(needed, found) == wrong
    return f"{100 * uncorrected / trials:.1f} → {100 * corrected / trials:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--claim-trials", type=int, default=2000)
    args = parser.parse_args()
    rng = np.random.default_rng(SEED)
    print(f"{args.trials} simulations a cell, in percent: {' / '.join(KEYS)}\n")
    print("| sd | seeds |" + "".join(f" {truth:g} away |" for truth in TRUTHS))
    print("|---:|---:|" + "---:|" * len(TRUTHS))
    for spread in SPREADS:
        for seeds in SEEDS:
            cells = [published(args.trials, truth, spread, seeds, rng) for truth in TRUTHS]
            print(f"| {spread:g} | {seeds} | {' | '.join(cells)} |", flush=True)
    print(f"\n{args.claim_trials} simulations a cell, uncorrected → the rule, in percent; alpha {ALPHA:g}, two-sided\n")
    print("| needed | comparisons | seeds | false not reproduced | false reproduced |")
    print("|---|---:|---:|---:|---:|")
    for needed in NEEDED:
        for number in COMPARISONS:
            for seeds in SEEDS:
                refuted, confirmed = (
                    claims(args.claim_trials, number, seeds, needed, hold, rng) for hold in (True, False)
                )
                print(f"| {needed} | {number} | {seeds} | {refuted} | {confirmed} |", flush=True)


if __name__ == "__main__":
    main()
