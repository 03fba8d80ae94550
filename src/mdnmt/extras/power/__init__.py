"""Which claims a study can decide, and which runs decide the most: `mdnmt plan --power`, `--budget` and `--next`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdnmt.operations.plan.study_plan import Plan
    from mdnmt.studies.study import Run


def text(plan: Plan, config_folder: Path, *, power: bool, budget_hours: float | None) -> str:
    """Return which claims the study can decide, what to train in some hours, or the run to train next.

    Args:
        plan: the study with its runs and their hours.
        config_folder: has what other studies say about seeds.
        power: which claims it can decide.
        budget_hours: what to train in this time; None: the next run.

    Raises:
        ConfigError: the study can decide no claim.
    """
    from mdnmt.errors import ConfigError
    from mdnmt.extras.power import power_text
    from mdnmt.extras.power.choose_runs import Chooser
    from mdnmt.extras.power.claim_contrasts import designs
    from mdnmt.extras.power.seed_spread import spread_of

    spread = spread_of(plan.study, plan.places, config_folder)
    found = designs(plan.study, plan.places, spread)
    if not any(one.groups for one in found):
        raise ConfigError(
            f"{plan.study.name}: found no claim that its tables and figures could decide; expected tables or figures "
            "of the papers; add those that a claim of config/claims names"
        )
    if power:
        return power_text.power_text(plan, found, spread)
    chooser = Chooser(found, power_text.rows_of(plan))
    if budget_hours is None:
        return power_text.next_text(plan, chooser)
    return power_text.budget_text(plan, chooser, budget_hours)


def order(plan: Plan, config_folder: Path) -> list[str]:
    """Return the addresses of the runs that decide the most claims an hour, first ones first.

    It is empty for a study whose tables and figures can decide no claim.
    """
    from mdnmt.extras.power.choose_runs import Chooser
    from mdnmt.extras.power.claim_contrasts import designs
    from mdnmt.extras.power.power_text import rows_of
    from mdnmt.extras.power.seed_spread import spread_of

    found = designs(plan.study, plan.places, spread_of(plan.study, plan.places, config_folder))
    if not any(one.groups for one in found):
        return []
    seeds_of: dict[str, list[Run]] = {}
    for run in sorted(plan.study.makeable(), key=lambda one: one.seed):
        seeds_of.setdefault(f"{run.task}/{run.directory}", []).append(run)
    _, steps = Chooser(found, rows_of(plan), most_seeds=max(map(len, seeds_of.values()), default=0)).choose()
    wanted = ((row, step.seeds) for step in steps for row in step.rows)
    return [run.address for row, seeds in wanted for run in seeds_of.get(row, [])[:seeds]]
