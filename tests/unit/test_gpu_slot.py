"""`make gpu`: what is missing in one line, crashes and deadlines, the table; and all of it in tiny size on a CPU."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from house_rules import ABSENT

from mdnmt.config.run import RunSpec
from mdnmt.operations.campaign.jobs import Campaign, Job, Step

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import generated_task  # noqa: E402
import gpu_page  # noqa: E402
import gpu_slot  # noqa: E402
import gpu_stages  # noqa: E402


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
    assert gpu_slot.main([]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_python_without_torch_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu_slot.importlib.util, "find_spec", lambda name: None if name == "torch" else object())
    assert gpu_slot.main([]) == 2
    assert "found no package torch" in capsys.readouterr().err


@pytest.fixture
def slot(tmp_path: Path) -> gpu_slot.Slot:
    options = argparse.Namespace(seconds=560.0, out=tmp_path, tiny=False, device="cuda", study=None, jobs=16)
    return gpu_slot.Slot(options, tmp_path)


def scripted(slot: gpu_slot.Slot, monkeypatch: pytest.MonkeyPatch, script: list[tuple[int, dict[str, Any]]]) -> None:
    """Let processes of stages end with a status, after they have changed their report."""

    def run(arguments: list[str], name: str, seconds: float, folder: Path | None = None) -> int:
        status, report = script.pop(0)
        path = slot.work / f"{name}.json"
        before = gpu_slot.read(path) or {"cases": ["a", "b", "c"], "rows": {}}
        path.write_text(json.dumps({**before, **report, "rows": {**before["rows"], **report.get("rows", {})}}))
        (slot.work / f"{name}.log").write_text("Traceback\nRuntimeError: operation not permitted\n\n")
        return status

    monkeypatch.setattr(slot, "_run", run)


def test_a_crash_costs_one_case_and_the_end_of_the_time_the_rest(
    slot: gpu_slot.Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = (1, {"running": "a"})
    scripted(slot, monkeypatch, [failed, (-11, {"running": "b"}), (0, {"rows": {"c": {"bits_equal": True}}})])
    slot.do("gate")
    why = {"a": {"failed": "RuntimeError: operation not permitted"}, "b": {"failed": "ended by signal 11"}}
    assert slot.rows("gate") == {**why, "c": {"bits_equal": True}}
    assert json.loads(slot.path.read_text())["stages"]["gate"]["rows"] == slot.rows("gate")
    assert slot.why_eager == "a: RuntimeError: operation not permitted" and slot.is_done("gate")
    scripted(slot, monkeypatch, [(gpu_slot.STOPPED, {"running": "b", "rows": {"a": {"updates": 3}}})])
    slot.do("papers")
    assert slot.rows("papers") == {"a": {"updates": 3}, "b": {"absent": "no time: stopped"}, "c": {"absent": "no time"}}
    assert not slot.is_done("papers")


GOOD = {"bits_equal": True, "resumed_bits_equal": True, "why_eager": ""}


@pytest.mark.parametrize(
    ("packed", "padded", "eager", "layout"),
    [
        (GOOD, GOOD, "", "packed"),
        ({**GOOD, "resumed_bits_equal": False}, GOOD, "a, packed: other bits than eager", "packed"),
        ({**GOOD, "why_eager": "it differs"}, GOOD, "a, packed: it differs", "packed"),
        ({"failed": "a kernel is missing"}, GOOD, "", "padded"),
        ({"error": 0.5, "bits_equal": True}, {"failed": "x"}, "b, padded: x", "padded"),
    ],
)
def test_the_gate_decides_about_graphs_and_layout(
    slot: gpu_slot.Slot, packed: dict[str, Any], padded: dict[str, Any], eager: str, layout: str
) -> None:
    slot.found["stages"]["gate"] = {"rows": {"a, packed": packed, "b, padded": padded}}
    assert slot.why_eager == eager
    own: dict[str, Any] = {"why_eager": slot.why_eager, "why_padded": slot.why_padded}
    chosen = gpu_stages.Slot("cuda", False, slot.work, 40, **own)
    assert chosen.layout() == {"layout": layout} and chosen.layout("padded") == {"layout": "padded"}
    if layout == "padded":
        with pytest.raises(gpu_stages.Absent, match="the gate failed: a, packed: "):
            chosen.layout("packed")
    if not eager:
        assert chosen.graphs() == "auto"
        return
    with pytest.raises(gpu_stages.Absent, match=f"the gate failed: {eager}"):
        chosen.graphs()


def test_a_pack_can_be_trained_on_padded_batches(make_spec: Any, tmp_path: Path) -> None:
    spec = make_spec("transformer")
    pack(tmp_path / "one.zip", spec)
    with zipfile.ZipFile(gpu_slot.padded_pack(tmp_path / "one.zip", tmp_path / "other.zip")) as archive:
        campaign = Campaign.model_validate_json(archive.read("campaign.json"))
        assert set(archive.namelist()) == set(zipfile.ZipFile(tmp_path / "one.zip").namelist())
    arguments = campaign.jobs[0].steps[0].arguments
    changed = RunSpec.model_validate_json(arguments[arguments.index("--spec") + 1])
    assert changed.training.layout == "padded" and spec.training.layout == "auto"
    assert changed.fingerprint == spec.fingerprint


def test_without_time_the_study_is_absent_and_a_process_is_stopped(slot: gpu_slot.Slot, tmp_path: Path) -> None:
    slot.options.study, slot.end = tmp_path / "study.zip", 0.0
    slot.do("study")
    assert slot.rows("study")["study.zip"]["absent"].startswith("no time")
    assert slot._run(["-c", "import signal; signal.pause()"], "test", 0.2) == gpu_slot.STOPPED


def test_stages_of_other_code_or_another_card_are_done_again(
    slot: gpu_slot.Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"name": "GPU", "torch": "2.11.0"}
    gate = {"seconds": 2.0, "rows": {"x": {"bits_equal": True}}}
    same = {"code": slot.found["code"], "tiny": False}
    for change, card, kept in (
        ({}, own, True),
        ({"code": "other"}, own, False),
        ({"tiny": True}, own, False),
        ({}, {**own, "name": "another"}, False),
    ):
        stages = {"card": {"seconds": 1.0, "rows": {"card": card}}, "gate": gate}
        slot.path.write_text(json.dumps({**same, **change, "stages": stages}))
        again = gpu_slot.Slot(slot.options, slot.work)
        monkeypatch.setattr(again, "_cases", lambda stage: {"card": own})
        again.do("card")
        assert again.is_done("gate") == kept
        assert ("gate" in json.loads(slot.path.read_text())["stages"]) == kept


def test_the_archive_keeps_earlier_logs_and_carries_the_compilers_cache(slot: gpu_slot.Slot, tmp_path: Path) -> None:
    kernel, big = slot.work / "inductor" / "fx" / "k.py", slot.work / "inductor" / "z.bin"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("kernel")
    with big.open("wb") as out:
        out.truncate(gpu_slot.FILE_BYTES_MAX)
    (slot.work / "gate.log").write_text("first")
    slot.write_archive()
    (slot.work / "gate.log").unlink()
    (slot.work / "papers.log").write_text("second")
    slot.write_archive()
    path = slot.options.out / "gpu.zip"
    assert set(zipfile.ZipFile(path).namelist()) == {"gate.log", "papers.log", "inductor/fx/k.py"}
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("inductor/../../outside", "x")
    gpu_slot.unpack_cache(path, tmp_path / "a" / "b")
    files = [one.relative_to(tmp_path / "a").as_posix() for one in (tmp_path / "a").rglob("*") if one.is_file()]
    assert files == ["b/inductor/fx/k.py"]


def test_kernels_are_divided_by_category() -> None:
    names = {
        "nvjet_tst_128x128_bf16": "matrix products",
        "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel": "attention",
        "multi_tensor_apply_kernel<FusedAdamMathFunctor>": "optimiser, norms of gradients, weights in bf16",
        "vectorized_layer_norm_kernel": "layer norm",
        "indexSelectLargeIndex": "gather, scatter and sort",
        "vectorized_elementwise_kernel<4, ReLU>": "element by element",
        "something": "other",
    }
    events = [{"cat": "kernel", "name": name, "ts": 1000 * n, "dur": 500} for n, name in enumerate(names)]
    events.append({"cat": "gpu_memcpy", "name": "HtoD", "ts": 7000, "dur": 500})
    found = gpu_stages.by_category({"traceEvents": [*events, {"cat": "cpu_op", "name": "x", "ts": 0, "dur": 9}]}, 2)
    assert found["kernel_ms"] == dict.fromkeys([*names.values(), "copies and casts"], 0.25)
    assert found["launches_per_update"] == 4 and found["busy_share"] == pytest.approx(4000 / 7500)
    with pytest.raises(gpu_stages.Absent):
        gpu_stages.by_category({"traceEvents": []}, 2)


def test_the_tables_show_figures_and_reasons() -> None:
    rows = {"a": {"tokens_per_second": 123_456.0, "share_of_rate": 0.25}, "b": {"failed": "x | y"}}
    card = {"seconds": 1.0, "rows": {"card": {"name": "GPU", "torch": "2.11.0", "matrix_rate": 7.88e14}}}
    found = {"code": "abc", "tiny": False, "stages": {"card": card, "large": {"seconds": 40.0, "rows": rows}}}
    said = gpu_page.tables(found)
    assert "| a | 123,456 | 25.0 |  |\n| b |  |  | failed: x \\| y |" in said and "788.00" in said
    measured = list(gpu_page.measured_rows(found))
    assert [row["case"] for row in measured] == ["card", "a"]
    assert measured[1] == {"card": "GPU", "torch": "2.11.0", "stage": "large", "case": "a", **rows["a"]}
    assert list(gpu_page.measured_rows({**found, "tiny": True})) == []


def pack(path: Path, spec: RunSpec) -> None:
    """Write a pack of one run on generated text."""
    task, run = "results/tasks/generated", f"generated/transformer/seed1-{spec.fingerprint}"
    folder = generated_task.write_task(
        path.parent / task, pairs={"train": 60, "valid": 6, "test": 4}, vocab_size=40, mean_length=3
    )
    out = f"results/runs/{run}"
    arguments = ("train", "--spec", spec.model_dump_json(), "--task", task, "--out", out, "--method", "transformer")
    job = Job(run=run, task=task, steps=(Step(arguments=arguments, makes=(f"{out}/run.json",)),))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("campaign.json", Campaign(study="one", jobs=(job,)).model_dump_json())
        for file in sorted(folder.iterdir()):
            archive.write(file, f"{task}/{file.name}")


@pytest.mark.slow
@pytest.mark.long
def test_in_tiny_size_everything_runs_on_a_cpu_of_a_bare_machine(make_spec: Any, tmp_path: Path) -> None:
    tree = tmp_path / "tree"  # without .git
    for name in ("src", "config", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "peers", "work"))
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({ABSENT!r}))\n")
    spec = make_spec("transformer", max_updates=2, validate_every=2)
    pack(tmp_path / "one.zip", spec.model_copy(update={"task_fingerprint": "generated1", "domains": ("economy",)}))
    out = tmp_path / "out"
    command = [sys.executable, "benchmarks/gpu_slot.py", "--tiny", "--device", "cpu", "--seconds", "1100"]
    command += ["--out", str(out), "--study", str(tmp_path / "one.zip"), "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*more: str) -> str:
        done = subprocess.run([*command, *more], cwd=tree, env=environment, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = run()
    found = json.loads((out / "gpu.json").read_text())
    assert list(found["stages"]) == sorted(gpu_slot.STAGES) and found["code"]
    rows = {f"{stage}: {case}": row for stage, one in found["stages"].items() for case, row in one["rows"].items()}
    assert {name: row["failed"] for name, row in rows.items() if "failed" in row} == {}
    gate = [row for name, row in rows.items() if name.startswith("gate: ") and "absent" not in row]
    assert len(gate) == 12 and all(row["bits_equal"] and row["resumed_bits_equal"] for row in gate)
    assert {row.get("absent", "measured") for name, row in rows.items() if "graphs" in name} == {
        gpu_stages.NO_GRAPHS,
        "found no nvidia-cuda-mps-control",
    }
    assert rows["large: E/DC, padded"]["tokens_per_second"] > 0 and rows["small: 2, eager"]["processes"] == 2
    assert rows["papers: dsa, packed"]["planned_updates"] == 100_000 and "kernel_ms" not in rows["kernels: waldm-edc"]
    assert rows["study: one.zip"]["runs_done"] == rows["study: one.zip"]["runs"] == 1
    files = list(out.iterdir())
    assert {path.name for path in files} == {"gpu.json", "gpu.zip", "campaign-one-1.zip"}
    assert len(files) <= 8 and all(path.stat().st_size < 16 * 2**20 for path in files)
    assert gpu_page.tables(found).splitlines()[-1] in said and "**Graphs against eager updates**" in said
    again = run("--only", "gate", "papers", "study")
    assert "gate.log" in zipfile.ZipFile(out / "gpu.zip").namelist()
    assert "mdnmt: card" in again and "mdnmt: gate" not in again and "mdnmt: study" not in again
