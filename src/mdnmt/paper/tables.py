"""Build any table from its spec."""

from __future__ import annotations

from mdnmt.paper import corpora_table, examples_table, notation_table, resources_table, scores_table, words_table
from mdnmt.paper.grid import Grid
from mdnmt.paper.specs import (
    AnyTable,
    CorporaTableSpec,
    ExamplesTableSpec,
    NotationTableSpec,
    ResourceTableSpec,
    ScoreTableSpec,
)


def build(spec: AnyTable) -> Grid:
    """Return the table of `spec`.

    Raises:
        DataError: a file is not what it should be.
    """
    match spec:
        case ScoreTableSpec():
            return scores_table.build(spec)
        case ResourceTableSpec():
            return resources_table.build(spec)
        case CorporaTableSpec():
            return corpora_table.build(spec)
        case ExamplesTableSpec():
            return examples_table.build(spec)
        case NotationTableSpec():
            return notation_table.build(spec)
        case _:
            return words_table.build(spec)
