"""Make tables and figures in which a claim holds, or fails, from its rules alone.

What a rule compares is worked out here a second time, from what config/claims says, without the code that decides.
"""

from __future__ import annotations

import json
import zlib
from itertools import product
from pathlib import Path
from typing import Any

from mdnmt.config.claims import Claim
from mdnmt.statements.claims.rules.agreement import AgreementRule
from mdnmt.statements.claims.rules.cells import CellsRule
from mdnmt.statements.claims.rules.labels import LabelsRule
from mdnmt.statements.claims.rules.measure import MeasureRule
from mdnmt.statements.claims.rules.stars import StarsRule
from mdnmt.statements.claims.spec import ClaimsSpec

QUANTITIES = ("num_parameters", "decode_sentences_per_second", "epoch_seconds", "peak_memory_mb")
VALUES = {
    "layer": [1, 2, 3, 4, 5, 6],
    "side": ["encoder", "decoder"],
    "domain": ["news", "ted"],
    "expert": [1, 2, 3],
    "value": [0.0, 0.05, 0.5, 1.0],
}
GAP, JITTER = 2.0, 1e-5  # between two sides of a comparison, and between seeds: nothing is close
Slot = tuple[Any, ...]  # ("table", item, metric, column, row) or ("figure", item, name, method, place)


def domains_of(claim: Claim) -> list[str]:
    named: list[str] = ["news", "ted"]
    for rule in claim.rules:
        if isinstance(rule, CellsRule):
            named += [*(rule.columns if isinstance(rule.columns, tuple) else ()), *rule.leaving_out, *rule.than_columns]
    return list(dict.fromkeys(named))


def table_pairs(rule: CellsRule, domains: list[str]) -> list[tuple[Slot, Slot]]:
    """Return (left, right) of every comparison; `single` is a row a domain."""
    if rule.columns == "average":
        columns = ["avg"]
    else:
        columns = domains if rule.columns == "each" else list(rule.columns)
    found = []
    for (left, right), metric, method in product(rule.compared_tables, rule.metrics, rule.rows):
        of_metric = [metric] if metric in QUANTITIES else [c for c in columns if c not in rule.leaving_out]
        for column, other in product(of_metric, rule.than or (method,)):
            for there in rule.than_columns or (column,):
                own = f"single-{column}" if method == "single" else method
                others = [other]
                if other == "single":
                    own_too = rule.than_trained_on == "own"
                    others = [f"single-{d}" for d in domains if (d == there) is own_too]
                found += [(("table", left, metric, column, own), ("table", right, metric, there, o)) for o in others]
    return found


def _place(at: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    edges = {"first": 0, "last": -1}
    return tuple((key, VALUES[key][edges[v]] if v in edges else v) for key, v in sorted(at.items()))


def measure_pairs(rule: MeasureRule) -> list[tuple[Slot, Slot | None]]:
    found: list[tuple[Slot, Slot | None]] = []
    for values in product(*(VALUES[key] for key in rule.each)):
        each = dict(zip(rule.each, values, strict=True))
        for method in rule.methods or ("",):
            left = ("figure", rule.figure, rule.name, method, _place({**rule.at, **each}))
            if rule.than is None:
                found.append((left, None))
            for other in (rule.than.methods or (method,)) if rule.than else ():
                at = _place({**rule.at, **rule.than.at, **each})
                found.append(
                    (left, ("figure", rule.than.figure or rule.figure, rule.than.name or rule.name, other, at))
                )
    return found


def pairs_of(rule: Any, domains: list[str]) -> list[tuple[Slot, Slot | None]]:
    if isinstance(rule, CellsRule):
        return list(table_pairs(rule, domains))
    return measure_pairs(rule) if isinstance(rule, MeasureRule) else []


def settle(claim: Claim, failing: int | None) -> dict[Slot, float]:
    """Return a number for every slot so that each rule holds, but the one that is to fail, which fails everywhere."""
    domains, values = domains_of(claim), {}
    wanted = []
    for index, rule in enumerate(claim.rules):
        pairs = pairs_of(rule, domains)
        for slot in (slot for pair in pairs for slot in pair if slot is not None):
            values.setdefault(slot, 20.0)
        if not pairs or (failing is not None and index != failing):
            continue
        if failing is None and rule.needed == "one":
            by_row: dict[Any, Any] = {}
            for pair in pairs:  # of each row the first comparison, or the last where less is asked for
                by_row.setdefault(pair[0][4] if rule.per_row else "", []).append(pair)
            pairs = [of_row[-1 if rule.bound[0] == "below" else 0] for of_row in by_row.values()]
        wanted += [(rule, pair) for pair in pairs]
    for _ in range(50):
        if not any(_raise(values, rule, pair, failing is None) for rule, pair in wanted):
            return values
    raise AssertionError("the rules of the claim cannot hold together")


def _raise(values: dict[Slot, float], rule: Any, pair: tuple[Slot, Slot | None], holds: bool) -> bool:
    """Raise the side that is too low for the rule to hold (to fail); say whether there was anything to do."""
    left, right = pair
    side, bound = rule.bound
    factor = 1.5 if left[2] in QUANTITIES else 1.0  # time and memory are known to 5 % only
    if right is None:
        target = {"above": bound + GAP, "below": bound - GAP, "within": 0.0}[side]
        done = values[left] == (target if holds else {"above": bound - GAP}.get(side, bound + GAP))
        values[left] = target if holds else {"above": bound - GAP}.get(side, bound + GAP)
        return not done
    times = getattr(rule, "times", 1.0)
    reach = times * values[right]
    if side == "within":
        target = reach if holds else reach + bound + GAP
        done, values[left] = abs(values[left] - target) < 1e-6, target
        return not done
    if (side == "above") == holds:
        if values[left] >= reach * factor + bound + GAP / 2:
            return False
        values[left] = reach * factor + bound + GAP
    else:
        if values[left] * factor <= reach + bound - GAP / 2:
            return False
        values[right] = (values[left] * factor - bound + GAP) / times
    return True


def write(claim: Claim, folder: Path, *, seeds: int = 8, failing: int | None = None) -> ClaimsSpec:
    """Write the tables and figures that a claim needs and return the spec that decides it."""
    values = settle(claim, failing)
    domains = domains_of(claim)
    tables: dict[str, dict[str, dict[tuple[str, str], dict[str, Any]]]] = {}
    measures: dict[str, list[dict[str, Any]]] = {}
    for slot, value in values.items():
        if slot[0] == "table":
            _, item, metric, column, row = slot
            tables.setdefault(item, {}).setdefault(row, {})[metric, column] = _cell(value, seeds, metric, _jitter(slot))
    # The rule that is to fail comes last: two rules may read the same cells.
    last = None if failing is None else claim.rules[failing]
    for rule in sorted(claim.rules, key=lambda one: one is last):
        if isinstance(rule, StarsRule | AgreementRule):
            _of_rows(rule, tables, domains, seeds, failing is None or claim.rules[failing] is not rule)
        if isinstance(rule, LabelsRule):
            _of_labels(rule, tables, domains, seeds, failing is None or claim.rules[failing] is not rule)
        if isinstance(rule, MeasureRule):
            for slot in dict.fromkeys(s for pair in measure_pairs(rule) for s in pair if s is not None):
                measures.setdefault(slot[1], []).extend(_measures(slot, values[slot], rule.reduce, seeds))
    spec: dict[str, Any] = {"tables": {}, "figures": {}}
    for item, rows in tables.items():
        path = folder / f"{item}.json"
        path.write_text(json.dumps(_grid(rows)))
        spec["tables"][item] = path
    for item, found in measures.items():
        path = folder / f"{item}.json"
        path.write_text(json.dumps({"kind": "any", "title": "T", "measures": found}))
        spec["figures"][item] = path
    return ClaimsSpec(paper="p", title="P", claims={"claim": claim}, **spec)


def _jitter(slot: Slot) -> float:
    """Return the distance between two seeds: another for each slot, so that differences of one model vary as well."""
    return JITTER * (1 + zlib.crc32(repr(slot).encode()) % 97)


def _cell(value: float, seeds: int, metric: str = "bleu", jitter: float = JITTER) -> dict[str, Any]:
    if metric in QUANTITIES:
        return {"mean": value, "num_seeds": 1}
    found = [value + jitter * (k - (seeds - 1) / 2) for k in range(seeds)]
    centre = sum(found) / seeds
    spread = (sum((v - centre) ** 2 for v in found) / (seeds - 1)) ** 0.5 if seeds > 1 else None
    return {"mean": centre, "sd": spread, "num_seeds": seeds, "values": found}


def _of_rows(rule: Any, tables: dict[str, Any], domains: list[str], seeds: int, holds: bool) -> None:
    columns = domains if isinstance(rule, StarsRule) or rule.columns == "each" else ["avg"]
    for (index, row), metric, column in product(enumerate(rule.rows), rule.metrics, columns):
        up = index if holds or metric != rule.metrics[-1] else -index
        cell = _cell(20.0 + up, seeds)
        if isinstance(rule, StarsRule):
            cell |= {"delta": 1.0, "p": 1e-6, "verdict": "better" if holds else "worse"}
        tables.setdefault(rule.table, {}).setdefault(row, {})[metric, column] = cell


def _of_labels(rule: LabelsRule, tables: dict[str, Any], domains: list[str], seeds: int, holds: bool) -> None:
    """Write scores under gold labels and under others: each of `rows` loses 1 or 5, each of `than` 3."""
    columns = domains if rule.columns == "each" else ["avg"]
    few, many = (1.0, 5.0) if rule.bound[0] == "below" else (5.0, 1.0)
    for row, metric, column in product((*rule.rows, *rule.than), rule.metrics, columns):
        cost = (few if holds else many) if row in rule.rows else 3.0
        of_table = tables.setdefault(rule.table, {})
        of_table.setdefault(row, {})[metric, column] = _cell(20.0, seeds)
        for labels in rule.labels:
            of_table.setdefault(f"{row}@{labels}", {})[metric, column] = _cell(
                20.0 - cost, seeds, jitter=_jitter((row, labels))
            )


def _measures(slot: Slot, value: float, reduce: dict[str, str], seeds: int) -> list[dict[str, Any]]:
    _, _, name, method, place = slot
    found = []
    for seed, indices in product(range(seeds), product(*(range(len(VALUES[key])) for key in reduce))):
        # The first of each key has the number; the others lie where the reduction must leave them.
        away = sum(i if how == "min" else -i for i, how in zip(indices, reduce.values(), strict=True))
        at = dict(place) | {key: VALUES[key][i] for key, i in zip(reduce, indices, strict=True)}
        number = value + _jitter(slot) * (seed - (seeds - 1) / 2) + away
        shown = method or f"system-{place}"
        found.append({"method": shown, "label": shown, "seed": seed, "name": name, "at": at, "value": number})
    return found


def _grid(rows: dict[str, dict[tuple[str, str], dict[str, Any]]]) -> dict[str, Any]:
    columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
    resources = columns[0][0] in QUANTITIES
    return {
        "format": 2,
        "kind": "resources" if resources else "scores",
        "title": "T",
        "headers": [{"key": key, "label": key.title(), "metric": metric} for metric, key in columns],
        "rows": [
            {"group": "G", "label": row.upper(), "method": row, "cells": [cells.get(column, {}) for column in columns]}
            for row, cells in rows.items()
        ],
        "baseline": "mixed",
        "baseline_label": "MIXED",
    }
