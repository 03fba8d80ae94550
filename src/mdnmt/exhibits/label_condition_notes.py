"""Notes under tables with wrong, missing or predicted domain labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mdnmt.exhibits.rows import Column
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up


def label_notes(columns: Sequence[Column], predicted: Path | None, *, delta: bool) -> list[str]:
    """Return the notes.

    Args:
        columns: the domains of the table.
        predicted: the file of predicted labels; None: no row has them.
        delta: whether the table shows differences.

    Raises:
        DataError: the file of predicted labels is damaged.
    """
    notes = [
        "Wrong: each sentence has the label of another domain, each equally often. Missing: no label. "
        "Predicted: the domain that a classifier guesses from the source sentence."
    ]
    if delta:
        notes.append("\N{GREEK CAPITAL LETTER DELTA}: difference to the same system with gold labels.")
    return [*notes, _classifier(columns, predicted)] if predicted else notes


def _classifier(columns: Sequence[Column], path: Path) -> str:
    found = read_json(path)
    shares = [f"{column.label} {half_up(100 * found['test'][column.name]['accuracy'], 1)} %" for column in columns]
    mean = half_up(100 * found["accuracy"], 1)
    return f"The classifier ({found['classifier']}) is right on {mean} % of test sentences: {', '.join(shares)}."
