from __future__ import annotations

from typing import Any, get_args

import pytest

from mdnmt.code_hash import code_hash, modules_of
from mdnmt.config.paper import FigureKind, TableKind
from mdnmt.paper import kinds


def _values(annotation: Any) -> set[str]:
    return {one for part in get_args(annotation) for one in (_values(part) if get_args(part) else {part})}


def test_every_kind_has_its_module() -> None:
    assert set(kinds.TABLES) == _values(TableKind) and set(kinds.FIGURES) == _values(FigureKind)
    for table in kinds.TABLES:
        assert callable(kinds.table_module(table).build)
    for figure in kinds.FIGURES:
        module = kinds.figure_module(figure)
        assert all(callable(getattr(module, name)) for name in ("inputs", "measures", "draw"))


@pytest.mark.parametrize(("verb", "modules"), [("table", kinds.TABLES), ("figure", kinds.FIGURES)])
def test_the_code_of_one_kind_is_not_that_of_another(verb: str, modules: dict[str, str]) -> None:
    for kind, own in modules.items():
        covered = set(modules_of(f"mdnmt.commands.{verb}", f"mdnmt.paper.{own}"))
        assert f"mdnmt.paper.{own}" in covered
        others = {f"mdnmt.paper.{other}" for other in modules.values()} - {f"mdnmt.paper.{own}"}
        # It draws the words of a sentence as the heat map does, so that changes there are its own.
        shared = {"domain_attention": {"mdnmt.paper.heatmap"}}
        assert not others & covered - shared.get(kind, set()), kind


def test_kinds_that_share_a_module_share_its_hash_and_others_differ() -> None:
    assert kinds.figure_code("proportion_heatmap") == kinds.figure_code("proportion_words")
    assert kinds.figure_code("curves") != kinds.figure_code("tsne")
    assert kinds.table_code("scores") == code_hash("mdnmt.commands.table", "mdnmt.paper.scores_table")
