"""The checkpoint store: what goes in comes out, and what is damaged is refused by kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint
from mdnmt.checkpoints.random_state import capture
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.checkpoints.weights import save_model
from mdnmt.errors import CheckpointError

FILES = ("generators.safetensors", "manifest.json", "model.safetensors", "optimizer.safetensors", "state.json")


def store_with(folder: Path, *updates: int, identity: str = "run1") -> CheckpointStore:
    store = CheckpointStore(folder / "ckpt", identity)
    for update in updates:
        weights = {"w": torch.full((4, 3), float(update)), "n": torch.tensor(update)}
        store.save(update, weights, {"exp_avg.w": torch.full((4, 3), update / 3)}, capture(), state_of(update))
    return store


def state_of(update: int) -> dict[str, object]:
    return {"update": update, "best_loss": 0.1 + update, "best_update": None, "name": "é", "history": [1.5, 2]}


def refusal(store: CheckpointStore, update: int) -> InvalidCheckpoint:
    with pytest.raises(InvalidCheckpoint) as caught:
        store.load(update)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_checkpoint_comes_back_whole(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100, 400)
    assert store.updates() == [100, 400]
    folder = store.path(400)
    assert folder.name == "update-00000400"
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    loaded = store.load_latest()
    assert loaded is not None
    assert loaded.update == 400
    assert torch.equal(loaded.weights["w"], torch.full((4, 3), 400.0))
    assert torch.equal(loaded.optimizer["exp_avg.w"], torch.full((4, 3), 400 / 3))
    assert loaded.state == state_of(400)
    assert torch.equal(loaded.generators["torch.cpu"], capture()["torch.cpu"])
    assert torch.equal(store.load_weights(100)["w"], torch.full((4, 3), 100.0))


def test_no_checkpoint_is_none_and_makes_no_directory(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "ckpt", "run1")
    assert store.load_latest() is None
    assert store.updates() == []
    assert not store.directory.exists()
    assert refusal(store, 3).kind == "missing file"


def test_saving_an_update_again_replaces_it(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100)
    store.save(100, {"w": torch.zeros(1)}, {}, {}, {"second": True})
    assert store.load(100).state == {"second": True}
    assert [path.name for path in store.directory.iterdir()] == ["update-00000100"]


def test_every_truncation_is_refused_and_the_one_before_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = store_with(tmp_path, 100, 200)
    for name in FILES:
        path = store.path(200) / name
        whole = path.read_bytes()
        for length in range(0, len(whole), 97):
            path.write_bytes(whole[:length])
            assert refusal(store, 200).kind == ("unreadable" if name == "manifest.json" else "truncated")
        latest = CheckpointStore(store.directory, "run1").load_latest()
        assert latest is not None and latest.update == 100
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and str(path) in said and "taking update 100 instead" in said
        path.write_bytes(whole)
    assert store.load(200).update == 200


@pytest.mark.slow
def test_every_flipped_bit_is_refused(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100)
    for name in FILES:
        path = store.path(100) / name
        whole = path.read_bytes()
        step = 1 if name in {"manifest.json", "state.json"} else 61
        for position in range(0, len(whole), step):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << (position // step) % 8
            path.write_bytes(damaged)
            kind = refusal(store, 100).kind
            assert kind in ({"altered", "unreadable"} if name == "manifest.json" else {"altered"}), (name, position)
        path.write_bytes(whole)


def test_a_lengthened_file_is_refused(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100)
    with (store.path(100) / "optimizer.safetensors").open("ab") as handle:
        handle.write(b"\0")
    assert refusal(store, 100).kind == "altered"


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    store = store_with(tmp_path, 100)
    (store.path(100) / name).unlink()
    refused = refusal(store, 100)
    assert refused.kind == ("no manifest" if name == "manifest.json" else "missing file")
    assert str(store.path(100)) in str(refused)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100)
    path = store.path(100) / "model.safetensors"
    path.unlink()
    path.mkdir()
    assert refusal(store, 100).kind == "unreadable"


def test_another_run_is_refused(tmp_path: Path) -> None:
    store_with(tmp_path, 100, identity="run1")
    other = CheckpointStore(tmp_path / "ckpt", "run2")
    assert refusal(other, 100).kind == "other identity"
    with pytest.raises(CheckpointError, match="belongs to run run1, this is run run2"):
        other.load_latest()


def test_a_checkpoint_under_another_number_is_refused(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100)
    shutil.copytree(store.path(100), store.path(900))
    assert refusal(store, 900).kind == "altered"
    latest = store.load_latest()
    assert latest is not None and latest.update == 100


def test_another_format_is_refused(tmp_path: Path) -> None:
    from mdnmt.checkpoints.manifest import _digest

    store = store_with(tmp_path, 100)
    path = store.path(100) / "manifest.json"
    value = json.loads(path.read_text()) | {"format_version": 2}
    del value["sha256"]
    path.write_text(json.dumps(value | {"sha256": _digest(value)}))
    assert "format version 2, this program reads 1" in str(refusal(store, 100))


def test_when_all_are_damaged_nothing_starts_anew(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100, 200)
    for update in (100, 200):
        (store.path(update) / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match="none of 2 checkpoints is whole"):
        store.load_latest()


def test_a_refused_checkpoint_is_set_aside_by_the_next_save(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100, 200)
    (store.path(200) / "model.safetensors").write_bytes(b"")
    assert store.load_latest() is not None
    assert store.updates() == [100, 200]  # loading changes nothing on the disk
    store.save(150, {}, {}, {}, {})
    assert store.updates() == [100, 150]  # so that retention counts whole ones only
    assert (store.directory / "refused-update-00000200").is_dir()


def test_leftovers_are_ignored_and_swept(tmp_path: Path) -> None:
    store = store_with(tmp_path, 100)
    shutil.copytree(store.path(100), store.directory / ".update-00000300.4242.tmp")
    shutil.copytree(store.path(100), store.directory / ".update-00000050.4242.removed")
    (store.directory / "notes.txt").write_text("a person's own")
    assert store.updates() == [100]
    store.save(200, {}, {}, {}, {})
    assert sorted(path.name for path in store.directory.iterdir()) == [
        "notes.txt",
        "update-00000100",
        "update-00000200",
    ]


def test_pruning_keeps_what_it_is_told(tmp_path: Path) -> None:
    store = store_with(tmp_path, 1, 2, 3, 4)
    store.prune({1, 3, 4, 77})
    assert store.updates() == [1, 3, 4]
    store.prune(store.updates()[-1:])
    assert store.updates() == [4]
    assert len(list(store.directory.iterdir())) == 1


def test_what_is_kept_for_the_average_is_weights_and_no_run_resumes_from_it(tmp_path: Path) -> None:
    store = store_with(tmp_path, 1, 2, 3, 4)
    before = {update: store.load_weights(update) for update in (1, 2)}
    store.prune({3, 4}, weights_of={1, 2, 4, 77})
    assert (store.updates(), store.weights_updates()) == ([3, 4], [1, 2])
    assert {path.name for path in store.weights_path(1).iterdir()} == {"model.safetensors", "manifest.json"}
    for update, weights in before.items():
        assert all(torch.equal(store.load_weights(update)[name], weights[name]) for name in weights)
        with pytest.raises(InvalidCheckpoint, match="no such checkpoint"):
            store.load(update)
    for update in (3, 4):
        (store.path(update) / "state.json").unlink()
    with pytest.raises(CheckpointError, match="none of 2 checkpoints is whole"):
        store.load_latest()
    store.prune((), weights_of={1})
    assert (store.updates(), store.weights_updates()) == ([], [1])
    with pytest.raises(CheckpointError, match="only weights for the average"):
        store.load_latest()


def test_an_update_saved_again_replaces_the_weights_kept_of_it(tmp_path: Path) -> None:
    store = store_with(tmp_path, 1, 2)
    store.prune({2}, weights_of={1})
    old = store.load_weights(1)
    changed = {name: value + 1 for name, value in old.items()}
    store.save(1, changed, {}, {}, {})
    store.prune({2}, weights_of={1})
    assert store.weights_updates() == [1]
    assert all(torch.equal(store.load_weights(1)[name], changed[name]) for name in old)


def test_a_kill_while_weights_are_set_apart_loses_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with(tmp_path, 1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: 1 / 0)  # right behind the renaming
        with pytest.raises(ZeroDivisionError):
            store.prune({2}, weights_of={1})
    assert store.load_weights(1)
    store.prune({2}, weights_of={1})
    assert {path.name for path in store.weights_path(1).iterdir()} == {"model.safetensors", "manifest.json"}


def test_a_finished_run_keeps_its_newest_checkpoint_and_its_results(tmp_path: Path) -> None:
    store, model = store_with(tmp_path, 1, 2, 3), tmp_path / "model.safetensors"
    model.write_bytes(b"weights")
    store.prune({2, 3}, weights_of={1})
    store.finish([model])
    model.unlink()
    assert store.result(model).read_bytes() == b"weights"
    assert (store.updates(), store.weights_updates()) == ([3], [])


def test_weights_of_another_run_in_place_of_a_kept_result_are_refused(tmp_path: Path) -> None:
    store, model = store_with(tmp_path, 1, identity="run1"), tmp_path / "model.safetensors"
    save_model(model, {"w": torch.ones(2)}, {"run": "run1"})
    store.finish([model])
    assert store.load_result(model)["w"].tolist() == [1.0, 1.0]
    save_model(store.result(model), {"w": torch.ones(2)}, {"run": "run2"})
    with pytest.raises(CheckpointError, match="are not the weights that this run ended with"):
        store.load_result(model)


@pytest.mark.parametrize("state", [{"a": (1, 2)}, {1: "a"}, {"loss": float("nan")}])
def test_a_state_that_json_would_change_is_a_bug_of_the_caller(tmp_path: Path, state: dict[str, object]) -> None:
    store = store_with(tmp_path)
    with pytest.raises(ValueError, match=r"JSON"):
        store.save(1, {}, {}, {}, state)
    assert store.updates() == []
