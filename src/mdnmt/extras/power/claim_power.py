"""The power of a claim: how often its rules reach a verdict, given the true differences.

The rules are those of `mdnmt.statements.claims.decide`. For a comparison of two rows with n and m seeds,

    t = (difference - threshold) / sqrt(s_left^2 / n + times^2 s_right^2 / m)

has Student's t distribution with Satterthwaite's degrees of freedom (Welch 1947), a noncentral one if the difference is
not at the threshold. Its degrees of freedom are estimated as well: with three seeds, a noncentral t of 2n - 2 degrees
overstates power by ten points. A claim also combines many comparisons, often with the same baseline. So power is
computed by simulating the sufficient statistics of every cell: the mean of n seeds is normal with variance
s^2 / n, their variance is s^2 chi2(n - 1) / (n - 1), and the two are independent.

A star compares over seeds and sentences (`mdnmt.score.significance.variance_components`): the variance of sentences is
added, and the level is 0.05 divided by the number of comparisons of the table, a lower bound of Holm's.

Cells are drawn independently of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mdnmt.config.claim_rule import Needed
from mdnmt.statements.claims.decide import count_needed
from mdnmt.statements.claims.seed_samples import ALPHA

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
DRAWS = 2000  # the standard error of a power of 80 % is 0.9 points
POWER = 0.8
SEEDS_TRIED = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50)
MOST_EFFECT = 64.0  # largest effect that is searched for, in points or standard deviations


@dataclass(frozen=True)
class CellOfRow:
    """A number that is measured once per seed.

    Attributes:
        name: identifies the cell in all comparisons.
        row: the row whose seeds measure it.
        sd: standard deviation between seeds on one test set.
    """

    name: str
    row: str
    sd: float


@dataclass(frozen=True)
class Contrast:
    """A comparison: `left - times * right` against a bound.

    Attributes:
        left: a cell.
        right: the cell that it is compared with; None: the bound alone.
        side: which side of the bound fulfils the rule.
        bound: the threshold.
        times: factor of the right cell.
        printed: the difference in the paper; None: the paper does not print both numbers.
        sentence_sd: for a star, standard deviation of the difference due to the choice of test sentences; else 0.
        family: for a star, number of comparisons of its table in this metric; else 0.
    """

    left: CellOfRow
    right: CellOfRow | None
    side: Literal["above", "below", "within"] = "above"
    bound: float = 0.0
    times: float = 1.0
    printed: float | None = None
    sentence_sd: float = 0.0
    family: int = 0


@dataclass(frozen=True)
class Group:
    """The comparisons of a rule, or of one row of it; `rules` is the number of groups that can refute the claim."""

    needed: Needed
    contrasts: tuple[Contrast, ...]
    rules: int = 1


@dataclass(frozen=True)
class Draws:
    """Simulated statistics of one group with a given number of seeds; J comparisons, R draws.

    Attributes:
        noise_RJ: the error of the difference.
        error_RJ: its estimated standard error.
        critical_RJ: |t| that shows that a comparison holds, at the level of the rule.
        refuting_RJ: |t| that shows that it fails.
    """

    noise_RJ: Array
    error_RJ: Array
    critical_RJ: Array
    refuting_RJ: Array


@lru_cache(maxsize=512)
def _critical(level: float) -> tuple[Array, Array]:
    """Return a grid of 1 / degrees of freedom and the two-sided bounds of |t| on it, for interpolation."""
    from scipy.stats import t  # type: ignore[import-untyped]

    inverse = np.linspace(1e-3, 0.5, 400)
    return inverse, t.isf(level / 2, 1 / inverse)


def draw(groups: Sequence[Group], seeds: Mapping[str, int], number: int = DRAWS, seed: int = 1) -> list[Draws]:
    """Return simulated statistics of a claim's groups; a cell has the same values in all of them.

    Args:
        groups: of the claim.
        seeds: row -> number of seeds, at least two.
        number: number of draws.
        seed: seed of the generator; equal seeds give equal draws.
    """
    rng = np.random.default_rng(seed)
    means: dict[str, Array] = {}
    spreads: dict[str, Array] = {}
    sides = (side for group in groups for one in group.contrasts for side in (one.left, one.right))
    for cell in dict.fromkeys(side for side in sides if side is not None):
        count = seeds[cell.row]
        means[cell.name] = cell.sd / np.sqrt(count) * rng.standard_normal(number)
        spreads[cell.name] = cell.sd**2 / count * rng.chisquare(count - 1, number) / (count - 1)
    found = []
    for group in groups:
        noise, variance, squares = (np.zeros((number, len(group.contrasts))) for _ in range(3))
        for place, one in enumerate(group.contrasts):
            for side, weight in ((one.left, 1.0), (one.right, -one.times)):
                if side is not None:
                    noise[:, place] += weight * means[side.name]
                    part = weight**2 * spreads[side.name]
                    variance[:, place] += part
                    squares[:, place] += part**2 / (seeds[side.row] - 1)
            if one.sentence_sd:
                noise[:, place] += one.sentence_sd * rng.standard_normal(number)
                variance[:, place] += one.sentence_sd**2
        freedom = variance**2 / squares
        enough = count_needed(group.needed, len(group.contrasts))
        failing = len(group.contrasts) - enough + 1
        found.append(
            Draws(
                noise,
                np.sqrt(variance),
                _levels(group, freedom, ALPHA / failing),
                _levels(group, freedom, ALPHA / group.rules / enough),
            )
        )
    return found


def _levels(group: Group, freedom_RJ: Array, level: float) -> Array:
    """Return the bound of |t| of each comparison; for a star it depends on the table, not on the rule."""
    columns = [
        np.interp(1 / freedom_RJ[:, place], *_critical(ALPHA / one.family if one.family else level))
        for place, one in enumerate(group.contrasts)
    ]
    return np.stack(columns, axis=1)


def shares(groups: Sequence[Group], draws: Sequence[Draws], truths: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the shares of draws in which a claim is reproduced and not reproduced.

    Args:
        groups: of the claim.
        draws: the result of `draw`.
        truths: the true difference of each comparison of each group.
    """
    verdicts = [_verdicts(*of_group) for of_group in zip(groups, draws, truths, strict=True)]
    holds = np.logical_and.reduce([holds for holds, _ in verdicts])
    fails = np.logical_or.reduce([fails for _, fails in verdicts])
    return float((holds & ~fails).mean()), float(fails.mean())


def _verdicts(group: Group, draws: Draws, truth: Sequence[float]) -> tuple[Flags, Flags]:
    """Return in which draws [R] a group is shown to hold, and in which to fail: `decide.verdict_of` on arrays."""
    found_RJ = np.asarray(truth) + draws.noise_RJ
    for place, one in enumerate(group.contrasts):
        if one.side == "within":
            found_RJ[:, place] = one.bound - np.abs(found_RJ[:, place])
        else:
            found_RJ[:, place] = (found_RJ[:, place] - one.bound) * (-1 if one.side == "below" else 1)
    enough = count_needed(group.needed, len(group.contrasts))
    t_RJ = found_RJ / draws.error_RJ
    holds = (t_RJ > draws.critical_RJ).sum(axis=1) >= enough
    fails = (-t_RJ > draws.refuting_RJ).sum(axis=1) >= len(group.contrasts) - enough + 1
    return holds, fails & ~holds


def at_distance(groups: Sequence[Group], distance: float) -> list[list[float]]:
    """Return true differences that all fulfil their rules, each at `distance` from its bound."""
    return [[_beyond(one, distance) for one in group.contrasts] for group in groups]


def _beyond(one: Contrast, distance: float) -> float:
    if one.side == "within":
        return max(0.0, one.bound - distance)
    return one.bound + (-distance if one.side == "below" else distance)


def scaled(groups: Sequence[Group], scale: float, typical: float | None = None) -> list[list[float]] | None:
    """Return the assumed true differences: the printed ones times `scale`.

    Args:
        groups: of the claim.
        scale: 1 is the printed effect, 0.5 half of it.
        typical: replaces the differences of a group that has no printed ones: this many standard deviations between
            seeds beyond the bound.

    Returns:
        A list for each group; None if a group has no printed difference and `typical` is None.
    """
    found = []
    for group in groups:
        known = [one.printed for one in group.contrasts if one.printed is not None]
        if not known and typical is None:
            return None
        assumed = [_beyond(one, (typical or 0.0) * one.left.sd) for one in group.contrasts]
        mean = float(np.mean(known)) if known else 0.0
        # A difference that the paper does not print is assumed to be the mean of the group's printed ones.
        of_group = [mean if one.printed is None else one.printed for one in group.contrasts] if known else assumed
        found.append([scale * truth for truth in of_group])
    return found


def smallest_effect(groups: Sequence[Group], seeds: Mapping[str, int], number: int = DRAWS) -> float | None:
    """Return the distance of all comparisons from their bounds at which a claim is reproduced with 80 % power.

    It is found by bisection with the same draws. None: no distance up to `MOST_EFFECT` is enough.
    """
    draws = draw(groups, seeds, number)

    def power(distance: float) -> float:
        return shares(groups, draws, at_distance(groups, distance))[0]

    return bisect(power, MOST_EFFECT)


def bisect(power: Callable[[float], float], most: float, level: float = POWER) -> float | None:
    """Return the smallest argument up to `most` at which an increasing function reaches `level`; None: it does not."""
    if power(most) < level:
        return None
    low, high = 0.0, most
    while high - low > 0.005 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= level else (middle, high)
    return high


def seeds_needed(
    groups: Sequence[Group], truths: Sequence[Sequence[float]], rows: Sequence[str], number: int = DRAWS
) -> int | None:
    """Return the smallest of `SEEDS_TRIED` that decides a claim, either way, with 80 % power; None: none does."""

    def decided(count: int) -> float:
        return sum(shares(groups, draw(groups, dict.fromkeys(rows, count), number), truths))

    # More seeds decide more, so the largest number settles whether any is enough.
    if decided(SEEDS_TRIED[-1]) < POWER:
        return None
    return next(count for count in SEEDS_TRIED if decided(count) >= POWER)
