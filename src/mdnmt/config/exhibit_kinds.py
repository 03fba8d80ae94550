"""The kinds of tables and figures that a paper's YAML may name.

A kind is a file in `mdnmt/exhibits/{tables,figures}/`, or a plug-in of that name. Nothing is imported to check a
`kind:`; `mdnmt.exhibits.registry` imports the file of a kind when a study shows it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mdnmt import plugins
from mdnmt.config.loader import did_you_mean
from mdnmt.plugin_kinds import EXHIBIT

_EXHIBITS = Path(__file__).resolve().parents[1] / "exhibits"

Folder = Literal["tables", "figures"]


def kinds_in(folder: Folder) -> tuple[str, ...]:
    """Return the kinds that have a file in a folder of `mdnmt/exhibits/`."""
    names = (path.stem for path in (_EXHIBITS / folder).glob("*.py"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def known_kind(folder: Folder, kind: str) -> str:
    """Return a kind.

    Raises:
        ValueError: neither a file of the package nor a plug-in has its name.
    """
    known = kinds_in(folder)
    if kind not in known and plugins.find(kind) is None:
        hint = did_you_mean(kind, (*known, *(one.name for one in plugins.find_all(EXHIBIT))))
        raise ValueError(
            f"no kind of {folder.removesuffix('s')} {kind!r}{hint}; kinds are: {', '.join(known)}, and your own in "
            f"plug-ins ({EXHIBIT.page})"
        )
    return kind


TableKind = Annotated[str, AfterValidator(partial(known_kind, "tables")), Field(examples=list(kinds_in("tables")))]
FigureKind = Annotated[str, AfterValidator(partial(known_kind, "figures")), Field(examples=list(kinds_in("figures")))]
