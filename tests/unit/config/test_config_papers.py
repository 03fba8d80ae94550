"""Every name in the papers' tables and figures is that of something that exists."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mdnmt.config.method import MethodIndex
from mdnmt.config.paper import load_paper
from mdnmt.config.study import load_study
from mdnmt.errors import ConfigError

CONFIG = Path(__file__).resolve().parents[3] / "config"


def names(kind: str) -> list[str]:
    return sorted(path.stem for path in (CONFIG / kind).glob("*.yaml"))


def test_every_row_and_figure_names_a_method_or_a_variant_of_a_study() -> None:
    papers = [load_paper(CONFIG, name) for name in names("papers")]
    tables = [table for paper in papers for table in paper.tables.values()]
    known = {*MethodIndex(CONFIG).names}
    known |= {one for study in names("studies") for one in load_study(CONFIG, study).variants}
    varied = [(table.variant, row) for table in tables if table.variant for row in table.rows]
    known |= {f"{one}-{variant.suffix}" for variant, row in varied for one in row.methods}
    used = [method for table in tables for row in table.rows for method in row.methods]
    used += [method for paper in papers for figure in paper.figures.values() for method in figure.methods]
    assert len(used) > 100 and [method for method in used if method not in known] == []


def test_a_table_and_a_figure_of_one_name_are_refused(tmp_path: Path) -> None:
    """The report would show one of them twice, and the other not at all."""
    table = {"kind": "scores", "title": "T", "rows": [{"group": "G", "method": "mixed"}]}
    figure = {"kind": "curves", "title": "F", "caption": "C", "methods": ["mixed"]}
    paper = {"title": "P", "citation": "C", "tables": {"one": table}, "figures": {"two": figure}}
    (tmp_path / "papers").mkdir()
    path = tmp_path / "papers" / "own.yaml"
    path.write_text(yaml.safe_dump(paper))
    assert load_paper(tmp_path, "own").tables.keys() == {"one"}
    path.write_text(yaml.safe_dump({**paper, "figures": {"one": figure}}))
    with pytest.raises(ConfigError, match=r"own.yaml: .*tables and figures both have 'one'"):
        load_paper(tmp_path, "own")
