"""How often is a difference called that is none, and how often one that is? Tests over seeds, where the truth is known.

    python benchmarks/seed_test.py [--trials 4000] [--figure docs/images/seed-test.png]

Scores are simulated from what moves them: the seed, the choice of sentences, and what a seed makes of a sentence. The
difference of two single runs has variance 1; how much of it comes from seeds goes from all to nothing. Half of the rest
is the sentences', shared by all seeds, half is the interaction's. Three tests are asked, each at the 5 % level: the one
that is used (mdnmt.score.significance.variance_components), Welch's t of seeds alone, and a plain bootstrap over seeds
and sentences (percentiles). Prints Markdown; the last digit of a share is uncertain (see its standard error).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mdnmt.exhibits.figure_style import COLOURS, DASHES, MARKERS, style
from mdnmt.score.significance.variance_components import MIN_SEEDS, seed_test
from mdnmt.welch import two_sided

Array = npt.NDArray[np.float64]

SENTENCES, RESAMPLES = 200, 200
SEEDS = (3, 5, 10)
COLUMNS = [(test, seeds) for test in range(3) for seeds in ((2, *SEEDS) if test == 2 else SEEDS)]
ALPHA = 0.05
TESTS = ("seeds and sentences", "seeds alone", "plain bootstrap")


@dataclass(frozen=True)
class World:
    """Where the variance of the difference of two single runs comes from; the parts add up to 1."""

    name: str
    seeds: float
    sentences: float
    interaction: float
    of_baseline: float = 0.5  # the share of the seeds' part that is the baseline's


def world(share: float, of_baseline: float = 0.5) -> World:
    rest = (1 - share) / 2
    name = f"{100 * share:.0f} % from seeds" + ("" if of_baseline else ", all of one system")
    return World(name, share, rest, rest, of_baseline)


WORLDS = (
    *(world(share) for share in (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)),
    World("98 % from sentences, the same for each seed", 0.0, 0.98, 0.02),
    World("all from what a seed makes of a sentence", 0.0, 0.0, 1.0),
    *(world(share, 0.0) for share in (1.0, 0.9, 0.75)),
)


def samples(
    of: World, seeds: int, trials: int, delta: float, generator: np.random.Generator
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield scores [S] of baseline and system, and [R, S] of resampled test sets, as often as there are trials."""
    drawn = generator.integers(SENTENCES, size=(RESAMPLES, SENTENCES))
    weights_RN = np.stack([np.bincount(row, minlength=SENTENCES) for row in drawn]) / SENTENCES
    of_one = np.sqrt(of.interaction / 2 * SENTENCES)  # of a sentence: its mean over the test set varies N times less
    for _ in range(trials):
        shared_N = generator.normal(0, np.sqrt(of.sentences * SENTENCES), SENTENCES)
        sides = []
        for part, gain in ((of.of_baseline, 0.0), (1 - of.of_baseline, delta)):
            moved_S = generator.normal(gain, np.sqrt(of.seeds * part), seeds)
            sides.append(moved_S[:, None] + generator.normal(0, of_one, (seeds, SENTENCES)))
        sides[1] += shared_N
        yield sides[0].mean(1), sides[1].mean(1), weights_RN @ sides[0].T, weights_RN @ sides[1].T


def called(
    baseline_S: Array, system_S: Array, baseline_RS: Array, system_RS: Array, generator: np.random.Generator
) -> tuple[bool, bool, bool]:
    """Return which of `TESTS` call the difference significant."""
    count = len(baseline_S)
    enough = count >= MIN_SEEDS
    ours = enough and seed_test(baseline_S, system_S, baseline_RS, system_RS, SENTENCES).p < ALPHA
    parts = [side.var(ddof=1) / count for side in (baseline_S, system_S)]
    freedom = sum(parts) ** 2 / sum(part**2 / (count - 1) for part in parts)
    alone = two_sided((system_S.mean() - baseline_S.mean()) / np.sqrt(sum(parts)), freedom) < ALPHA
    means = [
        np.take_along_axis(side, generator.integers(count, size=(RESAMPLES, count)), axis=1).mean(1)
        for side in (baseline_RS, system_RS)
    ]
    low, high = np.quantile(means[1] - means[0], [ALPHA / 2, 1 - ALPHA / 2])
    return ours, bool(alone), not low <= 0 <= high


def rates(of: World, seeds: int, trials: int, delta: float, seed: int = 1) -> Array:
    """Return how often each of `TESTS` calls a difference."""
    generator = np.random.default_rng(seed)
    found = [called(*sample, generator) for sample in samples(of, seeds, trials, delta, generator)]
    return np.asarray(np.mean(found, axis=0))


def draw(path: Path, trials: int) -> None:
    """Draw how often a true difference is found, over its size in standard deviations of two single runs."""
    from matplotlib.figure import Figure

    deltas = np.linspace(0, 3, 13)
    with style():
        figure = Figure(figsize=(5.0, 2.9), layout="constrained")
        axes: Any = figure.subplots()
        for place, seeds in enumerate(SEEDS):
            found = [rates(world(0.75), seeds, trials, float(delta))[0] for delta in deltas]
            look = {"color": COLOURS[place], "linestyle": DASHES[place], "marker": MARKERS[place]}
            axes.plot(deltas, 100 * np.array(found), label=f"{seeds} seeds", markersize=3.5, **look)
        axes.axhline(100 * ALPHA, color="#5c6470", linewidth=0.8, linestyle=(0, (2, 2)))
        axes.text(3, 100 * ALPHA + 2, "5 %: called where there is none", ha="right", color="#5c6470", size=8)
        axes.set(
            xlabel="true difference, in standard deviations of the difference of two runs",
            ylabel="found significant, %",
            ylim=(0, 102),
            xlim=(-0.05, 3.05),
        )
        axes.legend(loc="center right", bbox_to_anchor=(1, 0.42))
        figure.savefig(path, dpi=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000, help="of each number of the table")
    parser.add_argument("--figure", type=Path, help="PNG of the power curve to write")
    args = parser.parse_args()
    error = 100 * np.sqrt(ALPHA * (1 - ALPHA) / args.trials)
    print(f"False positives in percent, by number of seeds; standard error {error:.2f}.\n")
    print("| variance of a difference | " + " | ".join(f"{TESTS[test]}, {seeds}" for test, seeds in COLUMNS) + " |")
    print("|---|" + "---:|" * len(COLUMNS))
    for of in WORLDS:
        found = {seeds: rates(of, seeds, args.trials, 0.0) for seeds in (2, *SEEDS)}
        cells = [f"{100 * found[seeds][test]:.1f}" for test, seeds in COLUMNS]
        print(f"| {of.name} | {' | '.join(cells)} |", flush=True)
    if args.figure:
        draw(args.figure, args.trials // 4)


if __name__ == "__main__":
    main()
