"""One table per task of a bundled study: BLEU of each system, and its difference to the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mdnmt.errors import DataError
from mdnmt.numbers.rounding import half_up, mean, non_breaking, signed, standard_deviation
from mdnmt.welch import half_width

END = "<!-- end -->"


def systems_table(numbers: pd.DataFrame, baseline: str) -> str:
    """Return the tables as Markdown: test BLEU, means over seeds.

    The mean over domains has its standard deviation over seeds. A difference is that of the means over domains, with
    its 95 % interval (Welch) if both systems have at least two seeds.

    Args:
        numbers: all numbers of a study; see `mdnmt.numbers.table`.
        baseline: the method that the others are compared with.
    """
    is_shown = (numbers["split"] == "test") & (numbers["metric"] == "bleu") & (numbers["label_condition"] == "gold")
    shown = numbers[is_shown]
    shown = shown.assign(system=shown["variant"].fillna(shown["method"]))  # a variant is a system of its own
    return "\n\n".join(_task(str(task), rows, baseline) for task, rows in shown.groupby("task", sort=False))


def begin_mark(study: str) -> str:
    """Return the mark before a study's table in a page; the mark after it is `END`."""
    return f"<!-- generated: systems of {study} -->"


def fill(page: str, study: str, table: str) -> str:
    """Return a page with the study's table between its two marks.

    Raises:
        DataError: the page does not have both marks, in this order.
    """
    before, begin, rest = page.partition(f"{begin_mark(study)}\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(
            f"expected the lines `{begin_mark(study)}` and `{END}`, found none; the table goes between them"
        )
    return f"{before}{begin}\n{table}\n\n{end}{after}"


def _task(task: str, rows: pd.DataFrame, baseline: str) -> str:
    domains = list(dict.fromkeys(rows["domain"]))
    scores: dict[str, dict[str, list[float]]] = {}
    seeds: dict[str, list[str]] = {}
    for method, own in rows.groupby("system", sort=False):
        by_seed = own.pivot_table(index="seed", columns="domain", values="value")[domains].dropna()
        scores[str(method)] = {domain: by_seed[domain].tolist() for domain in domains}
        scores[str(method)]["mean"] = by_seed.mean(axis="columns").tolist()
        seeds[str(method)] = [str(int(seed)) for seed in by_seed.index]
    lines = [
        f"**{task}**\n",
        f"| system | seeds | {' | '.join([*domains, 'mean'])} | difference to `{baseline}` |",
        f"|---|---:|{'---:|' * (len(domains) + 1)}---:|",
    ]
    for method in sorted(scores, key=lambda one: (one != baseline, one)):
        *domain_scores, means = scores[method].values()
        cells = [*(half_up(mean(values), 2) for values in domain_scores), _with_spread(means)]
        difference = "" if method == baseline or baseline not in scores else _difference(scores, method, baseline)
        lines.append(f"| `{method}` | {', '.join(seeds[method])} | {' | '.join(cells)} | {difference} |")
    return "\n".join(lines)


def _with_spread(values: Sequence[float]) -> str:
    spread = standard_deviation(values)
    return half_up(mean(values), 2) + ("" if spread is None else non_breaking(f" ± {half_up(spread, 2)}"))


def _difference(scores: dict[str, dict[str, list[float]]], method: str, baseline: str) -> str:
    ours, theirs = scores[method]["mean"], scores[baseline]["mean"]
    value = mean(ours) - mean(theirs)
    parts = [(standard_deviation(one), len(one)) for one in (ours, theirs)]
    known = [(spread, count) for spread, count in parts if spread is not None]
    if len(known) < 2:
        return signed(value, 2)
    width = half_width(known)
    if width is None:
        return signed(value, 2)
    return f"{signed(value, 2)} {non_breaking(f'[{signed(value - width, 2)}, {signed(value + width, 2)}]')}"
