"""Results that other code made, and packages that runs do not share, are named with every table, page and plan."""

from __future__ import annotations

import csv
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from exhibit_files import write

from mdnmt import fsio
from mdnmt.exhibits.run_notes import Name, notes_on
from mdnmt.exhibits.write_numbers import write_numbers
from mdnmt.numbers.sources import NumberSources
from mdnmt.training_code import made_by, training_code

SCORES = {"domains": {"law": {"bleu": {"score": 30.0, "signature": "s"}, "num_sentences": 5}}, "mean": {}}
OTHER = "0" * 16


def stamp(stage: str, changed: bool, *runs: Path) -> dict[str, Any]:
    """Return the record of a stage, by the code here or by another."""
    made = made_by(stage, *runs)
    return {**made, "code": {stage: OTHER}} if changed else made


def made(folder: Path, *others: str, code: str | None = None, numpy: str = version("numpy")) -> Path:
    """Write what the notes read of a run, its translations and its analysis; other code made the stages `others`."""
    record = {
        "method": "encoder", "seed": 4, "spec": {"builder": "transformer"}, "updates": 5, "attempts": [],
        "code": code or training_code("transformer"), "provenance": {"packages": {"numpy": numpy, "pandas": numpy}},
    }  # fmt: skip
    fsio.write_sealed(folder / "run.json", record)
    labels = folder.parent / "predicted-labels.json"
    fsio.write_sealed(labels, {}, made_by=stamp("labels", "labels" in others))
    by = stamp("decode", "decode" in others, folder)
    fsio.write_sums(folder / "test/hyp", [], [folder / "run.json", labels], made_by=by)
    fsio.write_sealed(folder / "test/scores.json", SCORES, [folder / "test/hyp/sums.json"])
    by = stamp("analyse", "analyse" in others, folder)
    fsio.write_sums(folder / "analysis", [], [folder / "run.json"], made_by=by)
    fsio.write_sealed(folder / "test/comet.json", SCORES, made_by=stamp("comet", "comet" in others))
    return folder


def shown(folder: Path) -> list[Path]:
    return [folder / "test/scores.json", folder / "analysis/gates.npz", folder / "test/comet.json"]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((), []),
        (("decode",), ["Encoder, seed 1: translated by other code."]),
        (("analyse",), ["Encoder, seed 1: analysed by other code."]),
        (("comet",), ["Encoder, seed 1: scored with COMET by other code."]),
        (("labels",), ["predicted-labels: domains predicted by other code."]),
    ],
)
def test_what_other_code_made_is_named(others: tuple[str, ...], expected: list[str], tmp_path: Path) -> None:
    folder = made(tmp_path / "e1", *others)
    assert notes_on(shown(folder), {folder: Name("Encoder", 1)}) == expected


def test_runs_that_other_code_trained_are_named_together(tmp_path: Path) -> None:
    folders = [made(tmp_path / f"e{seed}", "decode", code=OTHER) for seed in (1, 2)]
    names = {folder: Name("Encoder", seed) for seed, folder in enumerate(folders, start=1)}
    files = [path for folder in (*folders, made(tmp_path / "m")) for path in shown(folder)]
    assert notes_on(files, names) == ["Encoder, seeds 1, 2: trained by other code."]
    assert notes_on(shown(folders[0])) == ["encoder, seed 4: trained by other code."]


@pytest.mark.parametrize(
    "odd",
    [
        {"spec": 3, "attempts": 5, "updates": "x"},
        {"code": {"text": [1]}},
        {"code": 3},
        {"made_by": 3},
        {"made_by": {"code": {"decode": [1]}, "builders": 3, "packages": 3}},
    ],
)
def test_a_damaged_record_gives_no_note(odd: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"updates": 5, **odd}))
    assert notes_on([tmp_path / "run.json"]) == []


def test_data_that_other_code_prepared_are_named(tmp_path: Path) -> None:
    fsio.write_sealed(tmp_path / "tiny/task.json", {"name": "tiny", "code": {"text": OTHER}})
    fsio.write_sealed(tmp_path / "tiny/copied/scores.json", SCORES)
    assert notes_on([tmp_path / "tiny/copied/scores.json"]) == ["task tiny: data prepared by other code."]


def test_the_table_of_numbers_has_a_note_in_each_row(tmp_path: Path) -> None:
    sources = [
        {"kind": "scores", "path": str(made(tmp_path / name, code=code) / "test/scores.json"), "task": "t",
         "method": name, "seed": 4, "split": "test"}
        for name, code in (("mixed", None), ("encoder", OTHER))
    ]  # fmt: skip
    write_numbers("s", NumberSources.model_validate({"sources": sources}), tmp_path)
    with (tmp_path / "numbers.csv").open(newline="") as handle:
        notes = {row["method"]: row["note"] for row in csv.DictReader(handle)}
    assert notes == {"mixed": "", "encoder": "encoder, seed 4: trained by other code."}


def test_packages_that_change_numbers_and_differ_are_named(tmp_path: Path) -> None:
    runs = [("Mixed", "1.26.4"), ("Encoder", "2.4.6"), ("E/DC", "1.26.4")]
    names = {made(tmp_path / label[:2], numpy=numpy): Name(label, 1) for label, numpy in runs}
    [note] = notes_on((folder / "run.json" for folder in names), names)
    assert "numpy: 1.26.4 (Mixed, seed 1; E/DC, seed 1); 2.4.6 (Encoder, seed 1)" in note


def test_the_packages_of_comets_own_environment_are_compared_with_one_another(tmp_path: Path) -> None:
    folders = [made(tmp_path / name) for name in ("a", "b")]
    for folder, numpy in zip(folders, ("1.26.4", "1.25.0"), strict=True):
        stamped = {**stamp("comet", False), "packages": {"numpy": numpy}}
        fsio.write_sealed(folder / "test/comet.json", SCORES, made_by=stamped)
    assert notes_on(shown(folders[0])) == []
    [note] = notes_on(shown(folders[0]) + shown(folders[1]))
    assert "numpy: 1.25.0 (" in note and "; 1.26.4 (" in note and version("numpy") not in note


def test_what_does_not_exist_gives_no_note(tmp_path: Path) -> None:
    assert notes_on([tmp_path / "test/scores.json", tmp_path / "run.json"]) == []


def test_a_table_carries_the_note_in_every_format(tmp_path: Path) -> None:
    folder = made(tmp_path / "runs" / "encoder" / "seed1", code=OTHER)
    spec = {
        "kind": "scores", "title": "t", "columns": [{"name": "law", "label": "Law"}], "metrics": ["bleu"],
        "rows": [
            {"group": "", "label": "Encoder", "method": "encoder",
             "runs": [{"seed": 1, "scores": str(folder / "test" / "scores.json")}]}
        ],
    }  # fmt: skip
    forms = [tmp_path / f"table.{ending}" for ending in ("md", "tex", "html", "json")]
    write(spec, *forms)
    for path in forms:
        assert "Encoder, seed 1: trained by other code" in path.read_text(), path


def test_a_note_on_a_run_names_each_of_its_rows(tmp_path: Path) -> None:
    folder = made(tmp_path / "runs" / "tag" / "seed1", code=OTHER)
    runs = [{"seed": 1, "scores": str(folder / "test" / "scores.json")}]
    labels = ["Tag, label given", "Tag, label wrong"]
    spec = {
        "kind": "scores", "title": "t", "columns": [{"name": "law", "label": "Law"}], "metrics": ["bleu"],
        "rows": [{"group": "", "label": label, "method": "tag", "runs": runs} for label in labels],
    }  # fmt: skip
    write(spec, tmp_path / "table.json")
    notes = json.loads((tmp_path / "table.json").read_text())["notes"]
    assert any(note.startswith("Tag, label given / Tag, label wrong, seed 1: trained by other code") for note in notes)
