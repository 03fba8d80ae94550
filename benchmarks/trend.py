"""How a system's difference from Mixed changes while both are trained, from the curves of bundled runs.

    python benchmarks/trend.py docs/replication/*bundle --figure docs/images/trend.png

At each validation: the difference of the mean negative log-likelihood of a target token (nats; below zero, the system
is better), with Welch's 95 % interval over seeds. The runs have 8,000 updates and the learning rate decays, so a point
in the middle is not a training that ends there. Prints the differences at every fifth validation as a table in
Markdown.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from forest import EN_FR, LONG, SYSTEMS, TEXTS, ZH_EN, Difference, difference

from mdnmt.exchange.bundle import Bundle
from mdnmt.exhibits.figure_style import COLOURS, GREY, detail_height, heading, new_figure, style
from mdnmt.numbers.rounding import signed

BASELINES = {
    "mixed": "Mixed",
    "mixed-scaled-encoder": "Mixed of the same initial scale",
    "mixed-rate-0002": "Mixed of the same rate",
    "mixed-dmoe-size": "Mixed of the same rate and size",
}
PANELS = (
    (EN_FR, "waldm-encoder", ("mixed", "mixed-scaled-encoder")),
    (ZH_EN, "domain-tag", ("mixed",)),
    (EN_FR, "waldm-edc", ("mixed", "mixed-rate-0002")),
    (ZH_EN, "dsa", ("mixed",)),
    (EN_FR, "dsa-guided", ("mixed",)),
    (ZH_EN, "dsa-guided", ("mixed",)),
    (EN_FR, "damha-dmoe-domain", ("mixed", "mixed-rate-0002", "mixed-dmoe-size")),
    (ZH_EN, "damha-dmoe-domain", ("mixed", "mixed-rate-0002", "mixed-dmoe-size")),
)
EVERY = 5  # validations from one row of the table to the next
Trends = Mapping[tuple[str, str, str], Mapping[float, Difference]]  # task, system, baseline -> million target tokens
Curves = Mapping[tuple[str, str], Mapping[float, Mapping[str, float]]]  # task, method -> passes -> seed -> loss


def read_curves(folders: list[Path]) -> Curves:
    """Return the validation loss of the runs with 8,000 updates."""
    found: dict[tuple[str, str], dict[float, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    wanted = {(task, method) for task, system, baselines in PANELS for method in (system, *baselines)}
    for bundle in map(Bundle, folders):
        for run in bundle.runs:
            task, method, folder = run.split("/")
            if (task, method) not in wanted:
                continue
            files = bundle.read(run, {"run.json", "curves.tsv"})
            if json.loads(files["run.json"])["updates"] != LONG:
                continue
            for row in csv.DictReader(io.StringIO(files["curves.tsv"].decode()), delimiter="\t"):
                if (row["split"], row["domain"]) == ("valid", "all"):
                    found[task, method][float(row["epoch"])][folder.partition("-")[0]] = float(row["nll"])
    return found


def target_tokens(folders: list[Path], task: str) -> int:
    """Return the subword tokens of the target side of a task's training text."""
    for bundle in map(Bundle, folders):
        for key in bundle.keys("tasks"):
            if key.startswith(task):
                stats = json.loads(bundle.unpack(f"tasks/{key}", {"stats.json"})["stats.json"])
                return sum(one["train"]["target"]["pieces"] for one in stats["domains"].values())
    raise SystemExit(f"no bundle has the task {task}")


def read_trends(folders: list[Path]) -> Trends:
    """Return the differences of all panels."""
    curves, found = read_curves(folders), {}
    for task, system, baselines in PANELS:
        millions = target_tokens(folders, task) / 1e6  # in one pass over the training text
        for baseline in baselines:
            base = curves[task, baseline]
            both = {
                passes * millions: difference(ours, base.get(passes, {}))
                for passes, ours in sorted(curves[task, system].items())
            }
            found[task, system, baseline] = {tokens: one for tokens, one in both.items() if one is not None}
    return found


def draw(trends: Trends, path: Path) -> None:
    """Write the figure: a column for each text."""
    detail = (
        "Validation loss (nats per token), less that of a plain model: below 0, the system is better. Bands: 95 % "
        "intervals over seeds (Welch). The learning rate decays to 0 at the right end."
    )
    rows = len(PANELS) // 2
    head, foot = 0.75 + detail_height(detail), 1.3
    height = head + 1.1 * rows + foot
    colours = dict(zip(BASELINES, COLOURS, strict=False))
    with style():
        figure = new_figure(height)
        grid = figure.subplots(rows, 2, sharex="col", sharey=True)
        for axes, (task, system, baselines) in zip(grid.flat, PANELS, strict=True):
            axes.axhline(0, color=GREY, linewidth=0.8)
            axes.set_title(SYSTEMS[system], loc="left", weight="normal", size=8.5, pad=3)
            for baseline in baselines:
                points = trends[task, system, baseline]
                low, high = ([one.value + sign * (one.reach or 0.0) for one in points.values()] for sign in (-1, 1))
                axes.fill_between(list(points), low, high, color=colours[baseline], alpha=0.18, linewidth=0)
                axes.plot(list(points), [one.value for one in points.values()], color=colours[baseline], linewidth=1.3)
            axes.set_ylim(-0.25, 0.25)
        for axes, (task, _, _) in zip(grid[0], PANELS, strict=False):
            axes.text(0, 1.22, TEXTS[task], transform=axes.transAxes, weight="bold", size=9)
        for axes in grid[-1]:
            axes.set_xlabel("million target tokens")
        figure.subplots_adjust(
            left=0.11, right=0.98, bottom=foot / height, top=1 - head / height, hspace=0.34, wspace=0.08
        )
        handles = [
            axes.plot([], [], color=colours[name], label=f"minus {label}")[0] for name, label in BASELINES.items()
        ]
        figure.legend(handles=handles, loc="lower left")
        heading(figure, "Does a difference last while training goes on?", detail)
        figure.savefig(path, metadata={"Software": None})


def main() -> None:
    """Print the numbers and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path, nargs="+")
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    trends = read_trends(args.bundles)
    print("| text | system | baseline | seeds | difference of the loss after million target tokens |")
    print("|---|---|---|---:|---|")
    for (task, system, baseline), points in trends.items():
        chosen = list(points.items())[EVERY - 1 :: EVERY]
        seeds = ", ".join(map(str, chosen[0][1].seeds))
        cells = [f"{at:.1f}: {signed(one.value, 3)} \N{PLUS-MINUS SIGN}{one.reach or 0:.3f}" for at, one in chosen]
        print(f"| {TEXTS[task]} | {SYSTEMS[system]} | {BASELINES[baseline]} | {seeds} | {'; '.join(cells)} |")
    if args.figure:
        draw(trends, args.figure)


if __name__ == "__main__":
    main()
