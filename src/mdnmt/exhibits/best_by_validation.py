"""Choose the method that a row shows: the best of several by validation (Jiang et al. 2020, sec. 4.2: of two sizes)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from mdnmt.errors import DataError
from mdnmt.exhibits.rows import ResourceRow, ScoreRow
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, mean

Row = TypeVar("Row", ScoreRow, ResourceRow)

# measure -> name, decimals, whether higher is better
MEASURES = {
    "bleu": ("validation BLEU", 2, True),
    "loss": ("validation loss per token", 3, False),
}


def choose_best(rows: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """Return the rows with one for each choice, and notes with the values that decided it.

    The method with the highest validation BLEU is chosen (mean over domains and seeds), or that with the lowest loss if
    some run measured no BLEU. A method without a run.json cannot be chosen. Among equals, and if no method has one, the
    first is chosen.

    Raises:
        DataError: a run.json is damaged, or has no validation scores.
    """
    chosen: dict[int, Row] = {}
    texts_of: dict[str, list[str]] = {}
    for choice in dict.fromkeys(row.choice for row in rows if row.choice is not None):
        rivals = [row for row in rows if row.choice == choice]
        chosen[choice], measure, text = _best(rivals)
        texts_of.setdefault(measure, []).append(text)
    shown = [row if row.choice is None else chosen.pop(row.choice, None) for row in rows]
    notes = tuple(f"Shown is the best by {what}: {'; '.join(texts)}." for what, texts in texts_of.items())
    return tuple(row for row in shown if row is not None), notes


def _best(rivals: Sequence[Row]) -> tuple[Row, str, str]:
    """Return the row to show, the name of the measure that decided, and the values as text."""
    found = [(row, [_validation(path) for path in row.records]) for row in rivals if row.records]
    runs = [run for _, of_row in found for run in of_row]
    measure = "bleu" if all("bleu" in run["all"] for run in runs) else "loss"
    what, places, more_is_better = MEASURES[measure]
    # `all` is the mean over domains; a run on one domain has no such mean.
    if measure == "bleu" and any(len(run) > 2 for run in runs):
        what += ", mean over domains"
    values = {row.method: mean([run["all"][measure] for run in of_row]) for row, of_row in found}
    absent = [row.method for row in rivals if row.method not in values]
    if not values:
        return rivals[0], what, f"none of {', '.join(absent)} is trained yet"
    best = (max if more_is_better else min)(values, key=lambda name: values[name])
    others = [f"{name} {half_up(value, places)}" for name, value in values.items() if name != best]
    others += [f"{name} not trained yet" for name in absent]
    row = next(row for row in rivals if row.method == best)
    return row, what, f"{best} {half_up(values[best], places)} ({', '.join(others)})"


def _validation(path: Path) -> dict[str, dict[str, float]]:
    """Return domain -> validation measures of a run's final weights; `all` is over all domains."""
    found: dict[str, dict[str, float]] = read_json(path)["validation"]
    if "all" not in found:
        raise DataError(
            f"{path}: has no validation scores, because its weights were not trained here, and best_of needs them; "
            "give the method a row of its own"
        )
    return found
