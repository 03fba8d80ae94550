"""A paper's tables and figures as data: what stands in them, in the paper's own order."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model


class TableRow(Frozen):
    """A row; a method trained on each domain alone becomes one row a domain."""

    group: str
    method: str
    label: str | None = Field(None, description="as this paper prints it; null: the method's own")


class PaperTable(Frozen):
    """A table of a paper."""

    kind: Literal["scores", "resources"]
    title: str
    metrics: tuple[Literal["bleu", "chrf"], ...] = ("bleu",)
    rows: tuple[TableRow, ...] = Field(min_length=1)


class PaperFigure(Frozen):
    """A figure of a paper; `methods` are its panels or lines, or the one method it looks into."""

    kind: Literal["proportion_heatmap", "proportion_histograms", "tsne", "curves"]
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
