"""Choose the rows and seeds that decide the most claims within a budget of hours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mdnmt.extras.power.claim_contrasts import Design
from mdnmt.extras.power.claim_power import draw, scaled, shares
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.statements.claims.seed_samples import ALPHA

DRAWS = 500
SCALES = (1.0, 0.5, 0.0)  # assumed true effects, equally likely: as printed, half of it, none
TYPICAL = 4.0  # effect in standard deviations between seeds, assumed where the paper prints no number
LEAST_GAIN = 0.005  # in claims; smaller gains are noise of the draws
MOST_SEEDS = 10


@dataclass(frozen=True)
class Row:
    """All seeds of a method on a task.

    Attributes:
        name: <task>/<directory>.
        done: number of seeds that are trained and translated.
        hours: hours of one seed on one CPU thread or one GPU.
    """

    name: str
    done: int
    hours: float


@dataclass(frozen=True)
class Step:
    """Train these rows up to `seeds` seeds: the hours it takes, the decisions it adds, and the claim that it is for."""

    rows: tuple[str, ...]
    seeds: int
    hours: float
    gain: float
    claim: str


@dataclass
class Chooser:
    """Expected decisions of a study.

    A claim has as many seeds as its row with the fewest. Its true differences are not known, so the chance of a verdict
    is averaged over `SCALES` times the printed differences.
    """

    designs: Sequence[Design]
    rows: Mapping[str, Row]
    most_seeds: int = MOST_SEEDS
    _chances: dict[tuple[str, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Drop claims that cannot be decided."""
        self.designs = [one for one in self.designs if one.groups and all(row in self.rows for row in one.rows)]

    def chance(self, design: Design, seeds: int) -> float:
        """Return the chance of deciding a claim with `seeds` seeds of its rows, beyond that of a false verdict."""
        if seeds < MIN_SEEDS:
            return 0.0
        key = (design.name, seeds)
        if key not in self._chances:
            draws = draw(design.groups, dict.fromkeys(design.rows, seeds), DRAWS)
            truths = [scaled(design.groups, scale, TYPICAL) for scale in SCALES]
            found = [sum(shares(design.groups, draws, truth)) for truth in truths if truth is not None]
            self._chances[key] = sum(max(0.0, share - ALPHA) / (1 - ALPHA) for share in found) / len(found)
        return self._chances[key]

    def expected(self, seeds: Mapping[str, int]) -> float:
        """Return the expected number of decided claims; `seeds`: row -> number of seeds."""
        return sum(self.chance(one, min(seeds[row] for row in one.rows)) for one in self.designs)

    def steps(self, seeds: Mapping[str, int]) -> Iterator[Step]:
        """Yield the possible next steps: all rows of one claim up to a number of seeds."""
        before = {one.name: self.chance(one, min(seeds[row] for row in one.rows)) for one in self.designs}
        seen = set()
        for design in self.designs:
            for target in range(MIN_SEEDS, self.most_seeds + 1):
                rows = tuple(row for row in design.rows if seeds[row] < target)
                if not rows or (frozenset(rows), target) in seen:
                    continue
                seen.add((frozenset(rows), target))
                hours = sum((target - seeds[row]) * self.rows[row].hours for row in rows)
                then = {**seeds, **dict.fromkeys(rows, target)}
                touched = [one for one in self.designs if not set(rows).isdisjoint(one.rows)]
                gain = sum(self.chance(one, min(then[row] for row in one.rows)) - before[one.name] for one in touched)
                if gain >= LEAST_GAIN:
                    yield Step(rows, target, hours, gain, design.name)

    def choose(self, budget: float = float("inf")) -> tuple[dict[str, int], list[Step]]:
        """Return row -> seeds, and the steps taken: each time the affordable step with the most claims per hour."""
        seeds = {name: row.done for name, row in self.rows.items()}
        taken, left = [], budget
        while fitting := [step for step in self.steps(seeds) if step.hours <= left]:
            best = max(fitting, key=gain_per_hour)
            seeds |= dict.fromkeys(best.rows, best.seeds)
            left -= best.hours
            taken.append(best)
        return seeds, taken

    def next_steps(self, number: int) -> list[Step]:
        """Return the steps that would add the most claims per hour now, best first; at most one per claim."""
        seeds = {name: row.done for name, row in self.rows.items()}
        best: dict[str, Step] = {}
        for step in sorted(self.steps(seeds), key=gain_per_hour, reverse=True):
            best.setdefault(step.claim, step)
        return list(best.values())[:number]

    def next_row(self, step: Step) -> str:
        """Return the row of a step whose next seed should be trained: the cheapest of those with the fewest seeds."""
        return min(step.rows, key=lambda name: (self.rows[name].done, self.rows[name].hours, name))


def gain_per_hour(step: Step) -> float:
    """Return expected claims per hour."""
    return step.gain / max(step.hours, 1e-9)
