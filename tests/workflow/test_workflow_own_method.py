"""docs/your-own-method.md, done as it says: the method becomes a row of the table, and nothing else is trained."""

from __future__ import annotations

import csv

import pytest
import yaml
from unit.config_docs.pages import DOCS_METHOD, named_files
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

MODULE = "plugins/ffn_mixing.py"
FILES = named_files(DOCS_METHOD)


def test_the_method_of_the_page_becomes_a_row_of_the_table(project: Project) -> None:
    project.path("plugins").mkdir()
    for name in (MODULE, "config/methods/ffn-mixing.yaml"):
        project.path(name).write_text(FILES[name])
    study = FILES["config/studies/mine.yaml"].replace("[demo]", "[tiny]").replace("demo-en-fr", "tiny")
    project.path("config/studies/mine.yaml").write_text(study)
    project.update("config/studies/mine.yaml", methods=["mixed", "waldm-edc", "ffn-mixing"])
    project.edit("config/config.yaml", "study: tiny", "study: mine")
    assert project.mdnmt("plan", "mine").returncode == 0
    assert project.plan().trained() == ["ffn-mixing/seed1"]
    assert project.mdnmt("run", "mine").returncode == 0
    with project.path("results/mine/tables/jiang2020-table2.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    mine = [row for row in rows if row["method"] == "ffn-mixing"]
    assert {row["column"] for row in mine} >= {"economy", "law"} and all(row["mean"] for row in mine)
    assert {row["label"] for row in mine} == {"FFN mixing"}
    assert [row["method"] for row in rows][-1] == "ffn-mixing"
    assert "FFN mixing" in project.path("results/mine/report.html").read_text()
    edit = ("= config.proportion_smoothing", "= 3 * config.proportion_smoothing")
    assert project.plan().outputs == {}
    project.edit(MODULE, '"""Build a', '"""Compose a')
    assert project.plan().outputs == {}
    assert project.mdnmt("check-plugin", MODULE).returncode == 0
    retrain = ("retrain", "ffn-mixing", "--study", "mine")
    assert "1 run would be set aside" in project.mdnmt(*retrain).stdout
    [first] = project.path("results/runs/tiny/ffn-mixing").iterdir()
    # No option changes, but the result does: once, this planned nothing and kept the number.
    project.edit(MODULE, *edit)
    [second] = project.plan().folders("train")
    assert second.startswith("ffn-mixing/seed1-") and not second.endswith(first.name)
    # The same where snakemake is started in another folder.
    (elsewhere := project.path("other")).mkdir()
    place = ("--snakefile", str(project.path("Snakefile")), "--directory", str(project.folder))
    done = project.run_forked("env", "-C", str(elsewhere), "snakemake", "-n", "--cores", "1", *place)
    assert second in done.stdout + done.stderr
    project.edit(MODULE, *reversed(edit))
    assert project.plan().outputs == {}
    assert project.mdnmt(*retrain, "--yes").returncode == 0
    assert project.plan().trained() == ["ffn-mixing/seed1"]
    [aside] = project.path("results/set-aside").rglob("run.json")
    assert aside.parent.name == f"{first.name}.1"


def test_the_study_of_the_page_is_the_demo_with_one_method_more() -> None:
    value = yaml.safe_load(FILES["config/studies/mine.yaml"])
    demo = yaml.safe_load((ROOT / "config/studies/demo.yaml").read_text())
    assert value["methods"] == [*demo["methods"], "ffn-mixing"]
    assert value["tables"]["jiang2020-table2"]["rows"] == [{"group": "Ours", "method": "ffn-mixing"}]
