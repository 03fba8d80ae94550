"""What a kind of table or figure defines, and how its class is found.

A kind is one file in `tables/` or `figures/`, or a plug-in, named after the kind. It has one class that `register`
marks: what it selects from a study, which files it reads, and how it is made from them. The file is imported when the
kind is asked for. No import statement names it, so that the hash of one kind does not cover the code of the others
(`mdnmt.code_hash`). For the same reason, a kind does not import what selects from a study: `select` gets a request.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, Field

from mdnmt import plugins
from mdnmt.code_hash import code_hash
from mdnmt.config.exhibit_kinds import Folder, plugin_of
from mdnmt.config.loader import parse_spec
from mdnmt.config.margin import Margin
from mdnmt.errors import ConfigError
from mdnmt.exhibits.rows import Titled
from mdnmt.plugin_kinds import EXHIBIT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mdnmt.exhibits.figure_numbers import Measure
    from mdnmt.exhibits.grid import Grid


class ExhibitSpec(Titled):
    """What a table or figure of a study shows, and from which files.

    The fields hold all that it depends on. The JSON that is written beside it records them.
    """

    kind: str
    depends_on_task: ClassVar[bool] = True  # False: the same for every task
    reads_ambiguous_words: ClassVar[bool] = False  # True: `mdnmt ambiguity` must judge its systems

    @classmethod
    @abstractmethod
    def select(cls, request: Any) -> Self:
        """Return the table or figure of a study. Read no file here: none may exist yet.

        Args:
            request: a `TableRequest` or `FigureRequest`; their modules import this one, so the annotation is `Any`.
        """

    @abstractmethod
    def inputs(self) -> list[Path]:
        """Return the files that it is made from: the input of its rule, which its record hashes."""


class TableSpec(ExhibitSpec):
    """A table. Each kind is a subclass."""

    where: str = ""  # "Table 2"

    @abstractmethod
    def build(self) -> Grid:
        """Return the table.

        Raises:
            DataError: a file is invalid.
        """

    def needs(self) -> Iterable[Any]:
        """Return its rows or systems, each with a label and either files or `missing`: why there are none."""
        return ()

    @property
    def cells_of_row(self) -> int:
        """Return how many cells a row has."""
        return 1


class ComparedTableSpec(TableSpec):
    """A table with the paper's numbers beside ours."""

    differs: str | None = None  # why none of its numbers can be compared with the printed ones
    metric_differs: dict[str, str] = Field({})  # metric or quantity -> why it cannot
    margin: Margin = Margin()


class FigureSpec(ExhibitSpec):
    """A figure, and how it is drawn. Each kind is a subclass."""

    options: ClassVar[tuple[str, ...]] = ()  # the keys that a paper's YAML may set under `options:`

    @abstractmethod
    def measures(self) -> Iterator[Measure]:
        """Yield the numbers that the figure shows, for each seed. Claims are decided on them."""

    @abstractmethod
    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words. Import matplotlib here, not at the top of the file."""

    def not_drawn(self, reason: str) -> tuple[Figure, str]:
        """Return a page with the reason why there is nothing to draw, and the same in words."""
        from mdnmt.exhibits.figure_style import empty_page

        return empty_page(self.full_title, reason), f"Not drawn: {reason}"

    @property
    def task_first(self) -> str:
        """Return the task's title as the beginning of a description; "" in a study of one task."""
        return f"{self.task}. " if self.task else ""


Spec = TypeVar("Spec", bound=ExhibitSpec)

_CLASSES: dict[str, type[ExhibitSpec]] = {}  # module -> its class


class _OfKind(BaseModel):
    """The part of a spec that says which class reads the rest."""

    kind: str


def register(spec: type[Spec]) -> type[Spec]:
    """Register the class of a kind; its module is named after the kind."""
    _CLASSES[spec.__module__] = spec
    return spec


def table_class(kind: str) -> type[TableSpec]:
    """Return the class of a kind of table.

    Raises:
        ConfigError: there is no such kind.
    """
    return cast("type[TableSpec]", _class("tables", kind))


def figure_class(kind: str) -> type[FigureSpec]:
    """Return the class of a kind of figure.

    Raises:
        ConfigError: there is no such kind.
    """
    return cast("type[FigureSpec]", _class("figures", kind))


def _class(folder: Folder, kind: str) -> type[ExhibitSpec]:
    try:
        plugin = plugin_of(folder, kind)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    module = _module(folder, kind)
    if plugin is None:
        import_module(module)
    else:
        plugins.load(EXHIBIT, plugin)
    found, base = _CLASSES.get(module), TableSpec if folder == "tables" else FigureSpec
    if found is None or not issubclass(found, base):
        raise ConfigError(
            f"kind {kind!r}: expected a class of {base.__name__} with @register in {module} ({EXHIBIT.page})"
        )
    return found


def parse_table(text: str) -> TableSpec:
    """Return the table that a JSON text describes.

    Raises:
        ConfigError: the text is not JSON, or has an unknown kind, key or value.
    """
    return parse_spec(text, table_class(parse_spec(text, _OfKind).kind))


def parse_figure(text: str) -> FigureSpec:
    """Return the figure that a JSON text describes.

    Raises:
        ConfigError: the text is not JSON, or has an unknown kind, key or value.
    """
    return parse_spec(text, figure_class(parse_spec(text, _OfKind).kind))


def table_code(kind: str) -> str:
    """Return the hash of the code that makes tables of this kind."""
    return code_hash("mdnmt.report.write_table", _module("tables", kind))


def figure_code(kind: str) -> str:
    """Return the hash of the code that makes figures of this kind."""
    return code_hash("mdnmt.exhibits.save_figure", _module("figures", kind))


def _module(folder: Folder, kind: str) -> str:
    package = f"mdnmt.exhibits.{folder}"
    return plugins.module_of(kind, package) if plugin_of(folder, kind) else f"{package}.{kind}"
