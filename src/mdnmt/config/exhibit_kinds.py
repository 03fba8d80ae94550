"""The kinds of tables and figures that a paper's YAML may name: one file each in `mdnmt/exhibits/{tables,figures}/`.

The names are read from the folders, so that a new file is a new kind and nothing is imported to check a `kind:`.
`mdnmt.exhibits.registry` imports the file of a kind when a study shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

_EXHIBITS = Path(__file__).resolve().parents[1] / "exhibits"


def kinds_in(folder: str) -> tuple[str, ...]:
    """Return the kinds that have a file in a folder of `mdnmt/exhibits/`."""
    names = (path.stem for path in (_EXHIBITS / folder).glob("*.py"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


if TYPE_CHECKING:
    FigureKind = str
else:
    FigureKind = Literal[kinds_in("figures")]
