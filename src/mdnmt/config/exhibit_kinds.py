"""The kinds of tables and figures that a paper's YAML may name.

A kind is a file in `mdnmt/exhibits/{tables,figures}/`, or a plug-in of that name. Nothing is imported to check a
`kind:`; `mdnmt.exhibits.registry` imports the file of a kind when a study shows it.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mdnmt import plugins
from mdnmt.config.loader import did_you_mean
from mdnmt.plugin_kinds import EXHIBIT, Plugin

_EXHIBITS = Path(__file__).resolve().parents[1] / "exhibits"

Folder = Literal["tables", "figures"]


@cache
def kinds_in(folder: Folder) -> tuple[str, ...]:
    """Return the kinds that have a file in a folder of `mdnmt/exhibits/`."""
    names = (path.stem for path in (_EXHIBITS / folder).glob("*.py"))
    return tuple(sorted(name for name in names if not name.startswith("_")))


def plugin_of(folder: Folder, kind: str) -> Plugin | None:
    """Return the plug-in that is a kind; None if the package has the kind. A plug-in of something else does not count.

    Raises:
        ValueError: neither has it, or both.
    """
    known, plugin, noun = kinds_in(folder), plugins.find(kind), folder.removesuffix("s")
    if plugin is not None and not plugin.looks_like(EXHIBIT):
        plugin = None
    if kind in known and plugin is not None:
        raise ValueError(f"{plugin.place}: mdnmt has a kind of {noun} {kind!r} too; give your own one another name")
    if kind not in known and plugin is None:
        hint = did_you_mean(kind, (*known, *(one.name for one in plugins.find_all(EXHIBIT))))
        raise ValueError(
            f"no kind of {noun} {kind!r}{hint}; kinds are: {', '.join(known)}, and your own in plug-ins "
            f"({EXHIBIT.page})"
        )
    return plugin


def _known(folder: Folder, kind: str) -> str:
    plugin_of(folder, kind)
    return kind


TableKind = Annotated[str, AfterValidator(partial(_known, "tables")), Field(examples=list(kinds_in("tables")))]
FigureKind = Annotated[str, AfterValidator(partial(_known, "figures")), Field(examples=list(kinds_in("figures")))]
