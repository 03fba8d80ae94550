"""What is said of labels under a table, and the differences of a system told otherwise to itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.exhibits.rows import ResourceRow
from mdnmt.exhibits.tables.resources import ResourcesTable
from mdnmt.exhibits.tables.scores import ScoreTable


def table(tmp_path: Path, labels: Any) -> ScoreTable:
    def row(name: str, score: float, against: str | None = None) -> dict[str, Any]:
        path = tmp_path / f"{name}.json"
        entry = {"num_sentences": 9, "bleu": {"score": score, "signature": "s"}}
        path.write_text(json.dumps({"domains": {"law": entry, "news": entry}}))
        return {"group": "G", "label": name, "method": name, "against": against, "runs": [{"scores": path, "seed": 1}]}

    (tmp_path / "labels.json").write_text(json.dumps(labels))
    columns = [{"name": "law", "label": "Law"}, {"name": "news", "label": "News"}]
    rows = [row("mixed", 30.0), row("tag", 40.0, "tag"), row("tag@wrong", 25.5, "tag")]
    return ScoreTable.model_validate(
        {"title": "T", "columns": columns, "rows": rows, "metrics": ["bleu"], "delta": True, "baseline": "mixed"}
        | {"predicted_labels": tmp_path / "labels.json"}
    )


LABELS = {"classifier": "bag", "accuracy": 0.875, "test": {"law": {"accuracy": 0.9}, "news": {"accuracy": 0.85}}}


def test_a_system_told_otherwise_is_held_against_itself(tmp_path: Path) -> None:
    grid = ScoreTable.build(table(tmp_path, LABELS))
    deltas = {row.method: row.cells[-1].text for row in grid.rows}
    assert deltas == {"mixed": "\N{EN DASH}", "tag": "\N{EN DASH}", "tag@wrong": "\N{MINUS SIGN}14.50"}
    assert "The classifier (bag) is right on 87.5 % of test sentences: Law 90.0 %, News 85.0 %." in grid.notes
    assert "\N{GREEK CAPITAL LETTER DELTA}: difference to the same system with gold labels." in grid.notes


def test_a_table_that_tells_the_truth_says_nothing_of_it(tmp_path: Path) -> None:
    spec = table(tmp_path, LABELS)
    plain = spec.model_copy(update={"rows": tuple(row.model_copy(update={"against": None}) for row in spec.rows)})
    grid = ScoreTable.build(plain)
    assert not any("classifier" in note or "Wrong:" in note for note in grid.notes)
    assert grid.rows[1].cells[-1].text == "+10.00"  # to the baseline


def resources_table(tmp_path: Path, hardware: dict[str, Any], **row: Any) -> Any:
    path = tmp_path / "measure.json"
    rows = {"mixed": {"num_parameters": 10, "epoch_seconds": 20.0, "repeats": 3, **row}}
    path.write_text(json.dumps({"hardware": {"cpu": "x", "cores": 2, "device": "cpu", **hardware}, "rows": rows}))
    told = (ResourceRow(group="", label="Mixed", method="mixed"),)
    return ResourcesTable(title="t", rows=told, measure=path).build()


def test_the_spread_over_repeats_and_the_energy_are_shown(tmp_path: Path) -> None:
    values = {"epoch_seconds": [19.0, 20.0, 22.0], "epoch_watt_hours": [1.0, 1.5, 2.0]}
    grid = resources_table(tmp_path, {}, epoch_watt_hours=1.5, values=values)
    cells = {header.key: cell for header, cell in zip(grid.headers, grid.rows[0].cells, strict=True)}
    assert (cells["epoch_seconds"].text, cells["epoch_seconds"].spread) == ("20.0", "1.5")
    assert (cells["epoch_watt_hours"].text, cells["epoch_watt_hours"].spread) == ("1.500", "0.500")
    assert cells["num_parameters"].spread is None
    assert any("3; shown is their median" in note for note in grid.notes)
    assert not any(note.startswith("Energy:") for note in grid.notes)
    assert any(note.startswith("Energy: this machine does not") for note in resources_table(tmp_path, {}).notes)


@pytest.mark.parametrize(
    ("shared", "words"),
    [({"others_percent": 40.0}, "other processes took more than 15 %"), ({"others_on_gpu": 1}, "used the same GPU")],
)
def test_a_row_that_shared_the_device_is_marked(tmp_path: Path, shared: dict[str, Any], words: str) -> None:
    hardware = {"busy_percent": shared.get("others_percent"), "others_on_gpu": shared.get("others_on_gpu")}
    grid = resources_table(tmp_path, hardware, **shared)
    assert grid.rows[0].marks == (0,) and words in grid.reasons[0]
    assert any("do not compare the methods" in note for note in grid.notes)
    alone = resources_table(tmp_path, {"busy_percent": 3.0, "others_on_gpu": 0}, others_percent=3.0, others_on_gpu=0)
    assert alone.rows[0].marks == () and any("with the machine to itself" in note for note in alone.notes)
