"""What a trainer is told of a run is checked before it trains: one line that names the key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from finished import Finished

from mdnmt.cli import main


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("seed", -1, "seed: "),
        ("seed", "one", "seed: "),
        ("seed", True, "seed: "),
        ("builder", "transformr", "transformr"),
        ("builder", "os", "os"),
        ("domains", ["lore"], "lore"),
        ("training.learning_rate", float("nan"), "training.learning_rate: "),
        ("training.learning_rate", float("inf"), "training.learning_rate: "),
        ("training.max_updates", 0, "training.max_updates: "),
        ("training.max_update", 5, "unknown key 'training.max_update'"),
        ("training.adam_betas", [0.9, 2], "training.adam_betas"),
        ("architecture.num_heads", 3, "num_heads"),
        ("architecture.model_dimm", 8, "unknown key 'model_dimm'"),
        ("task_fingerprint", "00000000", "the run was planned for 00000000"),
    ],
)
def test_a_trainer_refuses_a_bad_run_before_it_trains(
    broken: Finished, capsys: pytest.CaptureFixture[str], place: str, value: Any, said: str
) -> None:
    spec = broken.spec.model_dump(mode="json")
    parent, *parts = spec, *place.split(".")
    for part in parts[:-1]:
        parent = parent[part]
    parent[parts[-1]] = value
    new = broken.root / "new"
    status = main(
        ["train", "--spec", json.dumps(spec), "--task", str(broken.task), "--out", str(new), "--device", "cpu"]
    )
    err = capsys.readouterr().err
    assert (status, err.count("\n")) == (2, 1) and said in err, err
    assert not (new / "ckpt").exists()
