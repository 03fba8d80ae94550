"""docs/your-own-figure.md, done as it says: one plug-in makes a new kind of figure or table, and touches no other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import DOCS_FIGURE, ROOT, named_files

from mdnmt.errors import ConfigError
from mdnmt.exhibits.registry import figure_class, figure_code

FILES = named_files(DOCS_FIGURE)
SCRIPT = """
import json
from pathlib import Path
from mdnmt.exhibits.code_hashes import code_of_figure
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.registry import figure_code, table_code
from mdnmt.exhibits.shown_files import rule_inputs
from mdnmt.exhibits.save_figure import save
from mdnmt.exhibits.table_request import table_spec
from mdnmt.fsio import write_sealed
from mdnmt.report.report_selection import report_spec
from mdnmt.report.write_table import build
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.resolve import resolve

study = resolve(Path("config"), "demo", Path("resources/corpora"))
places = ResultPaths(study, Path("results"))
spec = figure_spec(study, "mine-bleu", places)
for number, path in enumerate(spec.inputs()):
    score = {"bleu": {"score": 20.0 + number}}
    write_sealed(path, {"domains": {column.name: score for column in spec.domains}})
save(spec, Path("f.png"), Path("f.pdf"), Path("f.json"))
table = table_spec(study, "mine-sizes", places)
for path in table.inputs():
    sizes = {column.name: {"num_sentences": 7} for column in table.columns}
    write_sealed(path, {"domains": sizes})
grid = build(table)
print(json.dumps({
    "inputs": [str(path) for path in rule_inputs(spec.inputs())],
    "lowest": spec.lowest,
    "code": code_of_figure(study, "mine-bleu"),
    "tsne": figure_code("tsne"),
    "table": [[cell.text for cell in row.cells] for row in grid.rows],
    "table_code": [grid.made.code, table_code("scores")],
    "report": [item.id for paper in report_spec(study, places, ()).papers for item in paper.items if item.id],
}))
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with what the page adds."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "plugins").mkdir()
    for path, text in FILES.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    study = tmp_path / "config/studies/demo.yaml"
    value = yaml.safe_load(study.read_text(encoding="utf-8"))
    value["figures"]["mine-bleu"] = {"task": "demo-en-fr"}
    value["tables"]["mine-sizes"] = {"task": "demo-en-fr"}
    study.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_figure_and_the_table_are_made_and_known_everywhere(project: Path) -> None:
    done = run(project, "-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["inputs"]) >= 2 and all(path.endswith("scores.json") for path in found["inputs"])
    assert found["lowest"] == 10.0 and "mine-bleu" in found["report"]
    assert found["tsne"] == figure_code("tsne") != found["code"]
    numbers: dict[str, Any] = json.loads((project / "f.json").read_text())
    assert {measure["name"] for measure in numbers["measures"]} == {"bleu"}
    values = {measure["value"] for measure in numbers["measures"]}
    assert values == {20.0 + number for number in range(len(found["inputs"]))}
    assert (project / "f.png").stat().st_size > 5000
    assert found["table"] == [["7", "7", "7"], ["7", "7", "7"]]
    assert found["table_code"][0] != found["table_code"][1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("kind: domain_blue", "domain_bleu", marks=pytest.mark.slow),
        ("options: {highest: 3}", "kind domain_bleu has: lowest"),
    ],
)
def test_a_mistake_is_one_line(project: Path, text: str, expected: str) -> None:
    path = project / "config/papers/mine.yaml"
    key = text.partition(":")[0]
    lines = [f"    {text}" if line.strip().startswith(f"{key}:") else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    done = run(project, "-m", "mdnmt.cli", "plan", "demo")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and expected in done.stderr, done.stderr


def test_a_plug_in_of_another_kind_may_have_the_name_and_one_of_this_kind_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDNMT_PLUGINS", str(tmp_path))
    curves = tmp_path / "curves.py"
    curves.write_text("config_type = None\n\n\ndef build():\n    pass\n", encoding="utf-8")
    assert figure_class("curves").__module__ == "mdnmt.exhibits.figures.curves"
    assert figure_code("curves")
    curves.write_text(FILES["plugins/domain_bleu.py"].replace("domain_bleu", "curves"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"plugins/curves\.py: mdnmt has a kind of figure 'curves' too"):
        figure_class("curves")
