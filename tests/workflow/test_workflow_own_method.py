"""docs/your-own-method.md, done as it says: the method becomes a row of the table, and nothing else is trained."""

from __future__ import annotations

import csv
import shutil

import pytest
import yaml
from unit.config_docs.pages import DOCS_METHOD, named_files
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

FILES = named_files(DOCS_METHOD)


def test_the_method_of_the_page_becomes_a_row_of_the_table(project: Project) -> None:
    # A checkout of one's own: the package stands in the project, and is the one that runs.
    shutil.copytree(ROOT / "src" / "mdnmt", project.path("src/mdnmt"), ignore=shutil.ignore_patterns("__pycache__"))
    project.environment["PYTHONPATH"] = str(project.path("src"))
    for name in ("src/mdnmt/methods/ffn_mixing.py", "config/methods/ffn-mixing.yaml"):
        project.path(name).write_text(FILES[name])
    project.update(
        "config/studies/tiny.yaml",
        methods=["mixed", "waldm-edc", "ffn-mixing"],
        **{"tables__jiang2020-table2__rows": [{"group": "Ours", "method": "ffn-mixing"}]},
    )
    assert project.plan().trained() == ["ffn-mixing/seed1"]
    project.snakemake("--cores", "2")
    with project.path("results/tiny/tables/jiang2020-table2.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    mine = [row for row in rows if row["method"] == "ffn-mixing"]
    assert {row["column"] for row in mine} >= {"economy", "law"} and all(row["mean"] for row in mine)
    assert {row["label"] for row in mine} == {"FFN mixing"}
    assert [row["method"] for row in rows][-1] == "ffn-mixing"
    assert "FFN mixing" in project.path("results/tiny/report.html").read_text()


def test_the_page_shows_the_row_as_the_demo_takes_it() -> None:
    value = yaml.safe_load(FILES["config/studies/demo.yaml"])
    demo = yaml.safe_load((ROOT / "config/studies/demo.yaml").read_text())
    assert value["methods"] == [*demo["methods"], "ffn-mixing"]
    assert value["tables"]["jiang2020-table2"]["rows"] == [{"group": "Ours", "method": "ffn-mixing"}]
