"""Runs with scores on disk, and tables of them with printed numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mdnmt.exhibits.grid import Grid
from mdnmt.exhibits.registry import parse_table
from mdnmt.report.write_table import build as build_table

DOMAINS = ("law", "news")


def write(path: Path, value: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path)


def run_of(folder: Path, method: str, seed: int, scores: dict[str, dict[str, float]], comet: bool = False) -> Any:
    """Write the scores {metric: {domain: score}} of a run as the verbs do, COMET in a file of its own."""
    home = folder / "runs" / method / f"seed{seed}" / "test-0"
    by_domain: dict[str, Any] = {domain: {"num_sentences": 50} for domain in DOMAINS}
    for metric in set(scores) - {"comet"}:
        for domain, score in scores[metric].items():
            by_domain[domain][metric] = {"score": score, "signature": "s"}
    run = {"scores": write(home / "scores.json", {"domains": by_domain}), "seed": seed}
    if comet:
        found = {
            d: {"comet": {"score": s, "signature": "wmt"}, "num_sentences": 50} for d, s in scores["comet"].items()
        }
        run["others"] = [write(home / "comet.json", {"domains": found})]
    return run


def row(label: str, runs: list[Any], printed: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"group": "G", "label": label, "method": label, "runs": runs, "printed": printed or {}, **more}


def spec(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    columns = [{"name": domain, "label": domain.title()} for domain in DOMAINS]
    return {"kind": "scores", "title": "T", "columns": columns, "rows": rows, "metrics": ["bleu"], **more}


def build(value: dict[str, Any]) -> Grid:
    return build_table(parse_table(json.dumps(value)))


def same(folder: Path, label: str, score: float, number: Any = None, seeds: int = 3, **more: Any) -> dict[str, Any]:
    """Return a row whose seeds have nearly the same score: the mean is `score`, the deviation reads 0.00."""
    scores = [score + 0.004 * (k - (seeds - 1) / 2) for k in range(seeds)]
    runs = [run_of(folder, label, k, {"bleu": dict.fromkeys(DOMAINS, one)}) for k, one in enumerate(scores, start=1)]
    return row(label, runs, {"bleu/law": number} if number is not None else None, **more)
