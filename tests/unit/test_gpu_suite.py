"""`make gpu`: what is missing in one line; stages that are done are not done again; the page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import gpu_suite  # noqa: E402

KEY = {"device": "GPU <1>", "torch": "2.11.0", "commit": "abc", "toy": False}


@pytest.mark.parametrize(
    ("version", "cuda", "said"),
    [
        ("2.10.1", "12.8", "found torch 2.10.1, expected 2.11 or newer"),
        ("2.11.0", None, "built without CUDA, expected a CUDA build and an NVIDIA GPU"),
        ("2.14.1+cu130", "13.0", "found no NVIDIA GPU that torch 2.14.1+cu130 can use"),
    ],
)
def test_what_is_missing_is_said_in_one_line_with_status_2(
    version: str, cuda: str | None, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_suite.main([]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_python_without_torch_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu_suite.importlib.util, "find_spec", lambda name: None if name == "torch" else object())
    assert gpu_suite.main([]) == 2
    assert "found no package torch" in capsys.readouterr().err


def stage_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statuses: list[int]) -> list[str]:
    """Replace the processes of stages by ones that end with the given statuses, then with 0; return who was started."""
    started: list[str] = []

    def run(command: list[str], timeout: float | None = None, **_: Any) -> Any:
        stage = command[command.index("--stage") + 1]
        started.append(stage)
        status = statuses.pop(0) if statuses else 0
        if status == -9:
            raise KeyboardInterrupt
        if status == 0:
            path = gpu_suite.stage_file(tmp_path, stage).with_suffix(".found.json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"outcome": "1 passed", "matrix_rate": 1e12, "text": "generated", **FIGURES}))
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(gpu_suite.subprocess, "run", run)
    return started


FIGURES = {
    "parameters": 6e7, "tokens_per_second": 123_456.0, "share_of_rate": 0.25, "launches_per_update": 4000,
    "synchronisations_per_update": 0, "scalar_copies_per_update": 1, "peak_mib": 0.0, "updates": 3000, "bleu": 31.4,
    "ppl": 5.5, "task": "jiang-en-de", "planned_parameters": 7e7, "tokens_per_batch": 4000, "planned_mib": 7777.0,
    "seconds_per_update": 0.0625, "planned_updates": 160_000, "hours": 2.7,
}  # fmt: skip


def test_stages_that_are_done_are_kept_over_kills_and_the_rest_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--device", "cpu", "--toy", "--out", str(tmp_path)]
    monkeypatch.setattr(gpu_suite, "key", lambda options: KEY)
    # One done, one saved and gone on with, then a kill.
    started = stage_that(tmp_path, monkeypatch, [0, 75, 0, -9])
    with pytest.raises(KeyboardInterrupt):
        gpu_suite.main(options)
    machine, first, second = gpu_suite.STAGES[:3]
    assert started == [machine, first, first, second]
    assert gpu_suite.main([*options, "--stages", "1"]) == 75
    assert started[4:] == [second] and "start the same command again" in capsys.readouterr().err
    assert gpu_suite.main(options) == 0
    assert started[5:] == list(gpu_suite.STAGES[3:])
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert found["stages"][first]["slices"] == 2 and found["device"] == "GPU <1>"
    # Another commit or card: everything is done again.
    monkeypatch.setattr(gpu_suite, "key", lambda options: {**KEY, "commit": "def"})
    assert gpu_suite.main([*options, "--stages", "1"]) == 75
    assert started[-1] == machine


def test_a_stage_that_fails_is_on_the_page_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_suite, "key", lambda options: KEY)
    stage_that(tmp_path, monkeypatch, [0] * (len(gpu_suite.STAGES) - 1) + [1])
    assert gpu_suite.main(["--device", "cpu", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "gpu.html").read_text()
    assert "exit status 1" in page and "GPU &lt;1&gt;" in page
    for text in ("123,456", "25.0", "4,000", "31.4", "1 passed", "70.0", "7,777", "62", "2.7"):
        assert f"<td>{text}</td>" in page


@pytest.mark.slow
@pytest.mark.parametrize("method", gpu_suite.PRINTED)
def test_a_method_of_each_paper_is_measured_with_its_own_recipe(method: str, tmp_path: Path) -> None:
    import gpu

    task, work = gpu_suite.PRINTED[method], tmp_path / "work"
    found = gpu.measure_printed(task, method, device="cpu", updates=24, rate=1e12, work=work, toy=True)
    assert found["tokens_per_batch"] in (4000, 4096) and found["parameters"] < found["planned_parameters"]
    assert found["hours"] == found["planned_updates"] * found["seconds_per_update"] / 3600 > 0
