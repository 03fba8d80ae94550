"""What a reader must know of a table whose systems are told something else of the domain than the truth."""

from __future__ import annotations

from typing import Any

from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.paper.numbers import half_up
from mdnmt.paper.specs import ScoreTableSpec


def label_notes(spec: ScoreTableSpec) -> list[str]:
    """Return the notes; none where no row is told anything else.

    Raises:
        DataError: the file of the predicted labels is not what it should be.
    """
    if not any(row.against for row in spec.rows):
        return []
    notes = [
        "Wrong: each sentence is told one of the other domains, all of them equally often. Missing: no domain is told. "
        "Predicted: the domain that a classifier guesses from the source sentence."
    ]
    if spec.delta:
        notes.append("\N{GREEK CAPITAL LETTER DELTA}: to the same system told the right domain.")
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
