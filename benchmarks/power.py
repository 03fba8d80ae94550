"""Is the power that `mdnmt plan --power` states achieved, and do its choices decide more than other orders?

    python benchmarks/power.py achieved [--trials 3000]
    python benchmarks/power.py chosen [--study replication] [--archives 20]

`achieved` simulates scores of seeds and decides them with the rules of the claims (mdnmt.statements.claims). `chosen`
simulates archives of ten seeds of every row that a claim of the study needs, takes the rows and seeds that
`--budget` chooses for 40 % of the hours, and counts how many of the whole archive's verdicts they give. The archives
are simulated, not trained: true differences and spreads differ from those that the choice assumes. Prints Markdown. The
seeds of the simulations are fixed.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from mdnmt.config.claim_rule import Needed, Threshold
from mdnmt.extras.power.choose_runs import TYPICAL, Chooser, Row
from mdnmt.extras.power.claim_contrasts import Design, designs
from mdnmt.extras.power.claim_power import (
    Array,
    CellOfRow,
    Contrast,
    Draws,
    Group,
    at_distance,
    bisect,
    draw,
    scaled,
    shares,
)
from mdnmt.extras.power.power_text import rows_of
from mdnmt.extras.power.seed_spread import spread_of
from mdnmt.numbers.verdicts import Verdict
from mdnmt.operations.plan.study_plan import make_plan
from mdnmt.score.significance.holm import holm
from mdnmt.score.significance.variance_components import seed_test
from mdnmt.statements.claims.decide import combined_verdict, verdict_of
from mdnmt.statements.claims.seed_samples import ALPHA, compare, of_values
from mdnmt.studies.resolve import resolve

SEED = 12345
NEEDED: tuple[Needed, ...] = ("all", "most", "one")
COMPARISONS, SEEDS, LEVELS, RATIOS = (1, 4, 12), (3, 5, 10), (0.5, 0.8, 0.95), (1.0, 2.0)
TOLERANCE = 0.03
WHOLE, SHARE = 10, 0.4


def rows_against_one(number: int, needed: Needed, baseline_sd: float) -> Group:
    base = CellOfRow("base", "base", baseline_sd)
    return Group(needed, tuple(Contrast(CellOfRow(f"c{k}", f"r{k}", 1.0), base) for k in range(number)))


def achieved(group: Group, seeds: int, distance: float, trials: int, rng: np.random.Generator) -> float:
    """Return how often the claims' own rules call rows at this distance reproduced."""
    baseline_sd = group.contrasts[0].right.sd if group.contrasts[0].right else 1.0
    count = 0
    for _ in range(trials):
        base = of_values((baseline_sd * rng.standard_normal(seeds)).tolist())
        rows = [of_values((distance + rng.standard_normal(seeds)).tolist()) for _ in group.contrasts]
        found = [compare(Threshold(), row, base, what="x") for row in rows]
        count += verdict_of(group.needed, found) == "reproduced"
    return count / trials


def achieved_star(one: Contrast, seeds: int, distance: float, trials: int, rng: np.random.Generator) -> float:
    """Return how often a row is starred by the test over seeds and sentences, with Holm's correction."""
    sentences, resamples, count = 1500, 400, 0
    for _ in range(trials):
        of_sentences = one.sentence_sd * rng.standard_normal(resamples + 1)
        base, row = (one.left.sd * rng.standard_normal(seeds) for _ in range(2))
        row = row + distance + of_sentences[0]
        tested = seed_test(base, row, np.tile(base, (resamples, 1)), row + of_sentences[1:, None], sentences)
        others = rng.random(one.family - 1).tolist()  # rows that do not differ
        count += holm([tested.p, *others])[0] < ALPHA and tested.delta > 0
    return count / trials


def print_achieved(trials: int) -> None:
    rng = np.random.default_rng(SEED)
    inside, cells, worst = 0, 0, 0.0
    print("| needed | comparisons | seeds | stated → achieved, equal spread | twice the spread in the baseline |")
    print("|---|---:|---:|---|---|")
    for needed, number, seeds in product(NEEDED, COMPARISONS, SEEDS):
        texts = []
        for ratio in RATIOS:
            group = rows_against_one(number, needed, ratio)
            counts = dict.fromkeys(("base", *(f"r{k}" for k in range(number))), seeds)
            draws, of_ratio = draw([group], counts), []
            for level in LEVELS:
                stated, distance = _at_level(group, draws, level)
                found = achieved(group, seeds, distance, trials, rng)
                cells, inside = cells + 1, inside + (abs(found - stated) <= TOLERANCE)
                worst = max(worst, abs(found - stated))
                of_ratio.append(f"{100 * stated:.1f} → {100 * found:.1f}")
            texts.append(", ".join(of_ratio))
        print(f"| {needed} | {number} | {seeds} | {texts[0]} | {texts[1]} |", flush=True)
    print(
        f"\n{inside} of {cells} cells ({100 * inside / cells:.1f} %) within 3 points; the farthest {100 * worst:.1f}\n"
    )
    print("| stars: comparisons of the table | seeds | stated → achieved |")
    print("|---:|---:|---|")
    for family, seeds in product((6, 24), SEEDS):
        one = Contrast(CellOfRow("c", "r", 0.3), CellOfRow("b", "b", 0.3), sentence_sd=0.2, family=family)
        group = Group("all", (one,))
        draws = draw([group], {"r": seeds, "b": seeds})
        texts = []
        for level in LEVELS:
            stated, distance = _at_level(group, draws, level)
            found = achieved_star(one, seeds, distance, trials, rng)
            texts.append(f"{100 * stated:.1f} → {100 * found:.1f}")
        print(f"| {family} | {seeds} | {', '.join(texts)} |", flush=True)


def _at_level(group: Group, draws: list[Draws], level: float) -> tuple[float, float]:
    """Return a power close to `level`, as it is stated, and the distance that has it."""

    def power(distance: float) -> float:
        return shares([group], draws, at_distance([group], distance))[0]

    distance = bisect(power, 64.0, level)
    assert distance is not None
    return power(distance), distance


class Archive:
    """Simulated seeds of every row of a study's claims, and the verdicts on any part of them.

    The true differences of a claim are the printed ones times a number of its own (normal, mean 0.5, standard deviation
    0.5), and the spread of each cell is the assumed one times a number of its own (lognormal, 0.3).
    """

    def __init__(self, claims: Sequence[Design], rng: np.random.Generator) -> None:
        self.claims = claims
        self.truths: dict[str, list[list[float]]] = {}
        self.noise: dict[str, Array] = {}
        for claim in claims:
            self.truths[claim.name] = scaled(claim.groups, float(rng.normal(0.5, 0.5)), TYPICAL) or []
            for one in (one for group in claim.groups for one in group.contrasts):
                for cell in (one.left, one.right):
                    if cell is not None and cell.name not in self.noise:
                        sd = cell.sd * rng.lognormal(0.0, 0.3)
                        self.noise[cell.name] = sd * rng.standard_normal(WHOLE)

    def verdict(self, claim: Design, seeds: Mapping[str, int]) -> Verdict:
        """Return the verdict with so many seeds of each row."""
        if min(seeds[row] for row in claim.rows) < 2:
            return "inconclusive"
        verdicts = []
        for group, truths in zip(claim.groups, self.truths[claim.name], strict=True):
            found = []
            for one, truth in zip(group.contrasts, truths, strict=True):
                left = of_values((truth + self._values(claim, one.left, seeds)).tolist())
                right = of_values(self._values(claim, one.right, seeds).tolist()) if one.right else None
                found.append(compare(Threshold(**{one.side: one.bound}), left, right, times=one.times, what="x"))
            verdicts.append(verdict_of(group.needed, found, group.rules))
        return combined_verdict(verdicts)

    def _values(self, claim: Design, cell: CellOfRow, seeds: Mapping[str, int]) -> Array:
        # The numbers of a figure may rest on several rows.
        count = seeds[cell.row] if claim.in_points else min(seeds[row] for row in claim.rows)
        return self.noise[cell.name][:count]

    def decided(self, seeds: Mapping[str, int]) -> dict[str, Verdict]:
        """Return the verdicts that were reached."""
        found = {claim.name: self.verdict(claim, seeds) for claim in self.claims}
        return {name: verdict for name, verdict in found.items() if verdict in ("reproduced", "not reproduced")}


def in_order(rows: Mapping[str, Row], hours: float) -> dict[str, int]:
    """Return all seeds of the first row, then of the next, as long as there are hours."""
    seeds = dict.fromkeys(rows, 0)
    for name, row in rows.items():
        seeds[name] = min(WHOLE, int(hours / row.hours + 1e-9))
        hours -= seeds[name] * row.hours
    return seeds


def in_rounds(rows: Mapping[str, Row], hours: float) -> dict[str, int]:
    """Return the first seed of every row, then the next, as long as there are hours."""
    seeds = dict.fromkeys(rows, 0)
    for _, (name, row) in product(range(WHOLE), rows.items()):
        if row.hours <= hours:
            seeds[name] += 1
            hours -= row.hours
    return seeds


def compare_orders(claims: Sequence[Design], rows: Mapping[str, Row], archives: int) -> dict[str, list[float]]:
    """Return the share of the whole archive's verdicts that each way of spending 40 % of the hours gives."""
    rng = np.random.default_rng(SEED)
    total = WHOLE * sum(row.hours for row in rows.values())
    ways = {
        "chosen": Chooser(claims, rows, WHOLE).choose(SHARE * total)[0],
        "seed by seed, all rows": in_rounds(rows, SHARE * total),
        "row by row, ten seeds each": in_order(rows, SHARE * total),
    }
    found: dict[str, list[float]] = {way: [] for way in ways}
    found["whole archive"] = []
    for _ in range(archives):
        archive = Archive(claims, rng)
        whole = archive.decided(dict.fromkeys(rows, WHOLE))
        found["whole archive"].append(len(whole))
        for way, seeds in ways.items():
            part = archive.decided(seeds)
            found[way].append(sum(part.get(name) == verdict for name, verdict in whole.items()) / len(whole))
    hours = {way: sum(n * rows[name].hours for name, n in seeds.items()) / total for way, seeds in ways.items()}
    print("| | hours | of the archive's verdicts, mean | least | most |")
    print("|---|---:|---:|---:|---:|")
    for way in ways:
        values = [100 * value for value in found[way]]
        print(f"| {way} | {100 * hours[way]:.0f} % | {np.mean(values):.0f} % | {min(values):.0f} | {max(values):.0f} |")
    return found


def print_chosen(name: str, archives: int) -> None:
    study = resolve(Path("config"), name, Path("resources/corpora"), None)
    plan = make_plan(study, Path("results"), Path("resources/corpora"), Path("logs/benchmarks"), "cpu")
    spread = spread_of(study, plan.places, Path("config"))
    # A star needs the tests of a whole table; the archives have none.
    found = [one for one in designs(study, plan.places, spread) if one.groups and not one.groups[0].contrasts[0].family]
    needed = {row for one in found for row in one.rows}
    rows = {name: Row(name, 0, row.hours) for name, row in rows_of(plan).items() if name in needed}
    shown = compare_orders(found, rows, archives)["whole archive"]
    print(
        f"\n{len(found)} claims, {len(rows)} rows of {name}; {archives} archives of {WHOLE} seeds, each with "
        f"{np.mean(shown):.1f} decided claims ({min(shown):.0f} to {max(shown):.0f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("achieved", "chosen"))
    parser.add_argument("--trials", type=int, default=3000)
    parser.add_argument("--study", default="replication")
    parser.add_argument("--archives", type=int, default=20)
    args = parser.parse_args()
    if args.what == "achieved":
        print_achieved(args.trials)
    else:
        print_chosen(args.study, args.archives)


if __name__ == "__main__":
    main()
