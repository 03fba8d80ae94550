"""docs/your-own-metric.md, done as it says: one file in plugins/ makes a new metric."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pages import DOCS_METRIC, ROOT, named_files
from sacrebleu.metrics.chrf import CHRF

METRIC = "plugins/chrf_plus.py"
REFERENCES = ["the cat sat on the mat", "rain falls on the town", "a green door is open"] * 4
HYPOTHESES = ["the cat sat on a mat", "rain fell on the town", "the green door is open"] * 4
SCRIPT = """
import json
from pathlib import Path
from mdnmt.exhibits.table_request import table_spec
from mdnmt.score.scores_of_domains import DEFAULT_METRICS
from mdnmt.score.significance.sentence_statistics import text_counter
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

study = resolve(Path("config"), "demo", Path("resources/corpora"))
spec = table_spec(study, "jiang2020-table2", ResultPaths(study, Path("results")))
references, hypotheses = json.loads(Path("lines.json").read_text())
counts = text_counter("chrf_plus", references, "en")(hypotheses)
print(json.dumps({"table": spec.metrics, "scored": DEFAULT_METRICS, "total": counts.total}))
"""


def run(folder: Path, *words: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "MDNMT_PLUGINS"}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a copy of the configuration, and what the page adds."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / METRIC).parent.mkdir()
    (tmp_path / METRIC).write_text(named_files(DOCS_METRIC)[METRIC], encoding="utf-8")
    study = tmp_path / "config/studies/demo.yaml"
    value = yaml.safe_load(study.read_text(encoding="utf-8"))
    value["tables"]["jiang2020-table2"] = {"task": "demo-en-fr", "metrics": ["bleu", "chrf_plus"]}
    study.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
    for name, lines in (("ref.en", REFERENCES), ("hyp.en", HYPOTHESES), ("worse.en", HYPOTHESES[::-1])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_metric_is_known_everywhere(project: Path) -> None:
    expected = CHRF(word_order=2).corpus_score(HYPOTHESES, [REFERENCES]).score
    (project / "lines.json").write_text(json.dumps([REFERENCES, HYPOTHESES]), encoding="utf-8")
    found = json.loads(run(project, "-c", SCRIPT))
    assert found["table"] == ["bleu", "chrf_plus"] and "chrf_plus" in found["scored"]
    assert found["total"] == pytest.approx(expected, rel=1e-12)
    assert "ok" in run(project, "-m", "mdnmt.cli", "check-plugin", METRIC)
    options = ("--metrics", "chrf_plus")
    scored = run(project, "-m", "mdnmt.cli", "score", "--pairs", "ref.en", "hyp.en", "ref.en", *options)
    assert scored.startswith(f"chrF++ {expected:.2f}") and "nw:2" in scored
    compared = run(project, "-m", "mdnmt.cli", "compare", "worse.en", "hyp.en", "--reference", "ref.en", *options)
    assert f"B {expected:.2f}" in compared


@pytest.mark.slow
def test_a_formula_of_ones_own_is_scored_and_tested(project: Path) -> None:
    name = "plugins/same_ending.py"
    (project / name).write_text(named_files(DOCS_METRIC)[name], encoding="utf-8")
    hypotheses = ["a dog", "no!", "yes", "x"]
    references = ["the dog", "no.", "yes", "y"]
    (project / "ref.en").write_text("\n".join(references) + "\n", encoding="utf-8")
    (project / "hyp.en").write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    assert "ok" in run(project, "-m", "mdnmt.cli", "check-plugin", name)
    options = ("--metrics", "same_ending")
    scored = run(project, "-m", "mdnmt.cli", "score", "--pairs", "ref.en", "hyp.en", "ref.en", *options)
    assert scored.startswith("Same ending 50.00") and "unit:character" in scored
    compared = run(project, "-m", "mdnmt.cli", "compare", "ref.en", "hyp.en", "--reference", "ref.en", *options)
    assert "A 100.00" in compared and "B 50.00" in compared
