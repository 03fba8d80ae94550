"""Is the last checkpoint better than the average of the last five? From the records of bundled runs.

    python benchmarks/last_checkpoint.py docs/replication/*bundle

Prints a table in Markdown. Both sets of weights of a run were validated at its end: loss on all validation text, BLEU
on as many sentences as the recipe says (100 of each domain in the replication). Test text was translated with the
average alone, so nothing here is a test score.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from mdnmt.exchange.bundle import Bundle
from mdnmt.numbers.rounding import mean, signed

BASELINE = "mixed"
KEPT = 3  # systems with fewer seeds have no row


@dataclass(frozen=True)
class Validation:
    """One run, validated with both sets of weights: average first, last checkpoint second."""

    loss: tuple[float, float]
    bleu: tuple[float, float]


def validations(folder: Path) -> dict[str, tuple[int, Validation]]:
    """Return run (`<task>/<method>/seed<k>-<fp>`) -> updates and validation, where both sets of weights were kept."""
    found, bundle = {}, Bundle(folder)
    for run in bundle.runs:
        record = json.loads(bundle.read(run, {"run.json"})["run.json"])
        if "alternative_validation" in record:
            average, last = (record[name]["all"] for name in ("validation", "alternative_validation"))
            both = Validation((average["loss"], last["loss"]), (average["bleu"], last["bleu"]))
            found[run] = (max(record["alternative_updates"]), both)
    return found


def main() -> None:
    """Print the table of all bundles together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path, nargs="+")
    runs = {}
    for folder in parser.parse_args().bundles:
        runs.update(validations(folder))
    everything = [one for _, one in runs.values()]
    lower = sum(one.loss[1] < one.loss[0] for one in everything)
    higher = sum(one.bleu[1] > one.bleu[0] for one in everything)
    gain = mean([one.bleu[1] - one.bleu[0] for one in everything])
    print(f"Of {len(everything)} runs, {lower} have a lower loss with the last checkpoint, and {higher} a higher BLEU")
    print(f"(difference on average over the runs: {signed(gain, 2)}).\n")

    systems: dict[tuple[str, int], dict[str, list[Validation]]] = defaultdict(lambda: defaultdict(list))
    for run, (updates, one) in runs.items():
        task, method, _ = run.split("/")
        systems[task, updates][method].append(one)
    print(
        "| text, updates | system | seeds | loss: average | last | BLEU: average | last | difference: average | last |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for (task, updates), methods in sorted(systems.items()):
        for method in sorted(methods, key=lambda name: (name != BASELINE, name)):
            if len(methods[method]) >= KEPT:
                print(_row(f"{task}, {updates:,}", method, methods[method], methods.get(BASELINE, [])))


def _row(text: str, method: str, ours: list[Validation], baseline: list[Validation]) -> str:
    losses, scores = (
        [mean([getattr(one, name)[which] for one in ours]) for which in (0, 1)] for name in ("loss", "bleu")
    )
    cells = [
        text,
        f"`{method}`",
        str(len(ours)),
        *(f"{value:.3f}" for value in losses),
        *(f"{value:.2f}" for value in scores),
    ]
    if method == BASELINE or not baseline:
        cells += ["", ""]
    else:
        cells += [signed(scores[which] - mean([one.bleu[which] for one in baseline]), 2) for which in (0, 1)]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
