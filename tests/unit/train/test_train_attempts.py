"""Attempts at a run: counted, limited, and brought back by SLURM."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdnmt.errors import Interrupted, LeaseError
from mdnmt.fsio import read_json
from mdnmt.train import attempts
from mdnmt.train.attempts import NoProgress, counted, minutes_to_train, requeue
from mdnmt.train.lease import RunLease


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_END_TIME", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(name, raising=False)
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def attempt(folder: Path, error: BaseException | None = None, *, is_first: bool = False, limit: int = 3) -> None:
    with counted(folder, limit=limit, is_first=is_first):
        if error is not None:
            raise error


def fail(folder: Path, times: int = 1) -> None:
    for number in range(times):
        with pytest.raises(ValueError):
            attempt(folder, ValueError(f"bad\nluck {number}"))


def test_no_progress_ends_with_the_last_error(tmp_path: Path) -> None:
    fail(tmp_path, 3)
    with pytest.raises(NoProgress) as caught:
        attempt(tmp_path)
    line = str(caught.value)
    assert "no progress beyond update 0 in 3 attempts" in line and "ended with: bad luck 2;" in line
    assert "\n" not in line and caught.value.exit_code == 2


def test_progress_starts_the_count_anew(tmp_path: Path) -> None:
    fail(tmp_path, 3)
    (tmp_path / "ckpt" / "update-00000040").mkdir(parents=True)
    fail(tmp_path)
    assert read_json(tmp_path / "attempts.json") == {
        "job": None,
        "update": 40,
        "tries": 1,
        "error": "bad luck 0",
    }


def test_a_start_by_hand_and_no_limit(tmp_path: Path) -> None:
    fail(tmp_path, 3)
    attempt(tmp_path, is_first=True)
    assert not (tmp_path / "attempts.json").exists()
    fail(tmp_path, 3)
    attempt(tmp_path, limit=0)


def test_a_job_that_is_queued_again_is_no_start_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    late = Interrupted("time limit of 0 min: saved at update 0")
    for _ in range(3):
        with pytest.raises(Interrupted):
            attempt(tmp_path, late, is_first=True)
    with pytest.raises(NoProgress, match="time limit of 0 min"):
        attempt(tmp_path, is_first=True)
    monkeypatch.setenv("SLURM_JOB_ID", "8")
    attempt(tmp_path, is_first=True)


def test_a_killed_attempt_counts_and_a_refused_one_does_not(tmp_path: Path) -> None:
    killed = counted(tmp_path, limit=3, is_first=False)
    killed.__enter__()
    assert json.loads((tmp_path / "attempts.json").read_text())["tries"] == 1
    with RunLease(tmp_path / "lease"), pytest.raises(LeaseError):
        attempt(tmp_path, LeaseError("held"))
    assert json.loads((tmp_path / "attempts.json").read_text())["tries"] == 1


def test_minutes_are_those_of_the_command_or_what_slurm_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert minutes_to_train(10.0) == pytest.approx(8.0)
    assert minutes_to_train(600.0) == pytest.approx(590.0)  # ten minutes at most
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    printed = {"1-02:03:30\n": 26 * 60 + 3.5, "2:00:00": 120.0, "5:30": 5.5, "UNLIMITED": 600.0, None: 600.0}
    for said, left in printed.items():
        assert minutes_to_train(600.0, run=lambda _, said=said: said) == pytest.approx(max(0.0, left - 10))
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(int(time.time()) + 3600))
    assert minutes_to_train(600.0, run=lambda command: None) == pytest.approx(50.0, abs=0.5)


class Slurm:
    """Takes commands, and says whether they did well."""

    def __init__(self, *failing: str) -> None:
        self.commands: list[str] = []
        self._failing = failing

    def __call__(self, command: list[str]) -> str | None:
        self.commands.append(" ".join(command))
        return None if command[1] in self._failing else ""


def test_a_task_of_a_job_array_requeues_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The last task of an array has the array's own number, and to requeue that is to requeue all of its tasks.
    for name, value in {"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}.items():
        monkeypatch.setenv(name, value)
    slurm = Slurm()
    late = Interrupted("time limit of 3 min: saved at update 5 of 9; the same command goes on from there")
    assert requeue(late, tmp_path, run=slurm) == "SLURM job 7_3 is queued again"
    minutes_to_train(600.0, run=slurm)
    assert slurm.commands == ["scontrol requeue 7_3", "squeue --noheader --jobs=7_3 --format=%L"]


def test_requeue_after_the_time_limit_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = Slurm()
    late = Interrupted("time limit of 3 min: saved at update 5 of 9; the same command goes on from there")
    assert requeue(late, tmp_path, run=slurm) is None, "at home there is nobody to ask"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    # Whoever sent the signal decides what becomes of the job: scancel does not want it back.
    assert requeue(Interrupted("SIGTERM: saved at update 5 of 9"), tmp_path, run=slurm) is None
    assert slurm.commands == []
    assert requeue(late, tmp_path, run=slurm) == "SLURM job 7 is queued again"
    assert slurm.commands == ["scontrol requeue 7"]
    assert requeue(late, tmp_path, run=Slurm("requeue")) is None


def test_requeue_behind_the_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "6")
    with RunLease(tmp_path / "lease"):
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        slurm = Slurm()
        assert requeue(LeaseError("held"), tmp_path, run=slurm) == "SLURM job 7 is queued again, Dependency=afterany:6"
        assert slurm.commands == ["scontrol requeue 7", "scontrol update JobId=7 Dependency=afterany:6"]
        # Itself, cut off from SLURM, on another node: not behind its own number.
        monkeypatch.setenv("SLURM_JOB_ID", "6")
        slurm = Slurm()
        assert requeue(LeaseError("held"), tmp_path, run=slurm) is not None
        assert slurm.commands[1] == f"scontrol update JobId=6 StartTime=now+{attempts.WAIT_MINUTES}minutes"


def test_a_command_that_is_not_there_or_fails() -> None:
    assert attempts.call(["no-such-command-of-slurm"]) is None
    assert attempts.call(["false"]) is None
    assert attempts.call(["echo", "yes"]) == "yes\n"
