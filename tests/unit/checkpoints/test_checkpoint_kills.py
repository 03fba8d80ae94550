"""A save cut short at any point leaves a whole checkpoint; so does a full disk."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.errors import CheckpointError

# The steps at which something changes on the disk.
STEPS = ("open", "fsync", "replace", "mkdir", "rmdir", "unlink")
Action = Callable[[CheckpointStore], object]


def save(store: CheckpointStore, update: int, mark: int) -> None:
    store.save(update, {"w": torch.full((8,), float(mark))}, {"m": torch.full((8,), mark)}, {}, {"mark": mark})


def assert_whole(store: CheckpointStore, update: int, marks: set[int]) -> None:
    found = store.load(update)
    assert found.state["mark"] in marks
    assert found.weights["w"].eq(found.state["mark"]).all()
    assert found.optimizer["m"].eq(found.state["mark"]).all()


def on_every_step(patch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Call `act` before every call of one of `STEPS` in `os`."""
    for name in STEPS:
        original = getattr(os, name)

        def stepped(*args: object, _original: Callable[..., object] = original, **kwargs: object) -> object:
            act()
            return _original(*args, **kwargs)

        patch.setattr(os, name, stepped)


def die_at(step: int, action: Action, store: CheckpointStore) -> bool:
    """Run `action` in a child that ends without any clean-up at its n-th step; say whether it got there."""
    child = os.fork()
    if child == 0:
        count = 0

        def act() -> None:
            nonlocal count
            count += 1
            if count == step:
                os._exit(9)

        try:
            with pytest.MonkeyPatch.context() as patch:
                on_every_step(patch, act)
                action(store)
            os._exit(0)
        except BaseException:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, 9}, "the save itself failed"
    return status == 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "marks_200"),
    [
        (lambda store: save(store, 300, 30), {20}),  # a new one
        pytest.param(lambda store: save(store, 200, 21), {20, 21}, marks=pytest.mark.slow),  # one replaced
        pytest.param(lambda store: (save(store, 300, 30), store.prune({200, 300})), {20}, marks=pytest.mark.slow),
    ],
    ids=["new", "again", "prune"],
)
def test_death_at_every_step_leaves_a_whole_checkpoint(tmp_path: Path, action: Action, marks_200: set[int]) -> None:
    step = 1
    while True:
        folder = tmp_path / str(step)
        store = CheckpointStore(folder, "run1")
        save(store, 100, 10)
        save(store, 200, 20)
        died = die_at(step, action, store)
        after = CheckpointStore(folder, "run1")
        latest = after.load_latest()
        assert latest is not None and latest.update >= 200
        assert_whole(after, 200, marks_200)
        assert all(after.load(update) for update in after.updates())  # what is there is whole
        # Life goes on: the next save sweeps, and nothing hidden is left.
        save(after, 400, 40)
        assert_whole(after, 200, marks_200)
        assert_whole(after, 400, {40})
        assert all(path.name.startswith("update-") and "." not in path.name for path in folder.iterdir())
        if not died:
            break
        step += 1
    assert step > 20  # every file and rename has been a step


def test_a_full_disk_at_every_step_keeps_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = CheckpointStore(tmp_path / "ckpt", "run1")
    save(store, 100, 10)
    failures = 0
    for failing in range(1, 100):
        count = 0

        def act() -> None:
            nonlocal count
            count += 1
            if count == failing:  # noqa: B023 - used within this turn of the loop only
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            on_every_step(patch, act)
            try:
                save(store, 100, 10 + failing)
            except CheckpointError as error:
                failures += 1
                assert "No space left on device" in str(error) and "untouched" in str(error)
        again = CheckpointStore(tmp_path / "ckpt", "run1")
        latest = again.load_latest()
        assert latest is not None and latest.state["mark"] >= 10
        if count < failing:
            break
    assert failures > 20
    save(store, 200, 20)
    assert_whole(store, 200, {20})
    assert sorted(path.name for path in store.directory.iterdir()) == ["update-00000100", "update-00000200"]


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ckpt").write_text("a file where the directory should be")
    with pytest.raises(CheckpointError, match="cannot save the checkpoint") as caught:
        save(CheckpointStore(tmp_path / "ckpt", "run1"), 1, 1)
    assert "\n" not in str(caught.value)


def test_a_folder_of_another_user_is_named_with_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(CheckpointError, match=rf"Permission denied \({tmp_path} belongs to \S+\); those before it"):
        save(CheckpointStore(tmp_path / "ckpt", "run1"), 1, 1)


def _saves_for_ever(folder: Path, report: Connection) -> None:
    store = CheckpointStore(folder, "run1")
    latest = store.load_latest()
    update = latest.update if latest else 0
    with pytest.MonkeyPatch.context() as patch:
        on_every_step(patch, lambda: report.send_bytes(b"."))
        while True:
            update += 1
            save(store, update, update)
            store.prune({update, update - 1})
            save(store, update, update)  # replacing is part of life, too
            report.send_bytes(update.to_bytes(4, "big"))


@pytest.mark.slow
def test_kill_minus_nine_ten_times_never_costs_the_latest(tmp_path: Path) -> None:
    folder = tmp_path / "ckpt"
    chance = random.Random(5)
    context = multiprocessing.get_context("fork")
    saved = 0
    for _ in range(10):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_saves_for_ever, args=(folder, sender))
        process.start()
        sender.close()
        # Killed while it goes on, some steps after a step seen: in the middle of a file, a sync, a rename.
        for _ in range(chance.randrange(60, 400)):
            message = receiver.recv_bytes()
            if len(message) == 4:
                saved = int.from_bytes(message, "big")
        process.kill()
        process.join()
        try:
            while True:
                message = receiver.recv_bytes()
                if len(message) == 4:
                    saved = int.from_bytes(message, "big")
        except EOFError:
            receiver.close()
        store = CheckpointStore(folder, "run1")
        latest = store.load_latest()
        assert latest is not None and latest.update >= saved
        for update in store.updates():
            assert_whole(store, update, {update})
    assert saved >= 10
