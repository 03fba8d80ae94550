"""Tables and figures as JSON, as small as a test needs them, and the specs that lead to them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mdnmt.config.claim_rule import Rule
from mdnmt.statements.claims.evidence import Evidence
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.spec import ClaimsSpec


def compared(rule: Rule, spec: ClaimsSpec) -> Iterator[Comparison]:
    return rule.comparisons(Evidence(spec))


def cell(values: list[float], **more: Any) -> dict[str, Any]:
    spread = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": spread, "num_seeds": len(values), "values": values, **more}


def grid(columns: list[tuple[str, str]], rows: dict[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {
        "format": 2,
        "kind": "scores",
        "title": "T",
        "headers": [{"key": key, "label": key.title(), "metric": metric} for metric, key in columns],
        "rows": [{"group": "G", "label": name.upper(), "method": name, "cells": cells} for name, cells in rows.items()],
        "baseline_label": "Base",
        **more,
    }


def spec_of(folder: Path | str, kind: str, **more: Any) -> ClaimsSpec:
    """Return a spec whose tables or figures hold the JSON given by item; `options` are further keys."""
    options = more.pop("options", {})
    paths = {}
    for item, value in more.items():
        paths[item] = Path(folder) / f"{item}.json"
        paths[item].write_text(json.dumps(value))
    return ClaimsSpec(paper="p", title="P", claims={}, **{kind: paths}, **options)


def measure(name: str, number: float, /, method: str = "m", seed: int | None = 1, **at: Any) -> dict[str, Any]:
    return {"method": method, "label": method.upper(), "seed": seed, "name": name, "at": at, "value": number}


def figure(*measures: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "any", "title": "T", "measures": list(measures)}


def fulfilled(threshold: dict[str, float], number: float) -> bool:
    ((side, bound),) = threshold.items()
    return {"above": number > bound, "below": number < bound, "within": -bound < number < bound}[side]
