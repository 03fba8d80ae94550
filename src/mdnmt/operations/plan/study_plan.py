"""The plan of a study: its tasks, runs, tables and figures, and what is left to do for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mdnmt.config.cards import Card
from mdnmt.exhibits.code_hashes import study_notes
from mdnmt.operations.plan.exhibit_needs import Absence, TableNeeds, absences, figure_runs, table_needs
from mdnmt.operations.plan.existing_results import vocab_sizes
from mdnmt.operations.plan.run_plan import RunPlan, RunPlanner
from mdnmt.operations.plan.run_records import card_records, training_records
from mdnmt.operations.plan.task_plan import TaskPlan, task_plans
from mdnmt.operations.plan.time_estimates import Estimate, total
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study


@dataclass(frozen=True)
class Plan:
    """What a study needs.

    Attributes:
        study: the study.
        places: the paths of its results.
        device: the device that will compute, "cpu" or "cuda".
        on_cluster: it is a cluster's.
        tasks: its tasks.
        runs: all runs, each once.
        tables: its tables.
        figures: key -> names of runs.
        guessed: tasks whose vocabulary does not exist yet, so the sizes of their models are guessed.
        card: the GPU that was named, on which the study will run; None: what is here, or the cluster's.
        is_measured: trainings were measured on the device.
    """

    study: Study
    places: ResultPaths
    device: str
    on_cluster: bool
    tasks: tuple[TaskPlan, ...]
    runs: tuple[RunPlan, ...]
    tables: tuple[TableNeeds, ...]
    figures: dict[str, tuple[str, ...]]
    guessed: tuple[str, ...]
    card: Card | None = None
    is_measured: bool = False

    @cached_property
    def by_name(self) -> dict[str, RunPlan]:
        """Return the runs by name."""
        return {plan.name: plan for plan in self.runs}

    def cells(self, table: TableNeeds) -> tuple[int, int, int]:
        """Return how many of a table's cells are ready, to come, and impossible to make."""
        ready = sum(row.cells - row.never for row in table.rows if row.is_ready)
        never = sum(row.never for row in table.rows)
        return ready, table.cells - ready - never, never

    @property
    def left(self) -> Estimate:
        """Return the time left for all runs that can be made, on one CPU thread or one GPU."""
        makeable = [plan for plan in self.runs if plan.state != "cannot be made"]
        return total(one for plan in makeable for one in (plan.train, plan.decode) if one is not None)

    @property
    def if_all(self) -> Estimate:
        """Return the same including runs that cannot be made now, as far as their time is known."""
        return total(one for plan in self.runs for one in (plan.train, plan.decode) if one is not None)

    @cached_property
    def absences(self) -> list[Absence]:
        """Return what is not here, each thing with the runs and cells that cannot be made without it."""
        return absences(self.study, self.tables)

    @cached_property
    def notes(self) -> list[str]:
        """Return the notes on runs that are done: those that other code made, packages that differ."""
        return study_notes(self.study, self.places)

    @property
    def to_add(self) -> tuple[int, int]:
        """Return the bytes that makeable runs, task data and corpora will add, least and most."""
        runs = [plan.to_add for plan in self.runs if plan.state != "cannot be made"]
        tasks = sum((task.to_add or 0) + task.to_fetch for task in self.tasks if task.state != "cannot be made")
        return sum(low for low, _ in runs) + tasks, sum(high for _, high in runs) + tasks

    @property
    def to_add_if_all(self) -> tuple[int, int]:
        """Return the bytes that all runs will add, including runs that cannot be made now."""
        return sum(plan.to_add[0] for plan in self.runs), sum(plan.to_add[1] for plan in self.runs)

    @property
    def memory_bytes(self) -> int:
        """Return the estimated memory of the largest training that is left; 0: there is none."""
        return max((plan.memory_bytes or 0 for plan in self.runs), default=0)

    @property
    def used_bytes(self) -> int:
        """Return the bytes of existing runs and task data."""
        return sum(plan.used_bytes for plan in self.runs) + sum(task.used_bytes for task in self.tasks)


def make_plan(
    study: Study,
    results: Path,
    corpora: Path,
    benchmarks: Path,
    device: str,
    on_cluster: bool = False,
    card: Card | None = None,
) -> Plan:
    """Return the plan of a study.

    Args:
        study: the resolved study.
        results: folder of results.
        corpora: folder of fetched corpora.
        benchmarks: folder of Snakemake's benchmark records.
        device: the device that will compute, "cpu" or "cuda".
        on_cluster: the device is a cluster's.
        card: the GPU that will compute, somewhere else; its measured speeds count, and no record of other hardware.
    """
    places = ResultPaths(study, results)
    records = training_records(results, benchmarks, device)
    if card is not None:
        records = [*(one for one in records if card.is_card(one.hardware)), *card_records(card)]
    vocabs = {name: vocab_sizes(task, places) for name, task in study.tasks.items()}
    sizes = {name: found for name, (found, _) in vocabs.items()}
    planner = RunPlanner(study, places, benchmarks, sizes, records, device, is_elsewhere=card is not None)
    return Plan(
        study=study,
        places=places,
        device=device,
        on_cluster=on_cluster,
        tasks=task_plans(study, places, corpora, benchmarks),
        runs=tuple(planner.plan(run) for run in study.runs),
        tables=tuple(table_needs(study, key, places) for key in study.config.tables),
        figures={key: figure_runs(study, key, places) for key in study.config.figures},
        guessed=tuple(name for name, (_, counted) in vocabs.items() if not counted),
        card=card,
        is_measured=bool(records),
    )


def as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain JSON values; times in seconds of one CPU thread or one GPU."""
    return {
        "study": plan.study.name,
        "seeds": list(plan.study.config.seed_list),
        "device": plan.device,
        "on_cluster": plan.on_cluster,
        "card": plan.card.name if plan.card else None,
        "tasks": [_task(task) for task in plan.tasks],
        "runs": [_run(plan, one) for one in plan.runs],
        "tables": [
            {
                "key": table.key,
                "title": table.title,
                "task": table.task,
                "made": Path(plan.places.table(table.key, "json")).is_file(),
                **dict(zip(("ready", "to_come", "cannot"), plan.cells(table), strict=True)),
                "rows": [
                    {"label": row.label, "cells": row.cells, "runs": list(row.runs), "absent": row.absent}
                    for row in table.rows
                ],
            }
            for table in plan.tables
        ],
        "absent": [{"reason": one.reason, "runs": one.runs, "cells": one.cells} for one in plan.absences],
        "figures": {key: list(names) for key, names in plan.figures.items()},
        "left_seconds": _range(plan.left),
        "to_add_bytes": list(plan.to_add),
        "used_bytes": plan.used_bytes,
        "guessed_vocabularies": list(plan.guessed),
        "notes": plan.notes,
    }


def _task(task: TaskPlan) -> dict[str, Any]:
    return {
        "task": task.name,
        "state": task.state,
        "missing": task.missing,
        "pairs": task.pairs,
        "corpora": [{"corpus": one.name, "fetched": one.fetched, "size_bytes": one.size_bytes} for one in task.corpora],
        "seconds": _range(task.make),
        "source": task.make.source if task.make else None,
        "to_add_bytes": task.to_add,
        "used_bytes": task.used_bytes,
        "ceilings": task.ceilings,
    }


def _run(plan: Plan, one: RunPlan) -> dict[str, Any]:
    return {
        "run": one.name,
        "method": one.run.method,
        "fingerprint": one.run.fingerprint,
        "state": one.state,
        "translated": one.translated,
        "missing": one.missing,
        "parameters": one.parameters,
        "memory_bytes": one.memory_bytes,
        "updates_made": one.made,
        "updates": one.updates,
        "train_seconds": _range(one.train),
        "train_source": one.train.source if one.train else None,
        "decode_seconds": _range(one.decode),
        "decode_source": one.decode.source if one.decode else None,
        "spent_seconds": one.spent_seconds,
        "to_add_bytes": list(one.to_add),
        "used_bytes": one.used_bytes,
        "tables": [table.key for table in plan.tables if one.name in table.runs],
        "figures": [key for key, names in plan.figures.items() if one.name in names],
    }


def _range(found: Estimate | None) -> list[float] | None:
    return [round(found.low, 3), round(found.high, 3)] if found is not None else None
