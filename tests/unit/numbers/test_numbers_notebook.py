"""The examples of docs/notebook.md run, and show what the numbers say."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import pytest
from scipy.stats import ttest_ind

from mdnmt import fsio
from mdnmt.numbers import table
from mdnmt.numbers.sources import NumberSource

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
BLEU = {("mixed", 1): 20.0, ("mixed", 2): 21.0, ("wdc", 1): 24.0, ("wdc", 2): 26.0}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the study `demo`: two methods with two seeds and two domains."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(matplotlib, "rcParams", matplotlib.rcParams.copy())
    matplotlib.use("agg")
    (tmp_path / "config").symlink_to(ROOT / "config")
    sources = []
    for (method, seed), bleu in BLEU.items():
        run = Path(f"results/runs/demo/{method}/seed{seed}-0123abcd")
        entries = {
            domain: {"bleu": {"score": bleu + plus, "signature": "s"}, "num_sentences": 5}
            for domain, plus in (("law", 1.0), ("news", -1.0))
        }
        fsio.write_sealed(run / "test-0123abcd" / "scores.json", {"domains": entries})
        names = "update\tepoch\tsplit\tdomain\tloss\tnll\tppl\taccuracy\tbleu\tlearning_rate"
        points = [f"{update}\t1\tvalid\tall\t{100 / update}\t\t\t\t\t" for update in (10, 20)]
        fsio.write_lines(run / "curves.tsv", [names, *points])
        fsio.write_sums(run, ["curves.tsv"])
        known = {"task": "demo", "method": method, "seed": seed, "run": run}
        scored = {"label_condition": "gold", "split": "test", **known}
        sources.append(
            NumberSource.model_validate({"kind": "scores", "path": run / "test-0123abcd/scores.json", **scored})
        )
        sources.append(NumberSource.model_validate({"kind": "curves", "path": run / "curves.tsv", **known}))
    table.write(Path("results/demo"), "demo", table.collect(tuple(sources)), [source.path for source in sources])
    return tmp_path


def test_table_plot_and_test_of_the_page(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "docs/notebook.md", "exec"), names)
    shown = capsys.readouterr().out
    pivot: dict[tuple[str, str], float] = names["table"].stack().to_dict()  # type: ignore[attr-defined]
    assert pivot["demo", "mixed", "", "law"] == 21.5 and pivot["demo", "wdc", "", "news"] == 24.0
    lines = names["lines"]
    assert lines["demo", "wdc", ""].to_dict() == {10: 10.0, 20: 5.0}  # type: ignore[index]
    assert (project / "loss.png").read_bytes().startswith(b"\x89PNG")
    p = ttest_ind([24.0, 26.0], [20.0, 21.0], equal_var=False).pvalue
    assert f"demo wdc  +4.50 BLEU, p = {p:.3f}" in shown
    assert "E/DC" in shown  # a row of the paper's Table 2


def test_the_page_explains_every_column_and_every_metric_that_is_written() -> None:
    columns = PAGE.partition("| column |")[2].partition("\n\n")[0]
    assert {*table.COLUMNS, "note"} == set(
        re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]+)", columns, flags=re.M)))
    )
    metrics = PAGE.partition("| metrics |")[2].partition("\n\n")[0]
    explained = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ([^|]+)", metrics, flags=re.M))))
    from mdnmt.config.metrics import METRICS
    from mdnmt.exhibits.tables.resources import QUANTITIES
    from mdnmt.numbers.sources import CURVES

    written = {*METRICS, *(name for name, _ in CURVES.values()), *(quantity[0] for quantity in QUANTITIES)}
    assert written <= explained
