"""docs/your-own-figure.md, done as it says: one file of source makes a new kind of figure, and touches no other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import DOCS_FIGURE, ROOT, named_files

from mdnmt.exhibits.registry import figure_code

FILES = named_files(DOCS_FIGURE)
SCRIPT = """
import json
from pathlib import Path
from mdnmt.exhibits.code_hashes import code_of_figure
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.registry import figure_code
from mdnmt.exhibits.spec_files import rule_inputs
from mdnmt.exhibits.save_figure import save
from mdnmt.fsio import write_sealed
from mdnmt.report.report_selection import report_spec
from mdnmt.studies.result_paths import result_paths
from mdnmt.studies.resolve import resolve

study = resolve(Path("config"), "demo", Path("resources/corpora"))
places = result_paths(study, Path("results"))
spec = figure_spec(study, "mine-bleu", places)
for number, path in enumerate(spec.inputs()):
    score = {"bleu": {"score": 20.0 + number}}
    write_sealed(path, {"domains": {column.name: score for column in spec.domains}})
save(spec, Path("f.png"), Path("f.pdf"), Path("f.json"))
print(json.dumps({
    "inputs": [str(path) for path in rule_inputs(spec.inputs())],
    "lowest": spec.lowest,
    "code": code_of_figure(study, "mine-bleu"),
    "tsne": figure_code("tsne"),
    "report": [item.id for paper in report_spec(study, places, ()).papers for item in paper.items if item.id],
}))
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the package and its configuration, with what the page adds."""
    shutil.copytree(ROOT / "src" / "mdnmt", tmp_path / "src/mdnmt", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for path, text in FILES.items():
        assert not (tmp_path / path).exists()
        (tmp_path / path).write_text(text, encoding="utf-8")
    study = tmp_path / "config/studies/demo.yaml"
    value = yaml.safe_load(study.read_text(encoding="utf-8"))
    value["figures"]["mine-bleu"] = {"task": "demo-en-fr"}
    study.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
    return tmp_path


def test_one_file_of_source_and_one_of_configuration() -> None:
    assert sorted(FILES) == ["config/papers/mine.yaml", "src/mdnmt/exhibits/figures/domain_bleu.py"]


def test_the_figure_is_drawn_and_known_everywhere(project: Path) -> None:
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
