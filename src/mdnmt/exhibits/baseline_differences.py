"""Differences of a table's systems from its baseline, with intervals over seeds and the printed differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.metrics import Metric
from mdnmt.exhibits.best_by_validation import choose_best
from mdnmt.exhibits.rows import Column, ScoreRow
from mdnmt.exhibits.seed_scores import AVERAGE, Measured, SharedConditions, measure
from mdnmt.numbers.dunnett import Family, compare_with_baseline
from mdnmt.numbers.rounding import mean, standard_deviation
from mdnmt.numbers.verdicts import MIN_SEEDS
from mdnmt.welch import half_width

Intervals = Literal["welch", "dunnett"]


class ComparedSystems(Frozen):
    """The systems of a table of scores, with all printed numbers even if the study uses other text."""

    label: str  # "Jiang et al., Table 3"
    columns: tuple[Column, ...]  # the domains
    rows: tuple[ScoreRow, ...]
    metric: Metric
    baseline: str | None
    baseline_label: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _table_within(cls, given: object) -> object:
        """Read the form of archives made before November 2026: the whole table of scores under `table`."""
        match given:
            case {"label": label, "table": {"metrics": [metric, *_], **table}}:
                return {"label": label, "metric": metric} | {
                    key: table[key] for key in cls.model_fields if key in table
                }
        return given


@dataclass(frozen=True)
class Effect:
    """A system's mean BLEU over domains minus that of the baseline.

    Attributes:
        row: the system.
        ours: difference of the means over seeds; None: not trained, or one of the two lacks a domain.
        reach: half the width of its 95 % interval; None if one of the two has fewer than three seeds.
        num_seeds: number of seeds, of the one with fewer.
        printed: the difference in the paper; None: it does not print both numbers.
        p: adjusted for all systems of the table; None if the interval is Welch's.
        values: of each seed of the system and of the baseline.
    """

    row: ScoreRow
    ours: float | None
    reach: float | None
    num_seeds: int
    printed: float | None
    p: float | None = None
    values: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())


def effects(table: ComparedSystems, intervals: Intervals = "welch") -> list[Effect]:
    """Return the differences to the baseline in the order of the table's rows.

    If a system, or the baseline, has two sizes, the better one by validation is shown.

    Args:
        table: the systems and their baseline.
        intervals: welch: each difference by itself. dunnett: all systems of the table with at least three seeds
            together, with one standard deviation for all of them.

    Raises:
        DataError: a file is invalid.
    """
    metric = table.metric
    choice = next((row.choice for row in table.rows if row.method == table.baseline), None)
    rows, _ = choose_best(table.rows)
    shared = SharedConditions(table.columns, (metric,))
    numbers = {row.method: measure(row, shared).get((metric, AVERAGE)) for row in rows}
    base = next(
        (row for row in rows if row.method == table.baseline or (choice is not None and row.choice == choice)),
        None,
    )
    if base is None:
        return []
    found = [_effect(row, numbers[row.method], base, numbers[base.method], table) for row in rows if row is not base]
    return found if intervals == "welch" else _simultaneous(found)


def family_of(found: Sequence[Effect]) -> Family | None:
    """Return the comparisons of all systems that have enough seeds; those with fewer only describe themselves."""
    tested = [effect.values for effect in found if effect.num_seeds >= MIN_SEEDS]
    return compare_with_baseline([ours for ours, _ in tested], tested[0][1]) if tested else None


def _simultaneous(found: list[Effect]) -> list[Effect]:
    """Return the effects with Dunnett's intervals and p-values in place of Welch's."""
    family = family_of(found)
    numbers = iter(zip(family.reaches, family.p_values, strict=True)) if family else iter(())
    return [
        replace(effect, reach=reach, p=p)
        for effect in found
        for reach, p in [next(numbers, (None, None)) if effect.num_seeds >= MIN_SEEDS else (None, None)]
    ]


def trained_effects(found: list[Effect]) -> list[Effect]:
    """Return the systems that were trained, without rows that have no seed (copying the source)."""
    return [effect for effect in found if effect.ours is not None and effect.num_seeds]


def _effect(
    row: ScoreRow, ours: Measured | None, base: ScoreRow, of_base: Measured | None, table: ComparedSystems
) -> Effect:
    domains = [column.name for column in table.columns]
    left, right = _printed(row, table.metric, domains), _printed(base, table.metric, domains)
    printed = None if left is None or right is None else left - right
    if ours is None or of_base is None:
        return Effect(row, None, None, 0, printed)
    seeds = min(ours.num_seeds, of_base.num_seeds)
    parts = [(standard_deviation(one.values) or 0.0, len(one.values)) for one in (ours, of_base)]
    reach = half_width(parts) if seeds >= MIN_SEEDS else None
    difference, values = mean(ours.values) - mean(of_base.values), (ours.values, of_base.values)
    return Effect(row, difference, reach, seeds, printed, values=values)


def _printed(row: ScoreRow, metric: str, domains: list[str]) -> float | None:
    """Return the printed average, or the mean of the printed domains that stand for those of the task."""
    if (average := row.printed.get(f"{metric}/{AVERAGE}")) is not None and average.value is not None:
        return average.value
    known = [row.printed[key].value for domain in domains if (key := f"{metric}/{domain}") in row.printed]
    values = [value for value in known if value is not None]
    return mean(values) if values else None
