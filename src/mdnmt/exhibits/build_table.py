"""Build any table from its spec."""

from __future__ import annotations

from mdnmt import provenance
from mdnmt.exhibits.grid import Grid, Provenance
from mdnmt.exhibits.registry import table_code, table_module
from mdnmt.exhibits.specs import AnyTable


def build(spec: AnyTable) -> Grid:
    """Return the table of `spec`, with the commit and the code that made it.

    Raises:
        DataError: a file is invalid.
    """
    grid: Grid = table_module(spec.kind).build(spec)
    return grid.model_copy(update={"made": Provenance(**provenance.made_by(table_code(spec.kind)))})
