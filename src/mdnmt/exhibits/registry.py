"""Find the class of a kind of table or figure, and hash the code that makes it.

A kind of figure is one file in `figures/`, named after the kind, with one class that `register` marks. A file is
imported when its kind is asked for. No import statement names it, so that the hash of one kind does not cover the code
of the others (see `mdnmt.code_hash`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel

from mdnmt.code_hash import code_hash
from mdnmt.config.exhibit_kinds import FigureKind, kinds_in
from mdnmt.config.loader import did_you_mean, parse_spec
from mdnmt.config.paper import TableKind
from mdnmt.errors import ConfigError
from mdnmt.exhibits.figure_numbers import Measure
from mdnmt.exhibits.figure_style import empty_page
from mdnmt.exhibits.spec_fields import Titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES: dict[TableKind, str] = {
    "scores": "scores",
    "resources": "resources",
    "corpora": "corpora",
    "examples": "examples",
    "notation": "notation",
    "word_accuracy": "generated_words",
    "word_proportions": "generated_words",
    "gate_use": "generated_words",
}


class FigureSpec(Titled):
    """A figure: what it shows, from which files, and how it is drawn. Each kind is a subclass.

    The fields hold all that the figure depends on. The JSON beside the figure records them.
    """

    kind: str
    options: ClassVar[tuple[str, ...]] = ()  # the keys that a paper's YAML may set under `options:`
    depends_on_task: ClassVar[bool] = True  # False: drawn from the methods alone, the same for every task
    reads_ambiguous_words: ClassVar[bool] = False  # True: `mdnmt ambiguity` must judge its systems

    @classmethod
    @abstractmethod
    def select(cls, request: Any) -> Self:
        """Return the figure of a study. Read no file here: none may exist yet.

        Args:
            request: a `figure_request.FigureRequest`; its module imports this one, so the annotation is `Any`.
        """

    @abstractmethod
    def inputs(self) -> list[Path]:
        """Return the files that `measures` and `draw` read: the rule's input, which the figure's record hashes."""

    @abstractmethod
    def measures(self) -> Iterator[Measure]:
        """Yield the numbers that the figure shows, for each seed. Claims are decided on them."""

    @abstractmethod
    def draw(self) -> tuple[Figure, str]:
        """Return the figure and a description in words. Import matplotlib here, not at the top of the file."""

    def not_drawn(self, reason: str) -> tuple[Figure, str]:
        """Return a page with the reason why there is nothing to draw, and the same in words."""
        return empty_page(self.full_title, reason), f"Not drawn: {reason}"

    @property
    def task_first(self) -> str:
        """Return the task's title as the beginning of a description; "" in a study of one task."""
        return f"{self.task}. " if self.task else ""


Spec = TypeVar("Spec", bound=FigureSpec)

_FIGURES: dict[str, type[FigureSpec]] = {}


class _OfKind(BaseModel):
    """The part of a spec that says which class reads the rest."""

    kind: str


def register(spec: type[Spec]) -> type[Spec]:
    """Register a class for the kind that is the default of its field `kind`."""
    _FIGURES[spec.model_fields["kind"].default] = spec
    return spec


def figure_class(kind: FigureKind) -> type[FigureSpec]:
    """Return the class of a kind of figure.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind not in _FIGURES:
        known = kinds_in("figures")
        if kind not in known:
            raise ConfigError(f"no kind of figure {kind!r}{did_you_mean(kind, known)}; kinds are: {', '.join(known)}")
        import_module(_figure_module(kind))
    return _FIGURES[kind]


def parse_figure(text: str) -> FigureSpec:
    """Return the figure that the JSON text of `--spec` describes.

    Raises:
        ConfigError: the text is not JSON, or has an unknown kind, key or value.
    """
    return parse_spec(text, figure_class(parse_spec(text, _OfKind).kind))


def table_module(kind: TableKind) -> ModuleType:
    """Return the module whose `build` makes a table of this kind."""
    return import_module(f"mdnmt.exhibits.tables.{TABLES[kind]}")


def table_code(kind: TableKind) -> str:
    """Return the hash of the code that makes tables of this kind."""
    return code_hash("mdnmt.report.write_table", f"mdnmt.exhibits.tables.{TABLES[kind]}")


def figure_code(kind: FigureKind) -> str:
    """Return the hash of the code that makes figures of this kind."""
    return code_hash("mdnmt.exhibits.save_figure", _figure_module(kind))


def _figure_module(kind: FigureKind) -> str:
    return f"mdnmt.exhibits.figures.{kind}"
