"""Write config/seed-spread.yaml: how much scores vary between seeds, from finished studies.

    python benchmarks/seed_spread.py demo:demo-en-fr synthetic:synthetic-2 [--seeds 4] [--results results]

Of each study and task, every run of a method with two seeds or more that is translated is used. Seeds, sentences and
their interaction are separated by resampling test sentences, as mdnmt.score.significance.variance_components does.
Where studies differ, the geometric mean of their variances is taken, each study counting once: text differs in scale.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mdnmt.config.metrics import Metric
from mdnmt.errors import ConfigError
from mdnmt.extras.power.seed_spread import FILE
from mdnmt.fsio import write_text
from mdnmt.operations.plan.existing_results import is_translated
from mdnmt.score.significance.resampling import bootstrap_scores
from mdnmt.score.significance.sentence_statistics import Array, counter
from mdnmt.score.test_sets import load_test_sets
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

METRICS: tuple[Metric, ...] = ("bleu", "bleu_tok", "chrf")
RESAMPLES = 1000
Parts = dict[str, float]


def components(scores: list[Array], resampled: list[Array], sentences: int) -> Parts:
    """Return the variance components of a score [S] and its resamples [R, S], of several systems."""
    freedom = sum(len(one) - 1 for one in scores)
    spread = sum(float(one.var(ddof=1)) * (len(one) - 1) for one in scores) / freedom
    centred = (one - one.mean(axis=1, keepdims=True) for one in resampled)
    interaction = sum(float(one.var(axis=0).sum()) for one in centred) / freedom
    interaction *= sentences / (sentences - 1)
    pairs = list(itertools.combinations(resampled, 2))
    both = [float((one.mean(axis=1) - other.mean(axis=1)).var()) for one, other in pairs]
    # The mean over seeds of a difference holds a share of the interaction of both systems.
    shares = [interaction / one.shape[1] + interaction / other.shape[1] for one, other in pairs]
    of_sentences = max(0.0, float(np.mean(both)) - float(np.mean(shares)))
    return {
        "seed": max(0.0, spread - interaction),
        "interaction": interaction * sentences,
        "sentences": of_sentences * sentences,
        "freedom": float(freedom),
    }


def of_study(name: str, task: str, seeds: int, results: Path) -> tuple[str, dict[str, dict[str, Parts]]]:
    study = resolve(Path("config"), name, Path("resources/corpora"), seeds)
    places = ResultPaths(study, results)
    rows: dict[str, list[Path]] = {}
    for run in study.makeable(task):
        if is_translated(run, places):
            rows.setdefault(run.directory, []).append(Path(places.test(run), "hyp"))
    rows = {method: folders for method, folders in rows.items() if len(folders) > 1}
    if len(rows) < 2:
        raise ConfigError(f"{name}: {task} has {len(rows)} methods with two seeds or more; expected two")
    tests = load_test_sets(Path(places.task(task)), limit=study.decoding[task].max_sentences)
    found: dict[str, dict[str, Parts]] = {"domain": {}, "average": {}}
    counted = 0
    for metric in METRICS:
        by_domain: list[Parts] = []
        exact: list[list[Array]] = []
        drawn: list[list[Array]] = []
        for domain in tests.domains:
            count = counter(metric, tests, domain)
            counts = [[made for folder in folders if (made := count(folder, None))] for folders in rows.values()]
            counted = len(counts[0][0].counts_NC)
            scores = [np.array([one.total for one in of_row]) for of_row in counts]
            sampled = bootstrap_scores([one for of_row in counts for one in of_row], RESAMPLES)
            resampled = np.split(sampled, np.cumsum([len(of_row) for of_row in counts])[:-1], axis=1)
            by_domain.append(components(scores, resampled, counted))
            exact.append(scores)
            # Each domain has resamples of its own: their order is shifted, or equal draws would look like one domain.
            drawn.append([np.roll(one, 97 * len(drawn), axis=0) for one in resampled])
        keys = by_domain[0]
        found["domain"][metric] = {key: float(np.mean([one[key] for one in by_domain])) for key in keys}
        means = [np.mean(of_domains, axis=0) for of_domains in zip(*exact, strict=True)]
        found["average"][metric] = components(
            means, [np.mean(one, axis=0) for one in zip(*drawn, strict=True)], counted
        )
    runs = sum(len(folders) for folders in rows.values())
    text = (
        f"{name}, {task}: {runs} runs ({', '.join(rows)}), {len(tests.domains)} domains of {counted} test sentences; "
        + ", ".join(
            f"{metric} {kind} {(parts['seed'] + parts['interaction'] / counted) ** 0.5:.3f}"
            for kind, of_metric in found.items()
            for metric, parts in of_metric.items()
        )
    )
    return text, found


def between(values: list[float]) -> float:
    """Return the geometric mean; the plain one where a component was estimated as none."""
    return float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("studies", nargs="+", metavar="STUDY:TASK")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--out", type=Path, default=Path("config", FILE))
    args = parser.parse_args()
    made = [of_study(name, task, args.seeds, args.results) for name, task in (one.split(":") for one in args.studies)]
    prior: dict[str, Any] = {
        "made": f"{datetime.date.today().isoformat()}, benchmarks/seed_spread.py {' '.join(args.studies)}",
        "sources": [text for text, _ in made],
    }
    for kind in ("domain", "average"):
        prior[kind] = {
            metric: {
                key: round(between([found[kind][metric][key] for _, found in made]), 6)
                for key in ("seed", "interaction", "sentences", "freedom")
            }
            for metric in METRICS
        }
    head = "# How much scores vary between seeds, for `mdnmt plan --power`. Written by benchmarks/seed_spread.py.\n"
    write_text(args.out, head + yaml.safe_dump(prior, sort_keys=False, width=120))
    print(args.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
