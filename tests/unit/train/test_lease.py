"""One trainer a run directory, on one host and on several."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from mdnmt.errors import LeaseError
from mdnmt.train.lease import Holder, RunLease, Watch, lease_is_live, read_holder

FORK = multiprocessing.get_context("fork")


class Clock:
    """A monotonic clock that passes only while somebody waits; `meanwhile` is called at each wait."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.now, self._meanwhile = 5.0, meanwhile

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self._meanwhile()

    def watch(self) -> Watch:
        return Watch(clock=self, pause=self.pause)


def left_by(path: Path, **changes: Any) -> None:
    holder = {
        "host": "far-away",
        "pid": 77,
        "job": "4711",
        "started": 999_000.0,
        "heartbeat": 7,
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
    with RunLease(path) as lease:
        holder = read_holder(path)
        assert holder is not None
        assert (holder.host, holder.pid, holder.job) == (socket.gethostname(), os.getpid(), "4711")
        assert holder.heartbeat == 1
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


@pytest.mark.parametrize("started", [0.0, 9e9], ids=["1970", "2255"])
def test_another_host_holds_a_run_while_its_heart_is_seen_to_beat(
    tmp_path: Path, started: float, capsys: pytest.CaptureFixture[str]
) -> None:
    path, beats = tmp_path / "lease", count()
    left_by(path, started=started)

    def beat_after_nine_seconds() -> None:
        if (seconds := next(beats)) >= 9:
            left_by(path, started=started, heartbeat=seconds)

    clock = Clock(beat_after_nine_seconds)
    with pytest.raises(LeaseError, match="held by host far-away, process 77, SLURM job 4711, since"):
        RunLease(path, watch=clock.watch()).__enter__()
    assert clock.now - 5.0 <= 11  # refused at the first beat, not after the time limit
    assert json.loads(path.read_text())["host"] == "far-away"
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"mdnmt: {path}: held by host far-away") and "watching it for up to 120 s" in line


def test_another_holder_has_a_beat_of_its_own_to_show(tmp_path: Path) -> None:
    watch, path = Watch(clock=lambda: 0.0), tmp_path / "lease"
    one = Holder("far-away", 77, None, 0.0, heartbeat=1.0, token="one")
    other = replace(one, token="other", heartbeat=2.0)
    assert watch.look(path, one) is None
    assert watch.look(path, other) is None
    assert watch.look(path, replace(other, heartbeat=3.0)) is True


@pytest.mark.parametrize("started", [0.0, 9e9], ids=["1970", "2255"])
def test_another_host_that_is_not_seen_to_beat_is_followed(tmp_path: Path, started: float) -> None:
    path, clock = tmp_path / "lease", Clock()
    left_by(path, started=started)
    with RunLease(path, watch=clock.watch()):
        assert 120 < clock.now - 5.0 < 123
        holder = read_holder(path)
        assert holder is not None and holder.host == socket.gethostname()


def test_a_look_alone_never_declares_another_host_dead(tmp_path: Path) -> None:
    path, clock = tmp_path / "lease", Clock()
    watch = clock.watch()
    left_by(path)
    for seconds, lives in ((0, True), (100, True), (19, True), (2, False), (60, False)):
        clock.now += seconds
        assert (lease_is_live(path, watch=watch) is not None) == lives
    left_by(path, heartbeat=8)  # it was only slow
    assert lease_is_live(path, watch=watch) is not None
    # What was watched before does not have to be watched again; another watch knows nothing.
    clock.now += 121
    assert lease_is_live(path, watch=watch, wait=True) is None
    before = clock.now
    assert lease_is_live(path, watch=clock.watch(), wait=True) is None and clock.now - before > 120


def test_another_holder_under_the_same_name_is_watched_from_the_start(tmp_path: Path) -> None:
    path, clock = tmp_path / "lease", Clock()
    watch = clock.watch()
    left_by(path)
    lease_is_live(path, watch=watch)
    clock.now += 119
    left_by(path, token="another")
    assert lease_is_live(path, watch=watch) is not None
    clock.now += 119
    assert lease_is_live(path, watch=watch) is not None
    clock.now += 2
    assert lease_is_live(path, watch=watch) is None


def test_a_file_that_names_nobody_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    for content in ("", "{", "[]", '{"host": "x"}', "\0" * 512):
        path.write_text(content)
        assert lease_is_live(path) is None
        with RunLease(path):
            assert lease_is_live(path) is not None


def test_asking_takes_nothing_and_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lease"
    assert lease_is_live(path) is None
    assert not path.exists()
    left_by(path, host=socket.gethostname())
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
    with RunLease(path, heartbeat_seconds=0.001):
        seen: Holder | None = None
        while seen is None or seen.heartbeat < 4:  # every reading is whole, whenever it is made
            seen = read_holder(path)
            assert seen is not None


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


@pytest.mark.slow  # it waits for real heartbeats
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
    assert lease_is_live(path) is None  # no such process is left
    clock = Clock()
    with RunLease(path, watch=clock.watch()):
        assert clock.now == 5.0


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


@pytest.mark.slow
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
