"""Notes under tables with wrong, missing or predicted domain labels."""

from __future__ import annotations

from typing import Any

from mdnmt.errors import DataError
from mdnmt.exhibits.specs import ScoreTableSpec
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up


def label_notes(spec: ScoreTableSpec) -> list[str]:
    """Return the notes; none if all rows have gold labels.

    Raises:
        DataError: the file of predicted labels is invalid.
    """
    if not any(row.against for row in spec.rows):
        return []
    notes = [
        "Wrong: each sentence has the label of another domain, each equally often. Missing: no label. "
        "Predicted: the domain that a classifier guesses from the source sentence."
    ]
    if spec.delta:
        notes.append("\N{GREEK CAPITAL LETTER DELTA}: difference to the same system with gold labels.")
    return [*notes, _classifier(spec)] if spec.predicted_labels else notes


def _classifier(spec: ScoreTableSpec) -> str:
    path = spec.predicted_labels
    assert path is not None
    try:
        found: dict[str, Any] = read_json(path)
        shares = [
            f"{column.label} {half_up(100 * found['test'][column.name]['accuracy'], 1)} %" for column in spec.columns
        ]
        mean = half_up(100 * found["accuracy"], 1)
        return f"The classifier ({found['classifier']}) is right on {mean} % of test sentences: {', '.join(shares)}."
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path}: expected labels that `mdnmt predict-labels` wrote, found {type(error).__name__}: {error}; make "
            "them again"
        ) from None
