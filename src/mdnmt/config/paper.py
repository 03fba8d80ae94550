"""A paper's tables and figures as data: what stands in them, in the paper's own order."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model

WordTableKind = Literal["word_accuracy", "word_proportions", "gate_use"]  # of generated text, where the truth is known
TableKind = Literal["scores", "resources"] | WordTableKind
FigureKind = Literal["proportion_heatmap", "proportion_histograms", "tsne", "curves", "word_sweep", "gate_use"]
Knowledge = Literal["nothing", "context", "label"]


class TableRow(Frozen):
    """A row; a method trained on each domain alone becomes one row a domain."""

    group: str
    method: str | None = Field(None, description="a file of config/methods/")
    best_of: tuple[str, ...] | None = Field(
        None, description="in place of method: several, of which the best by validation is shown"
    )
    label: str | None = Field(None, description="as this paper prints it; null: the method's own")
    knows: Knowledge | None = Field(None, description="what it is told or can read of the domain; for word_accuracy")

    @model_validator(mode="after")
    def _names_what_it_shows(self) -> Self:
        if (self.method is None) == (self.best_of is None):
            raise ValueError("a row has either `method` or `best_of`")
        if self.best_of is not None and len(set(self.best_of)) < max(2, len(self.best_of)):
            raise ValueError(f"best_of needs two or more methods, each once; found {', '.join(self.best_of) or 'none'}")
        return self

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the method, or those of which the best is shown."""
        return self.best_of or (str(self.method),)


class PaperTable(Frozen):
    """A table of a paper."""

    kind: TableKind
    title: str
    metrics: tuple[Literal["bleu", "chrf"], ...] = ("bleu",)
    rows: tuple[TableRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _best_of_is_for_what_is_scored(self) -> Self:
        if self.kind not in ("scores", "resources") and any(row.best_of for row in self.rows):
            raise ValueError(f"best_of stands in tables of kind scores or resources, not {self.kind}")
        return self


class PaperFigure(Frozen):
    """A figure of a paper; `methods` are its panels or lines, or the one method it looks into."""

    kind: FigureKind
    title: str
    caption: str
    methods: tuple[str, ...] = Field(min_length=1)


class PaperConfig(Frozen):
    """One file of config/papers/."""

    title: str
    citation: str
    tables: dict[str, PaperTable] = Field({})
    figures: dict[str, PaperFigure] = Field({})


def load_paper(config_folder: Path, name: str) -> PaperConfig:
    """Return config/papers/<name>.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    return load_model(find_named(config_folder / "papers", name, "paper"), PaperConfig)
