"""How often does a star stand where no system is better? Equal systems, made of two real ones.

    python benchmarks/star_errors.py --references FILE --outputs FILE FILE [--lang fr] [--pairs 200] [--rows 12]

Two systems' translations of the same text are swapped sentence by sentence, by the toss of a coin: what comes out are
two systems that are equal but for chance. A pair is starred by a test if the second is better with p < 0.05. A table
has as many rows as are asked for, all against one baseline; it counts as wrong if any of its rows is starred after
Holm's correction. Prints JSON: by metric and test the shares of pairs that are starred and that differ either way, of
tables with a star without correction and with it, and what each share may at most be: 5 % and two standard errors.
sacreBLEU's own p of the bootstrap is looked at as well, although no star rests on it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt.config.metrics import Metric
from mdnmt.score.significance.holm import draws_needed, holm
from mdnmt.score.significance.paired_tests import PairedResult, paired_result
from mdnmt.score.significance.resampling import bootstrap_scores, randomised_differences
from mdnmt.score.significance.sentence_statistics import SentenceCounts, text_counter

ALPHA = 0.05
TESTS = {"bootstrap": "p_bootstrap", "randomisation": "p_randomisation", "as sacreBLEU's bootstrap": "p_sacrebleu"}
METRICS: tuple[Metric, ...] = ("bleu", "chrf")


def equal_system(one: SentenceCounts, other: SentenceCounts, generator: np.random.Generator) -> SentenceCounts:
    """Return a system whose sentences are of either, by the toss of a coin."""
    first_N = generator.integers(2, size=(len(one.counts_NC), 1), dtype=bool)
    return SentenceCounts(np.where(first_N, one.counts_NC, other.counts_NC), one.score)


def compared(baseline: SentenceCounts, systems: Sequence[SentenceCounts], draws: tuple[int, int]) -> list[PairedResult]:
    """Return each system against the baseline, as a table's are compared."""
    scores_RS = bootstrap_scores([baseline, *systems], draws[0])
    randomised_RS = randomised_differences([(baseline, system) for system in systems], draws[1])
    return [
        paired_result(baseline.total, system.total, scores_RS[:, row + 1] - scores_RS[:, 0], randomised_RS[:, row])
        for row, system in enumerate(systems)
    ]


def errors(one: SentenceCounts, other: SentenceCounts, pairs: int, tables: int, rows: int, seed: int) -> dict[str, Any]:
    """Return, by test, the shares of pairs and tables that are starred although no system is better."""
    generator = np.random.default_rng(seed)
    alone = []
    for _ in range(pairs):
        # The two of a pair share the tosses: what one has of the first system, the other has of the second.
        baseline = equal_system(one, other, generator)
        swapped = SentenceCounts(one.counts_NC + other.counts_NC - baseline.counts_NC, one.score)
        alone += compared(baseline, [swapped], (1000, 10_000))
    draws = draws_needed(rows, ALPHA)
    families = [
        compared(
            equal_system(one, other, generator),
            [equal_system(one, other, generator) for _ in range(rows)],
            (draws, draws),
        )
        for _ in range(tables)
    ]
    return {test: _shares(alone, families, p_of) for test, p_of in TESTS.items()}


def _shares(alone: list[PairedResult], families: list[list[PairedResult]], p_of: str) -> dict[str, float]:
    def starred(results: Sequence[PairedResult], p_values: Sequence[float]) -> list[bool]:
        return [result.delta > 0 and p < ALPHA for result, p in zip(results, p_values, strict=True)]

    p_values = [getattr(result, p_of) for result in alone]
    of_tables = [[getattr(result, p_of) for result in table] for table in families]
    plain = [any(starred(table, found)) for table, found in zip(families, of_tables, strict=True)]
    corrected = [any(starred(table, holm(found))) for table, found in zip(families, of_tables, strict=True)]
    return {
        "pairs_starred": float(np.mean(starred(alone, p_values))),
        "pairs_that_differ": float(np.mean([p < ALPHA for p in p_values])),
        "at_most": ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / len(alone)),
        "tables_starred_uncorrected": float(np.mean(plain)),
        "tables_starred": float(np.mean(corrected)),
        "tables_at_most": ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / len(families)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--references", type=Path, required=True, help="a line a sentence")
    parser.add_argument("--outputs", type=Path, nargs=2, required=True, help="translations of two systems")
    parser.add_argument("--lang", default="fr", help="of the translations")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=12, help="of a table")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    first, second = ([*path.read_text(encoding="utf-8").split("\n")][:-1] for path in args.outputs)
    references = args.references.read_text(encoding="utf-8").split("\n")[: len(first)]
    found = {}
    for metric in METRICS:
        count = text_counter(metric, references, args.lang)
        found[metric] = errors(count(first), count(second), args.pairs, args.tables, args.rows, args.seed)
    print(json.dumps({"sentences": len(first), **found}, indent=2))


if __name__ == "__main__":
    main()
