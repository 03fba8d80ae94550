"""Which module builds each kind of table and draws each kind of figure, and the hash of the code that does it.

A module is imported when its kind is asked for. Its name is looked up here and stands in no import statement, so that
the hash of one kind does not cover the code of the others (see `mdnmt.code_hash`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from mdnmt.code_hash import code_hash
from mdnmt.config.paper import FigureKind, TableKind

TABLES: dict[TableKind, str] = {
    "scores": "scores_table",
    "resources": "resources_table",
    "corpora": "corpora_table",
    "examples": "examples_table",
    "notation": "notation_table",
    "word_accuracy": "words_table",
    "word_proportions": "words_table",
    "gate_use": "words_table",
}
FIGURES: dict[FigureKind, str] = {
    "proportion_heatmap": "heatmap",
    "proportion_words": "heatmap",
    "proportion_histograms": "histograms",
    "domain_attention": "domain_attention",
    "tsne": "tsne",
    "curves": "curves",
    "gate_use": "gates",
    "ambiguity": "ambiguity",
    "option_sweep": "option_sweep",
    "word_sweep": "sweep",
    "architecture": "diagram",
}


def table_module(kind: TableKind) -> ModuleType:
    """Return the module whose `build` makes a table of this kind."""
    return import_module(f"mdnmt.paper.{TABLES[kind]}")


def figure_module(kind: FigureKind) -> ModuleType:
    """Return the module whose `inputs`, `measures` and `draw` make a figure of this kind."""
    return import_module(f"mdnmt.paper.{FIGURES[kind]}")


def table_code(kind: TableKind) -> str:
    """Return the hash of the code that makes tables of this kind."""
    return code_hash("mdnmt.commands.table", f"mdnmt.paper.{TABLES[kind]}")


def figure_code(kind: FigureKind) -> str:
    """Return the hash of the code that makes figures of this kind."""
    return code_hash("mdnmt.commands.figure", f"mdnmt.paper.{FIGURES[kind]}")
