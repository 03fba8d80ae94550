"""A clock that jumps, a second trainer, results of another version of the code: nothing goes wrong unnoticed."""

from __future__ import annotations

import json
import socket
import time
from itertools import count
from pathlib import Path

import pytest
import safetensors.torch
from finished import Finished, refused

from mdnmt.checkpoints import manifest
from mdnmt.checkpoints.weights import load_model
from mdnmt.errors import EXIT_RESUME, DataError, LeaseError
from mdnmt.fsio import read_json, write_json
from mdnmt.report import contents, report_page
from mdnmt.train.lease import RunLease, lease_is_live

DAY, YEAR = 24 * 3600.0, 365 * 24 * 3600.0


@pytest.mark.parametrize("jump", [YEAR, -DAY, -YEAR])
def test_a_clock_that_jumps_neither_ends_a_run_nor_changes_it(
    whole: Finished, broken: Finished, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    now = time.time()
    for path in (broken.run / "ckpt").glob("*"):
        if path.name != "update-00000004":
            path.rename(broken.root / path.name)
    monkeypatch.setattr(time, "time", lambda: now + jump)
    # An hour, by whatever the wall clock says: neither the limit nor the time-based save is reached.
    assert broken.train("--stop-after-minutes", "60", "--save-every-minutes", "60") == 0
    assert broken.outcome() == whole.outcome()
    # It is the time since the start that counts: an hour of that ends the run.
    (broken.run / "ckpt" / "update-00000008").rename(broken.root / "again")
    ticks = count()
    monkeypatch.setattr(time, "monotonic", lambda: 600.0 * next(ticks))
    assert broken.train("--stop-after-minutes", "60") == EXIT_RESUME


@pytest.mark.parametrize("jump", [YEAR, -DAY])
def test_a_trainer_keeps_its_lease_whatever_its_clock_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    now = time.time()
    with RunLease(tmp_path / "lease") as lease:
        monkeypatch.setattr(time, "time", lambda: now + jump)
        lease._beat()
        lease.check()
        with pytest.raises(LeaseError, match="is held by host"):
            RunLease(tmp_path / "lease").__enter__()
        assert lease_is_live(tmp_path / "lease") is not None


def test_a_second_trainer_comes_back_later(broken: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in broken.run.rglob("*") if path.is_file()}
    with RunLease(broken.run / "lease"):
        capsys.readouterr()
        assert broken.train() == EXIT_RESUME
    [line] = capsys.readouterr().err.splitlines()
    assert f"{broken.run}/lease: the run directory is held by host {socket.gethostname()}, process" in line
    assert "wait for it to end or stop it" in line
    assert {path: path.read_bytes() for path in before} == before


def test_checkpoints_of_another_format_are_refused(
    broken: Finished, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (broken.run / "run.json").unlink()
    # What this code wrote, read by another version of it: older or newer makes no difference.
    monkeypatch.setattr(manifest, "FORMAT_VERSION", manifest.FORMAT_VERSION + 1)
    refused(capsys, broken.train(), "none of 2 checkpoints is whole", "format version 1, this program reads 2")


def test_checkpoints_of_another_stage_version_are_refused(
    broken: Finished, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = broken.spec.fingerprint
    monkeypatch.setitem(__import__("mdnmt.fingerprint", fromlist=["x"]).STAGE_VERSIONS, "train", 999)
    assert broken.spec.fingerprint != planned
    refused(capsys, broken.train(), f"it belongs to run {planned}, this is run {broken.spec.fingerprint}")


def test_data_of_another_version_are_refused(broken: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    path = broken.task / "task.json"
    value = read_json(path)
    write_json(path, {**value, "fingerprint": "0ld0ld00"})
    refused(capsys, broken.train(), "holds data 0ld0ld00, but the run was planned for", "start snakemake again")


@pytest.mark.parametrize("change", ["a key more", "a key less", "no spec", "no domains"])
def test_runs_of_another_version_are_refused(broken: Finished, capsys: pytest.CaptureFixture[str], change: str) -> None:
    path = broken.run / "run.json"
    value = read_json(path)
    if change == "a key more":
        value["spec"]["architecture"]["rotary"] = True
    elif change == "a key less":
        del value["spec"]["training"]
    else:
        del value[change.removeprefix("no ")]
    write_json(path, value)
    refused(capsys, broken.decode(), str(path))


def test_weights_of_another_program_are_refused(broken: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    path = broken.run / "model.safetensors"
    safetensors.torch.save_file({name: tensor.clone() for name, tensor in load_model(path).items()}, path)
    refused(capsys, broken.decode(), str(path), "it is not a file of this program")


def test_weights_of_another_model_are_refused(broken: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    path = broken.run / "run.json"
    value = read_json(path)
    value["spec"]["architecture"]["ffn_dim"] = 48
    write_json(path, value)
    refused(capsys, broken.decode(), f"{broken.run}/model.safetensors: are not the weights that run.json describes")


@pytest.mark.parametrize("value", [{"rows": [], "format": 1}, {"rows": []}, {"rows": [], "format": 99}])
def test_tables_of_another_version_are_refused(tmp_path: Path, value: dict[str, object]) -> None:
    write_json(tmp_path / "table.json", value)
    item = {"id": "t", "title": "T", "kind": "scores", "data": str(tmp_path / "table.json")}
    spec = json.dumps({"study": "x", "title": "X", "tables": [item]})
    with pytest.raises(DataError, match=r"table\.json.*another version"):
        report_page.render(contents.ReportSpec.model_validate_json(spec))
