"""A finished run that other code trained: each verb that uses it prints one line; equivalent code prints none."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import mdnmt
from mdnmt import code_hash, training_code
from mdnmt.cli import main
from mdnmt.code_hash import Sources
from mdnmt.errors import MdnmtError
from mdnmt.paths import RunPaths
from mdnmt.train.run import train_run
from mdnmt.training_code import same_code, why_other_code

RELU, TANH = "F.relu", "F.tanh"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "toy" / "mixed" / "seed1"


@pytest.fixture
def run(folder: Path, make_spec: Any, toy_task: Path) -> Path:
    """Return a finished run of the code that is here, trained once for the whole file."""
    if not RunPaths(folder).record.exists():
        train_run(make_spec(max_updates=1, validate_every=1), toy_task, folder, device="cpu", method_name="mixed")
    return folder


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hash a copy of the package in which a block computes something else."""
    copy = tmp_path / "mdnmt"
    shutil.copytree(Path(mdnmt.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    [block] = [path for path in (copy / "models").glob("feed_forward.py") if RELU in path.read_text()]
    block.write_text(block.read_text().replace(RELU, TANH))
    monkeypatch.setattr(code_hash, "sources", lambda: Sources(copy))
    return copy


@pytest.fixture
def equivalents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "equivalent.yaml"
    monkeypatch.setattr(training_code, "EQUIVALENT", path)
    return path


def words(verb: str, run: Path, task: Path, out: Path) -> list[str]:
    common = ["--run", str(run), "--device", "cpu"]
    return {
        "decode": [*common, "--task", str(task), "--out", str(out), "--spec", json.dumps({"beam_size": 1})],
        "translate": common,
        "analyse": [*common, "--task", str(task), "--out", str(out)],
        "measure": ["--runs", json.dumps({"mixed": str(run)}), "--task", str(task), "--out", str(out / "measure.json")],
        "serve": [str(run), "--port", "0", "--device", "cpu"],
        "export": [str(run), "--to", "onnx", "--out", str(out)],
    }[verb]


def lines(verb: str, run: Path, task: Path, out: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines about the code that a verb prints; what it does after that is of no interest here."""

    def stop(*_: object, **__: object) -> None:
        raise MdnmtError("enough")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bank\n")))
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", stop)
    monkeypatch.setattr("mdnmt.extras.serve.app.create_app", stop)
    monkeypatch.setattr("mdnmt.extras.export.export_run.export_run", lambda *_: None)
    capsys.readouterr()
    main([verb, *words(verb, run, task, out)])
    return [line for line in capsys.readouterr().err.splitlines() if "other code" in line]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["decode", "translate", "analyse", "measure", "serve", "export"])
def test_a_verb_says_in_one_line_that_other_code_trained_the_run(
    verb: str, run: Path, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    assert lines(verb, run, toy_task, tmp_path / "a", capsys, monkeypatch) == []
    request.getfixturevalue("edited")
    [line] = lines(verb, run, toy_task, tmp_path / "b", capsys, monkeypatch)
    assert str(run) in line and "mdnmt retrain mixed" in line and "accept_code_change" in line


@pytest.mark.slow
def test_equivalent_code_is_the_same_code(run: Path, edited: Path, equivalents: Path) -> None:
    record = json.loads(RunPaths(run).record.read_text())
    here = training_code.training_code(record["spec"]["builder"])
    assert "by other code" in why_other_code(record)
    equivalents.write_text(f"transformer:\n- [{record['code']}, '{here}']\n")
    training_code._equivalent.cache_clear()
    assert why_other_code(record) == ""
    assert not same_code("0" * 16, here)


def test_each_attempt_that_made_updates_counts(run: Path) -> None:
    record = json.loads(RunPaths(run).record.read_text()) | {"updates": 5}
    [attempt] = record["attempts"]
    other = {**attempt, "code": "0" * 16, "commit": "1234567890abcdef", "dirty": False}
    mixed = why_other_code({**record, "attempts": [other, {**attempt, "at_update": 3}]})
    assert mixed.endswith("(commit 1234567890ab)")
    assert why_other_code({**record, "attempts": [attempt, {**other, "at_update": 5}]}) == ""


def test_what_we_did_not_train_has_no_code_and_an_old_record_says_so(run: Path) -> None:
    record = {key: value for key, value in json.loads(RunPaths(run).record.read_text()).items() if key != "code"}
    assert why_other_code({**record, "imported": {"from": "fairseq"}}) == ""
    assert why_other_code({**record, "updates": 0}) == ""
    assert "does not record" in why_other_code(record)
