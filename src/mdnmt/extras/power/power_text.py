"""Print which claims can be decided, what to train in a number of hours, and what to train next."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from textwrap import shorten

from mdnmt.extras.power.choose_runs import Chooser, Row, Step
from mdnmt.extras.power.claim_contrasts import Design
from mdnmt.extras.power.claim_power import SEEDS_TRIED, scaled, seeds_needed, smallest_effect
from mdnmt.extras.power.seed_spread import Spread
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.operations.plan.plan_text import NONE, in_columns, round_estimate, wrapped
from mdnmt.operations.plan.study_plan import Plan
from mdnmt.operations.plan.time_estimates import Estimate

NEVER = "never"
REASON = 150  # characters
HEADS = (("comp.", -5), ("seeds", -6), ("detects", -9), ("seeds", -7), ("hours", -6), ("seeds", -7), ("hours", -6))


def rows_of(plan: Plan) -> dict[str, Row]:
    """Return the rows of a plan, each with its finished seeds and the hours of one more.

    A range of estimates counts as its geometric mean, because an estimate is wrong by a factor in either direction.
    """
    found: dict[str, Row] = {}
    names = dict.fromkeys(f"{one.run.task}/{one.run.directory}" for one in plan.runs if one.missing is None)
    for name in names:
        runs = [one for one in plan.runs if f"{one.run.task}/{one.run.directory}" == name]
        done = [one for one in runs if one.state == "done" and one.translated]
        left = [_middle(one.train) + _middle(one.decode) for one in runs if one not in done]
        spent = [one.spent_seconds for one in done if one.spent_seconds]
        seconds = max(left, default=0.0) or (sum(spent) / len(spent) if spent else 0.0)
        found[name] = Row(name, len(done), seconds / 3600)
    return found


def _middle(found: Estimate | None) -> float:
    return sqrt(found.low * found.high) if found is not None else 0.0


def power_text(plan: Plan, designs: list[Design], spread: Spread) -> str:
    """Return the smallest effect that every claim can show, and the seeds and hours that decide it."""
    rows, planned = rows_of(plan), max(MIN_SEEDS, len(plan.study.config.seed_list))
    decidable = [one for one in designs if one.groups]
    lines = [
        *wrapped(
            f"{plan.study.name}: {len(decidable)} of {len(designs)} claims can be decided by its runs; "
            f"{sum(_seeds(one, rows) >= MIN_SEEDS for one in decidable)} have {MIN_SEEDS} seeds of every row now."
        ),
        *wrapped(f"Hours of one {'GPU' if plan.device == 'cuda' else 'CPU thread'}, for runs that are not done."),
    ]
    for paper in dict.fromkeys(one.paper for one in decidable):
        lines += ["", " " * 53 + "printed effect  half of it", in_columns((paper, 33), *HEADS)]
        lines += [_claim_line(one, rows, planned) for one in decidable if one.paper == paper]
    lines += ["", "Cannot be decided here", *_reasons(designs), "", "How to read this", *_legend(planned, spread)]
    return "\n".join(lines)


def _seeds(design: Design, rows: dict[str, Row]) -> int:
    return min(rows[row].done if row in rows else 0 for row in design.rows)


def _claim_line(design: Design, rows: dict[str, Row], planned: int) -> str:
    effect = smallest_effect(design.groups, dict.fromkeys(design.rows, planned))
    shown = NEVER if effect is None else f"{effect:.2g}" if effect < 10 else f"{effect:.0f}"
    cells = [
        (design.name, 33),
        (str(sum(len(group.contrasts) for group in design.groups)), -5),
        (str(_seeds(design, rows)), -6),
        (f"{shown}{'' if design.in_points or effect is None else ' sd'}", -9),
    ]
    for scale in (1.0, 0.5):
        truths = scaled(design.groups, scale)
        needed = None if truths is None else seeds_needed(design.groups, truths, design.rows)
        cells += [
            (NONE if truths is None else NEVER if needed is None else str(needed), -7),
            (NONE if needed is None else round_estimate(_hours(design, rows, needed)), -6),
        ]
    return in_columns(*cells)


def _hours(design: Design, rows: dict[str, Row], seeds: int) -> float:
    return sum(max(0, seeds - rows[name].done) * rows[name].hours for name in design.rows if name in rows)


def _reasons(designs: list[Design]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for one in designs:
        if one.why_not is not None:
            reasons.setdefault(one.why_not, []).append(one.name)
    for reason, names in reasons.items():
        # Shortened, because the plan itself says what to do about missing weights.
        yield from wrapped(f"{', '.join(names)}: {shorten(reason, REASON, placeholder=' ...')}", 2)


def _legend(planned: int, spread: Spread) -> Iterator[str]:
    own = sorted({task for (task, _, _), (_, freedom) in spread.own.items() if freedom})
    for text in (
        "comp.: comparisons that the claim's rules ask for. seeds: the fewest seeds that a row of the claim has now.",
        f"detects: with {planned} seeds of every row the claim is reproduced in 80 % of all cases if each of its "
        "differences lies this far beyond its threshold; in points, or for numbers of figures in standard deviations "
        "between seeds (sd).",
        "printed effect, half of it: the seeds with which the claim gets a verdict, reproduced or not, in 80 % of all "
        f"cases if the true differences are the printed ones, or half of them. {NEVER}: not with {SEEDS_TRIED[-1]} "
        f"seeds, as when the effect lies at the threshold. {NONE}: no such numbers are published.",
        f"Spread between seeds: {'; '.join(spread.prior.sources)}."
        + (f" Averaged with the study's own seeds on {', '.join(own)}." if own else " The study has no seeds yet."),
    ):
        yield from wrapped(text, 2)


def budget_text(plan: Plan, chooser: Chooser, budget: float) -> str:
    """Return the rows and seeds that decide the most claims within a budget of hours."""
    seeds, taken = chooser.choose(budget)
    now = {name: row.done for name, row in chooser.rows.items()}
    planned = max(MIN_SEEDS, len(plan.study.config.seed_list))
    full = {name: max(planned, row.done) for name, row in chooser.rows.items()}
    runs, hours = _needed(chooser, seeds)
    all_runs, all_hours = _needed(chooser, full)
    lines = [
        *wrapped(
            f"{plan.study.name}: {runs} runs in {round_estimate(hours)} of {budget:g} hours; "
            f"{chooser.expected(seeds):.1f} claims are expected to be decided ({chooser.expected(now):.1f} now). "
            f"All rows with {planned} seeds: {all_runs} runs, {round_estimate(all_hours)} hours, "
            f"{chooser.expected(full):.1f}."
        ),
        "",
        in_columns(("row", 48), ("seeds now", -10), ("then", -6), ("hours", -8)),
    ]
    order = dict.fromkeys(row for step in taken for row in step.rows)
    for name in order:
        more = (seeds[name] - now[name]) * chooser.rows[name].hours
        lines.append(in_columns((name, 48), (str(now[name]), -10), (str(seeds[name]), -6), (round_estimate(more), -8)))
    lines += ["", *wrapped("In the order in which they should be trained. " + ASSUMED)]
    return "\n".join(lines)


ASSUMED = (
    "Expected: the chance of a verdict, averaged over true differences as printed, half as large and none; where the "
    "paper prints no number, four standard deviations between seeds take the place of the printed one."
)


def _needed(chooser: Chooser, seeds: dict[str, int]) -> tuple[int, float]:
    """Return the number of runs and hours still needed to reach a number of seeds of each row."""
    more = {name: count - chooser.rows[name].done for name, count in seeds.items()}
    return sum(more.values()), sum(count * chooser.rows[name].hours for name, count in more.items())


def next_text(plan: Plan, chooser: Chooser) -> str:
    """Return which run would add the most decided claims now, and why."""
    steps = chooser.next_steps(5)
    if not steps:
        return f"{plan.study.name}: no run would decide another claim."
    first, name = steps[0], chooser.next_row(steps[0])
    row = chooser.rows[name]
    seed, target = _next_run(plan, name)
    lines = [f"Next: {name}/seed{seed}, about {round_estimate(row.hours)} h"]
    if target:
        lines.append(f"  snakemake --cores 1 --config study={plan.study.name} -- \\\n    {target}")
    else:
        lines.append(f"  The study has no seed {seed} for it: add one with `seeds`.")
    lines += ["", "Steps with the most decided claims per hour, best first:"]
    lines.append(
        in_columns(("for claim", 34), ("rows", -5), ("seeds", -6), ("runs", -5), ("hours", -7), ("claims", -8))
    )
    lines += [_step_line(step, chooser) for step in steps]
    why = f"its row is the cheapest of those with the fewest seeds ({row.done} of {first.seeds})."
    lines += ["", *wrapped(f"The run belongs to the first of these: {why} {ASSUMED}")]
    return "\n".join(lines)


def _step_line(step: Step, chooser: Chooser) -> str:
    runs = sum(step.seeds - chooser.rows[name].done for name in step.rows)
    numbers = ((len(step.rows), -5), (step.seeds, -6), (runs, -5))
    cells = [(str(value), width) for value, width in numbers]
    return in_columns((step.claim, 34), *cells, (round_estimate(step.hours), -7), (f"+{step.gain:.1f}", -8))


def _next_run(plan: Plan, name: str) -> tuple[int, str]:
    """Return the next seed of a row, and the last file that its run makes; empty: the study has no such seed."""
    runs = [one for one in plan.runs if f"{one.run.task}/{one.run.directory}" == name]
    open_runs = [one for one in runs if not (one.state == "done" and one.translated)]
    if not open_runs:
        return max(one.run.seed for one in runs) + 1, ""
    run = min(open_runs, key=lambda one: one.run.seed).run
    return run.seed, f"{plan.places.test(run)}/scores.json"
