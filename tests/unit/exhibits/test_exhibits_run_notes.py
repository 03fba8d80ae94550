"""Runs that other code made, and packages that runs do not share, are named with every table, page and plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.cli import main
from mdnmt.exhibits.run_notes import NamedRun, run_notes
from mdnmt.training_code import training_code

SCORES = {"domains": {"law": {"bleu": {"score": 30.0, "signature": "s"}, "num_sentences": 5}}, "mean": {}}


def made(folder: Path, *, code: str | None = None, translated: str | None = None, numpy: str = "1.26.4") -> Path:
    """Write what the notes read of a run and of its translations."""
    here = training_code("transformer")
    record = {
        "spec": {"builder": "transformer"}, "updates": 5, "code": code or here, "attempts": [],
        "provenance": {"packages": {"numpy": numpy, "pandas": numpy}},
    }  # fmt: skip
    (folder / "test" / "hyp").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "test" / "scores.json").write_text(json.dumps(SCORES))
    (folder / "test" / "hyp" / "sums.json").write_text(json.dumps({"made_by": {"code": translated or here}}))
    return folder


def named(label: str, seed: int, folder: Path) -> NamedRun:
    return NamedRun(label, seed, folder, folder / "test" / "hyp")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"code": "0" * 16}, ["Encoder, seeds 1, 2: trained by other code."]),
        ({"translated": "0" * 16}, ["Encoder, seeds 1, 2: translated by other code."]),
        ({"code": "0" * 16, "translated": "0" * 16}, ["Encoder, seeds 1, 2: trained by other code."]),
    ],
)
def test_a_run_that_other_code_made_is_named(changes: dict[str, Any], expected: list[str], tmp_path: Path) -> None:
    runs = [named("Encoder", seed, made(tmp_path / f"e{seed}", **changes)) for seed in (1, 2)]
    assert run_notes([named("Mixed", 1, made(tmp_path / "m")), *runs]) == expected


def test_packages_that_change_numbers_and_differ_are_named(tmp_path: Path) -> None:
    runs = [("Mixed", "1.26.4"), ("Encoder", "2.4.6"), ("E/DC", "1.26.4")]
    [note] = run_notes(named(label, 1, made(tmp_path / label[:2], numpy=numpy)) for label, numpy in runs)
    assert "numpy: 1.26.4 (Mixed, seed 1; E/DC, seed 1); 2.4.6 (Encoder, seed 1)" in note


def test_what_does_not_exist_gives_no_note(tmp_path: Path) -> None:
    assert run_notes([named("Mixed", 1, tmp_path)]) == []


def test_a_table_carries_the_note_in_every_format(tmp_path: Path) -> None:
    folder = made(tmp_path / "runs" / "encoder" / "seed1", code="0" * 16)
    spec = {
        "kind": "scores", "title": "t", "columns": [{"name": "law", "label": "Law"}], "metrics": ["bleu"],
        "rows": [
            {"group": "", "label": "Encoder", "method": "encoder",
             "runs": [{"seed": 1, "scores": str(folder / "test" / "scores.json")}]}
        ],
    }  # fmt: skip
    forms = {kind: tmp_path / f"table.{kind}" for kind in ("markdown", "latex", "html", "json")}
    assert main(["table", "--spec", json.dumps(spec), *(f"--{kind}={path}" for kind, path in forms.items())]) == 0
    for path in forms.values():
        assert "Encoder, seed 1: trained by other code" in path.read_text(), path
