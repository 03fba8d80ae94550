"""Runs of several lengths share the updates that they have in common, and end with the same bits as alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chosen_cases import chosen_cases

from mdnmt.errors import Interrupted
from mdnmt.fsio import read_json
from mdnmt.paths import RunPaths
from mdnmt.train.conditions import progress_in
from mdnmt.train.run import train_run
from mdnmt.train.trainer import RuntimeOptions

pytestmark = pytest.mark.slow  # each trains several runs

RECIPE = {
    "schedule": "constant",
    "warmup_updates": 2,
    "validate_every": 3,
    "log_every": 1,
    "average_checkpoints": 2,
}


def train(spec: Any, task: Path, folder: Path, **runtime: Any) -> RunPaths:
    train_run(spec, task, folder, device="cpu", runtime=RuntimeOptions(**runtime))
    return RunPaths(folder)


def result(paths: RunPaths) -> tuple[bytes, ...]:
    names = ("model.safetensors", "alternative.safetensors", "curves.tsv")
    return tuple(path.read_bytes() for name in names if (path := paths.folder / name).exists())


def attempts(paths: RunPaths) -> list[int]:
    return [one["at_update"] for one in read_json(paths.record)["attempts"]]


def only_trunk(folder: Path) -> Path:
    (found,) = folder.glob("trunk-*")
    return found


@pytest.fixture
def lengths(make_spec: Any) -> Any:
    def spec(updates: int, decay: int | None, **more: Any) -> Any:
        return make_spec(**{**RECIPE, "max_updates": updates, "decay_updates": decay, **more})

    return spec


@pytest.mark.parametrize("final", chosen_cases(["average", "best"], "average"))
def test_a_longer_run_continues_from_a_shorter_one_and_gives_the_same_bits(
    lengths: Any, toy_task: Path, tmp_path: Path, final: str
) -> None:
    specs = {
        name: lengths(*ends, final_weights=final) for name, ends in {"a": (6, 2), "b": (11, 3), "c": (16, 4)}.items()
    }
    alone = {name: result(train(spec, toy_task, tmp_path / name / name)) for name, spec in specs.items()}
    together = {name: train(spec, toy_task, tmp_path / "all" / name) for name, spec in specs.items()}
    assert {name: result(paths) for name, paths in together.items()} == alone
    assert [attempts(paths) for paths in together.values()] == [[0], [0, 4], [0, 4, 8]]
    assert len({len(files) for files in alone.values()}) == 1 and len(set(alone.values())) == 3
    # What the shared updates cost counts in each run.
    seconds = [read_json(paths.record)["seconds"] for paths in together.values()]
    assert seconds == sorted(seconds) and seconds[0] > 0
    names = [one.get("trunk") for one in read_json(together["c"].record)["attempts"]]
    assert names == [None, only_trunk(tmp_path / "all").name, only_trunk(tmp_path / "all").name]


def test_a_shorter_run_after_a_longer_one_trains_from_its_start(lengths: Any, toy_task: Path, tmp_path: Path) -> None:
    alone = result(train(lengths(6, 2), toy_task, tmp_path / "alone" / "a"))
    train(lengths(11, 3), toy_task, tmp_path / "all" / "b")
    short = train(lengths(6, 2), toy_task, tmp_path / "all" / "a")
    assert attempts(short) == [0] and result(short) == alone


def test_an_interrupted_run_goes_on_from_its_own_checkpoint(lengths: Any, toy_task: Path, tmp_path: Path) -> None:
    alone = result(train(lengths(11, 3), toy_task, tmp_path / "alone" / "b"))
    with pytest.raises(Interrupted):
        train(lengths(11, 3), toy_task, tmp_path / "all" / "b", stop_after_minutes=0.0)
    train(lengths(6, 2), toy_task, tmp_path / "all" / "a")
    resumed = train(lengths(11, 3), toy_task, tmp_path / "all" / "b")
    assert attempts(resumed) == [0, 1] and result(resumed) == alone


@pytest.mark.parametrize(
    "changed",
    [
        {"learning_rate": 1e-3},
        {"schedule": "polynomial", "decay_updates": None},
        pytest.param({"patience": 3}, marks=pytest.mark.long),
        pytest.param({"max_tokens": 300}, marks=pytest.mark.long),
    ],
)
def test_runs_that_differ_in_more_than_their_length_share_nothing(
    lengths: Any, toy_task: Path, tmp_path: Path, changed: dict[str, Any]
) -> None:
    train(lengths(6, 2), toy_task, tmp_path / "a")
    decay = changed.pop("decay_updates", 3)
    other = train(lengths(11, decay, **changed), toy_task, tmp_path / "b")
    assert attempts(other) == [0]


def test_a_state_that_is_damaged_gone_or_of_another_device_is_left_alone(
    lengths: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = result(train(lengths(11, 3), toy_task, tmp_path / "alone" / "b"))
    train(lengths(6, 2), toy_task, tmp_path / "all" / "a")
    kept = tmp_path / "kept"
    shutil.copytree(only_trunk(tmp_path / "all"), kept)

    def again() -> list[int]:
        shutil.rmtree(tmp_path / "all" / "b", ignore_errors=True)
        paths = train(lengths(11, 3), toy_task, tmp_path / "all" / "b")
        assert result(paths) == alone
        shutil.rmtree(only_trunk(tmp_path / "all"))
        shutil.copytree(kept, tmp_path / "all" / kept_name)
        return attempts(paths)

    kept_name = only_trunk(tmp_path / "all").name
    assert again() == [0, 4]
    model = tmp_path / "all" / kept_name / "update-00000004" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-1])
    assert again() == [0]
    (tmp_path / "all" / kept_name / "metrics.jsonl").unlink()
    assert again() == [0]
    shutil.rmtree(tmp_path / "all" / kept_name)
    (tmp_path / "all" / kept_name).mkdir()
    assert again() == [0]
    monkeypatch.setattr("mdnmt.train.conditions.training_code", lambda builder: "of another version")
    assert again() == [0]


def test_a_method_whose_losses_know_the_length_of_the_run_shares_nothing(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    for name, updates in (("a", 6), ("b", 11)):
        spec = make_spec("latent_depth", **RECIPE, max_updates=updates, decay_updates=2)
        assert attempts(train(spec, toy_task, tmp_path / name)) == [0]
    assert not list(tmp_path.glob("trunk-*"))


def test_a_copy_that_cannot_be_written_does_not_end_the_run(
    lengths: Any, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = result(train(lengths(6, 2), toy_task, tmp_path / "alone" / "a"))
    name = only_trunk(tmp_path / "alone").name
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / name).write_text("a file in place of the folder")
    paths = train(lengths(6, 2), toy_task, tmp_path / "all" / "a")
    assert result(paths) == alone and f"{name}: not saved for longer runs" in capsys.readouterr().err


def test_a_run_that_left_out_batches_shares_nothing(
    lengths: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def progress(checkpoint: Any) -> Any:
        return replace(progress_in(checkpoint), skipped=[{"update": 1, "epoch": 0, "positions": [1]}])

    monkeypatch.setattr("mdnmt.train.trunk.progress_in", progress)
    train(lengths(6, 2), toy_task, tmp_path / "a")
    assert not list(tmp_path.glob("trunk-*"))
