"""Add what `make gpu` measured to config/cards.yaml, from which `mdnmt plan STUDY --card NAME` estimates hours.

    python benchmarks/card_speeds.py results/gpu/gpu.json

Of each method at its printed size, and of each model with 25,000 tokens, the fastest way counts: the trainer takes it
by itself. A figure replaces the earlier one of the same method, task and work on the same card. A card that the file
does not know is added under its name without "NVIDIA".
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]


def rows(found: dict[str, Any], commit: str, day: datetime.date) -> Iterator[dict[str, Any]]:
    """Return the rows of config/cards.yaml that the stages `papers` and `large` of a gpu.json hold."""
    import gpu_stages

    names = {"papers": dict(gpu_stages.PRINTED), "large": dict.fromkeys(gpu_stages.LARGE, "")}
    for stage, tasks in names.items():
        measured = found["stages"].get(stage, {}).get("rows", {})
        for name, task in tasks.items():
            ways = {way: row for way, row in measured.items() if way.startswith(f"{name}, ") and "updates" in row}
            if not ways:
                continue
            way, row = min(ways.items(), key=lambda one: one[1]["seconds_per_update"])
            method = name if task else gpu_stages.LARGE[name]
            builder, operations = work(method, task)
            size = "printed size and recipe" if task else "width 512, 6 + 6 layers, 25,000 tokens"
            yield {
                "method": method,
                **({"task": task} if task else {}),
                "builder": builder,
                "operations": operations,
                "seconds_per_update": round(row["seconds_per_update"], 5),
                "tokens_per_second": round(row["tokens_per_second"]),
                **({"peak_mib": round(row["peak_mib"])} if "peak_mib" in row else {}),
                "measured_on": day.isoformat(),
                "commit": commit,
                "what": f"{size}, generated text, {row['updates']} updates, bf16, {way.removeprefix(f'{name}, ')}",
            }


def work(method: str, task: str) -> tuple[str, float]:
    """Return the builder of a measured training, and the operations of its update as the plan counts them."""
    import gpu
    import workload

    from mdnmt import methods
    from mdnmt.config.architectures.architecture import VocabSizes
    from mdnmt.config.training import Training
    from mdnmt.operations.plan.existing_results import vocab_sizes
    from mdnmt.operations.plan.model_work import work_of
    from mdnmt.studies.resolve import resolve
    from mdnmt.studies.result_paths import ResultPaths

    if not task:
        size, (builder, own) = gpu.SIZES["papers"], workload.MODELS[method]
        options = {**workload.COMMON, **size.architecture, **own}
        architecture = methods.validate(builder, options, where=method).model_dump()
        found = work_of(builder, architecture, workload.DOMAINS, VocabSizes(size.vocab, size.vocab, True))
        return builder, found.of_update(Training(max_updates=1, max_tokens=size.tokens))
    study = resolve(ROOT / "config", "paper", ROOT / "resources" / "corpora")
    spec = study.runs_of(task, method)[0].planned
    vocab = vocab_sizes(study.tasks[task], ResultPaths(study, ROOT / "results"))[0]
    domains = len(study.tasks[task].config.domains)
    return spec.builder, work_of(spec.builder, spec.architecture, domains, vocab).of_update(spec.training)


def add(path: Path, card: dict[str, Any], new: list[dict[str, Any]]) -> str:
    """Add rows to the file and return the name of the card in it; `card` is what the stage `card` found.

    Raises:
        ConfigError: the file would no longer be valid.
    """
    import yaml

    from mdnmt import fsio
    from mdnmt.config.cards import Cards
    from mdnmt.config.loader import validate_model

    text = path.read_text(encoding="utf-8")
    cards = yaml.safe_load(text)["cards"]
    known = (key for key, one in cards.items() if card["name"].startswith(one["name"]))
    plain = re.sub(r"^nvidia (geforce )?", "", card["name"].lower())
    key = next(known, re.sub(r"[^a-z0-9]+", "-", plain).strip("-"))
    kept = cards.setdefault(key, {"name": card["name"], "memory_gb": round(card["memory_mib"] * 2**20 / 1e9)})
    work = {(row["method"], row.get("task"), f"{row['operations']:.2g}") for row in new}
    old = [
        one
        for one in kept.get("measured", [])
        if (one["method"], one.get("task"), f"{one['operations']:.2g}") not in work
    ]
    kept["measured"] = [*old, *new]
    validate_model({"cards": cards}, Cards, str(path))
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    fsio.write_text(path, head + yaml.safe_dump({"cards": cards}, sort_keys=False, width=120))
    return key


def main() -> int:
    """Add the rows; exit status 2: nothing was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("found", type=Path, help="the gpu.json of `make gpu`")
    parser.add_argument("--cards", type=Path, default=ROOT / "config" / "cards.yaml")
    options = parser.parse_args()

    from mdnmt.fsio import read_json
    from mdnmt.provenance import git_state

    found, day = read_json(options.found), datetime.date.fromtimestamp(options.found.stat().st_mtime)
    card = found["stages"].get("card", {}).get("rows", {}).get("card", {})
    new = list(rows(found, (git_state()[0] or "unknown")[:7], day))
    if not new or "memory_mib" not in card or found["tiny"]:
        print(f"mdnmt: {options.found}: found no speed of a GPU, expected the stages papers or large", file=sys.stderr)
        return 2
    print(f"{options.cards}: {len(new)} speeds of {add(options.cards, card, new)}; commit the file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
