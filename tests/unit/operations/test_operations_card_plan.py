"""`mdnmt plan --card`: GPU hours from the measured speeds of a named card, and what `make gpu` adds to them."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow.snakemake_project import Project

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.config.cards import load_cards
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.operations.plan import benchmark_paths, time_estimates
from mdnmt.operations.plan.run_records import card_records
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))
import card_speeds  # noqa: E402

CONFIG = ROOT / "config"
FIGURES = {"updates": 40, "seconds_per_update": 0.02, "tokens_per_second": 200_000.4, "peak_mib": 4000.2}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a project of which nothing is made, where we stand."""
    folder = Project.create(tmp_path / "project").folder
    monkeypatch.chdir(folder)
    return folder


def text_of(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert main(["plan", "tiny", *more]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_measured_card_gives_gpu_hours_and_its_memory(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "tiny", "--card", "H200", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["device"], found["card"]) == ("cuda", "NVIDIA H200")
    assert all("on NVIDIA H200 (config/cards.yaml: 2026-11-26, commit " in one["train_source"] for one in found["runs"])
    text = text_of(capsys, "--card", "h200", "--config", "device=cpu")
    assert "Time of one GPU, an NVIDIA H200: " in text and "an NVIDIA H200 has 143 GB" in text
    assert "Speed: scaled from 7 trainings measured on an NVIDIA H200" in text and "CPU thread" not in text


def test_a_card_without_measurements_says_how_to_get_some(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(capsys, "--card", "a100")
    assert "Time of one GPU, an NVIDIA A100: " in text and "CPU thread" not in text
    assert "No training was measured on an NVIDIA A100: the times are a rule of thumb for any GPU. `make gpu`" in text
    # Also where the jobs of a cluster would ask for no GPU, because the models are tiny.
    text = text_of(capsys, "--config", "device=cuda")
    assert "Time of one GPU" in text and "CPU thread" not in text
    assert "No training was measured on this GPU" in text and "`--card NAME`" in text


def test_an_unknown_card_is_one_line_with_the_known_ones(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "tiny", "--card", "h2000"]) == 2
    err = capsys.readouterr().err
    assert err == "mdnmt plan: --card: found 'h2000', expected one of config/cards.yaml: a100, h100, h200\n"


def test_what_this_machine_took_says_nothing_of_another(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = resolve(Path("config"), "tiny", Path("resources/corpora"), 1)
    places = ResultPaths(study, Path("results"))
    [run, *_] = study.makeable()
    # A run that has begun here, and a translation that was made here.
    begun = {"event": "start", "at_update": 0, "max_updates": 50}
    line = {"update": 10, "split": "train", "domain": "all", "loss": 1.0, "seconds": 5000.0}
    fsio.write_lines(Path(places.run(run)) / "metrics.jsonl", [json.dumps(begun), json.dumps(line)])
    for path in benchmark_paths.decode_benchmarks(Path("logs/benchmarks"), study, run):
        fsio.write_text(path, json.dumps({"s": 7000.0}) + "\n")
    here, there = text_of(capsys, "--config", "device=cpu"), text_of(capsys, "--card", "h200")
    assert "measured: this run, its first 10 updates" in here and "benchmark record" in here
    assert "this run" not in there and "benchmark record" not in there


def spec(builder: str) -> RunSpec:
    options: dict[str, Any] = {"architecture": {}, "training": Training(max_updates=9), "domains": ("law",)}
    return RunSpec(task_fingerprint="0" * 8, builder=builder, seed=1, **options)


def test_the_nearest_measurement_counts_and_launches_set_a_limit() -> None:
    records = card_records(load_cards(CONFIG)["h200"])
    found = time_estimates.training(spec("waldm"), "jiang-en-de", 1.012e12, records, "cuda", 1000)
    assert found.source.startswith("scaled from waldm-edc of the same task on NVIDIA H200")
    assert found.low < 1000 * 0.102 / 2 < found.high
    tiny = time_estimates.training(spec("waldm"), "demo", 1e6, records, "cuda", 1000)
    assert (tiny.low * tiny.high) ** 0.5 == pytest.approx(1000 * time_estimates.LEAST_UPDATE["cuda"])


def found_by_make_gpu(card: str) -> dict[str, Any]:
    papers = {
        "dsa, padded": {**FIGURES, "seconds_per_update": 0.05},
        "dsa, packed, graphs": FIGURES,
        "waldm-edc, padded": {"failed": "out of memory"},
    }
    stages = {"card": {"card": {"name": card, "memory_mib": 81_559.0}}, "papers": papers}
    return {"tiny": False, "stages": {name: {"rows": rows} for name, rows in stages.items()}}


@pytest.mark.slow
@pytest.mark.parametrize(("card", "key", "count"), [("NVIDIA H200", "h200", 7), ("NVIDIA L40S", "l40s", 1)])
def test_make_gpu_extends_the_table(
    card: str, key: str, count: int, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, gpu_json = project / "config" / "cards.yaml", project / "gpu.json"
    fsio.write_json(gpu_json, found_by_make_gpu(card))
    monkeypatch.setattr(sys, "argv", ["card_speeds.py", str(gpu_json), "--cards", str(path)])
    for _ in range(2):  # the second time replaces what the first added
        assert card_speeds.main() == 0
    assert f"1 speeds of {key}; commit the file" in capsys.readouterr().out
    head = (CONFIG / "cards.yaml").read_text().partition("cards:\n")[0]
    assert path.read_text().startswith(head)
    measured = load_cards(project / "config")[key].measured
    [new] = [one for one in measured if one.seconds_per_update == 0.02]
    assert len(measured) == count and (new.method, new.task, new.builder) == (
        "dsa",
        "zhang-zh-en",
        "domain_aware_attention",
    )
    old = next(one for one in load_cards(CONFIG)["h200"].measured if one.method == "dsa")
    assert new.operations == pytest.approx(old.operations, rel=1e-3) and new.what.endswith(
        "40 updates, bf16, packed, graphs"
    )
    day = datetime.date.fromtimestamp(gpu_json.stat().st_mtime).isoformat()
    assert (new.measured_on, new.peak_mib) == (day, 4000)
    assert f"measured on an {card}" in text_of(capsys, "--card", key)


@pytest.mark.slow
def test_a_report_without_speeds_changes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, gpu_json = project / "config" / "cards.yaml", project / "gpu.json"
    before = yaml.safe_load(path.read_text())
    found = found_by_make_gpu("NVIDIA H200")
    for absent in ({**found, "tiny": True}, {**found, "stages": {"card": found["stages"]["card"]}}):
        fsio.write_json(gpu_json, absent)
        monkeypatch.setattr(sys, "argv", ["card_speeds.py", str(gpu_json), "--cards", str(path)])
        assert card_speeds.main() == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert yaml.safe_load(path.read_text()) == before
