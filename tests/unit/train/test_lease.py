"""One trainer a run directory, on one host and on several."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import signal
import socket
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from mdnmt.errors import LeaseError
from mdnmt.train.lease import Holder, RunLease, lease_is_live, read_holder

FORK = multiprocessing.get_context("fork")


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def left_by(path: Path, **changes: Any) -> None:
    holder = {
        "host": "far-away",
        "pid": 77,
        "job": "4711",
        "started": 999_000.0,
        "heartbeat": 1_000_000.0,
        "token": "t",
    }
    path.write_text(json.dumps(holder | changes))


def _hold(path: Path, report: Connection) -> None:
    with RunLease(path):
        report.send("held")
        signal.pause()


def test_the_file_names_its_holder_and_is_gone_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    path = tmp_path / "run" / "lease"
    with RunLease(path, clock=Clock()) as lease:
        holder = read_holder(path)
        assert holder is not None
        assert (holder.host, holder.pid, holder.job) == (socket.gethostname(), os.getpid(), "4711")
        assert holder.started == holder.heartbeat == 1_000_000.0
        lease.check()
    assert not path.exists()
    with RunLease(path):  # and free again
        assert path.exists()


def test_it_is_given_back_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), RunLease(tmp_path / "lease"):
        raise RuntimeError
    assert not (tmp_path / "lease").exists()


def test_a_second_holder_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    with RunLease(path):
        content = path.read_bytes()
        with pytest.raises(LeaseError) as caught, RunLease(path):
            pytest.fail("two held it")
        text = str(caught.value)
        assert f"host {socket.gethostname()}, process {os.getpid()}" in text and "since" in text and "\n" not in text
        assert path.read_bytes() == content
        assert caught.value.exit_code == 75


def test_a_holder_killed_on_this_host_is_followed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_hold, args=(path, sender))
    process.start()
    assert receiver.recv() == "held"
    described = lease_is_live(path)
    assert described is not None and f"process {process.pid}" in described
    with pytest.raises(LeaseError, match=f"process {process.pid}"), RunLease(path):
        pytest.fail("two held it")
    process.kill()
    process.join()
    assert path.exists()  # nobody was left to remove it
    assert lease_is_live(path) is None
    with RunLease(path):
        holder = read_holder(path)
        assert holder is not None and holder.pid == os.getpid()


@pytest.mark.parametrize(("age", "lives"), [(0, True), (119, True), (121, False), (-3600, True)])
def test_another_host_is_believed_as_long_as_its_heart_beats(tmp_path: Path, age: float, lives: bool) -> None:
    path = tmp_path / "lease"
    clock = Clock()
    left_by(path, heartbeat=clock.now - age)
    described = lease_is_live(path, clock=clock)
    assert (described is not None) == lives
    if lives:
        with pytest.raises(LeaseError, match="host far-away, process 77, SLURM job 4711") as caught:
            RunLease(path, clock=clock).__enter__()
        assert ("in the future: a clock is wrong" in str(caught.value)) == (age < 0)
        assert json.loads(path.read_text())["host"] == "far-away"
    else:
        with RunLease(path, clock=clock):
            holder = read_holder(path)
            assert holder is not None and holder.host == socket.gethostname()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": "x"}', "\0" * 512])
def test_a_file_that_names_nobody_holds_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lease"
    path.write_text(content)
    assert lease_is_live(path) is None
    with RunLease(path):
        assert lease_is_live(path) is not None


def test_asking_takes_nothing_and_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    assert lease_is_live(path) is None
    assert not path.exists()
    left_by(path, host=socket.gethostname(), heartbeat=1.0)
    content = path.read_bytes()
    assert lease_is_live(path) is None
    assert path.read_bytes() == content


def _ask_for_ever(path: Path, report: Connection) -> None:
    report.send("asking")
    while True:
        lease_is_live(path)


def test_asking_again_and_again_never_keeps_a_trainer_out(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    path.touch()
    receiver, sender = FORK.Pipe(duplex=False)
    asker = FORK.Process(target=_ask_for_ever, args=(path, sender))
    asker.start()
    assert receiver.recv() == "asking"
    try:
        for _ in range(50):
            with RunLease(path):
                path.read_bytes()
    finally:
        asker.kill()
        asker.join()


def test_the_heart_beats(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    clock = Clock()
    with RunLease(path, heartbeat_seconds=0.01, clock=clock):
        clock.now += 60
        seen: Holder | None = None
        while seen is None or seen.heartbeat < clock.now:  # every reading is whole, whenever it is made
            seen = read_holder(path)
            assert seen is not None
        assert seen.started == clock.now - 60


def test_a_lease_taken_away_is_noticed_and_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    with RunLease(path, heartbeat_seconds=0.01) as lease:
        left_by(path)
        with pytest.raises(LeaseError, match="lost the run directory, held now by host far-away"):
            lease.check()
    assert json.loads(path.read_text())["host"] == "far-away"
    path.unlink()
    with RunLease(path) as lease:
        path.unlink()
        with pytest.raises(LeaseError, match="the file was removed"):
            lease.check()


def test_a_file_removed_between_opening_and_locking_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lease"
    original = fcntl.flock
    calls = 0

    def remove_first(file: int, operation: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            path.unlink()  # the holder before leaves just now
        original(file, operation)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with RunLease(path) as lease:
        lease.check()  # it stands under the name, where others look
        with pytest.raises(LeaseError), RunLease(path):
            pytest.fail("two held it")


def test_the_file_is_removed_while_it_is_still_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lease"
    original = Path.unlink
    seen: list[str | None] = []

    def look_first(self: Path, missing_ok: bool = False) -> None:
        seen.append(lease_is_live(path))
        original(self, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", look_first)
    with RunLease(path):
        pass
    assert len(seen) == 1 and seen[0] is not None  # unlocked first, another could take it and lose its file


def test_a_file_system_without_locks_leaves_it_to_heart_and_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    path = tmp_path / "lease"
    with RunLease(path):
        assert lease_is_live(path) is not None
        with pytest.raises(LeaseError, match=f"process {os.getpid()}"), RunLease(path):
            pytest.fail("two held it")
    process = FORK.Process(target=os.getpid)
    process.start()
    process.join()
    left_by(path, host=socket.gethostname(), pid=process.pid)
    clock = Clock()
    assert lease_is_live(path, clock=clock) is None  # its heart beat just now, but no such process is left
    with RunLease(path, clock=clock):
        pass


def _contend(path: Path, inside: Path, turns: int, report: Connection) -> None:
    entered = 0
    for _ in range(turns):
        try:
            with RunLease(path):
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # fails if another is inside
                entered += 1
                inside.unlink()
        except LeaseError:
            continue
        except FileExistsError:
            report.send("two were inside")
            return
    report.send(entered)


def test_taking_and_removing_never_lets_two_in(tmp_path: Path) -> None:
    pipes = []
    for _ in range(4):
        receiver, sender = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_contend, args=(tmp_path / "lease", tmp_path / "inside", 60, sender))
        process.start()
        pipes.append((process, receiver))
    entered = [receiver.recv() for _, receiver in pipes]
    for process, _ in pipes:
        process.join()
    assert all(isinstance(count, int) for count in entered), entered
    assert sum(entered) > 0
    assert not (tmp_path / "lease").exists()
