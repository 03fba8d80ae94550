"""Every job has a GPU to itself: real processes, real locks, and an nvidia-smi made for the test."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdnmt import gpu
from mdnmt.errors import ConfigError, Interrupted

SMI = """#!/bin/sh
case "$1" in
  --query-gpu=*) printf 'GPU-aaa, 0, Fake 80GB\\nGPU-bbb, 1, Fake 80GB\\n' ;;
  -i) grep "^$2" "$FAKE_APPS" | cut -d, -f2 ;;
  *) cat "$FAKE_APPS" ;;
esac
"""
# Takes cards, says which, and lives until its standard input ends.
JOB = """
import os, sys
from mdnmt import gpu
cards = gpu.acquire({count})
print(*(card.token for card in cards), os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a machine of two GPUs; return the file that lists what computes on them."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(SMI)
    program.chmod(0o755)
    (tmp_path / "apps").write_text("")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_APPS", str(tmp_path / "apps"))
    monkeypatch.setenv("MDNMT_LOCKS", str(tmp_path / "locks"))
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "MDNMT_GPU_HELD"):
        monkeypatch.setenv(name, "")  # so that what the code sets is taken back at the end
        monkeypatch.delenv(name)
    yield tmp_path / "apps"
    for file in gpu._lock_descriptors:
        os.close(file)
    gpu._lock_descriptors.clear()


def job(count: int = 1) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", JOB.format(count=count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def line(process: subprocess.Popen[str], stream: str = "stdout") -> str:
    return str(getattr(process, stream).readline()).strip()


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.communicate()


@pytest.mark.slow
def test_jobs_started_together_have_cards_of_their_own_and_a_third_waits() -> None:
    first, second = job(), job()
    taken = {line(first), line(second)}
    assert taken == {"GPU-aaa GPU-aaa", "GPU-bbb GPU-bbb"}
    third = job()
    said = line(third, "stderr")
    assert said.startswith("mdnmt: waiting for a GPU; in use: GPU 0 (Fake 80GB) by process ")
    assert str(first.pid) in said and str(second.pid) in said
    assert not select.select([third.stdout], [], [], 0)[0]
    first.send_signal(signal.SIGKILL)  # a kill frees it at once
    assert f"{line(third)}" in taken
    end(first, second, third)


@pytest.mark.slow
def test_a_job_of_two_cards_takes_both_or_waits_and_holds_none() -> None:
    one = job()
    assert line(one) == "GPU-aaa GPU-aaa"
    both = job(2)
    assert "waiting for a GPU" in line(both, "stderr")
    other = job()
    assert line(other) == "GPU-bbb GPU-bbb"
    end(one, other)
    assert line(both) == "GPU-aaa GPU-bbb GPU-aaa,GPU-bbb"
    end(both)


def test_a_strangers_process_is_kept_away_from_or_named(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine.write_text("GPU-aaa, 4711, /usr/bin/elsewhere\n")
    first = job()
    assert line(first) == "GPU-bbb GPU-bbb"
    [card] = gpu.acquire()
    assert card.token == "GPU-aaa" and os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-aaa"
    said = capsys.readouterr().err
    assert "GPU 0 (Fake 80GB) is in use by process 4711 (elsewhere)" in said and said.count("\n") == 1
    assert gpu.acquire() == []  # held already: a second verb of this process stays where it is
    end(first)


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        ("1", ["GPU-bbb"]),
        ("1,0", ["GPU-bbb", "GPU-aaa"]),
        ("GPU-b", ["GPU-bbb"]),
        ("MIG-1234", ["MIG-1234"]),
        ("0,7,1", ["GPU-aaa"]),
        ("-1", []),
        ("", []),
        ("NoDevFiles", []),
    ],
)
def test_what_a_scheduler_or_a_user_leaves_is_respected(
    monkeypatch: pytest.MonkeyPatch, said: str, tokens: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", said)
    assert [card.token for card in gpu.visible_cards()] == tokens
    assert [card.token for card in gpu.acquire()] == tokens[:1]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == (tokens[0] if tokens else said)


def test_without_nvidia_smi_the_numbers_of_the_scheduler_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_ask", lambda query: None)
    monkeypatch.setattr(gpu, "_installed", list)
    assert gpu.visible_cards() == [] and gpu.acquire() == [] and not gpu._lock_descriptors
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert [card.token for card in gpu.visible_cards()] == ["3", "5"]


def test_one_card_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [card.token for card in gpu.acquire(number=1)] == ["GPU-bbb"]
    assert "CUDA_VISIBLE_DEVICES" not in os.environ  # cuda:1 goes on meaning what it means
    monkeypatch.delenv("MDNMT_GPU_HELD")
    with pytest.raises(ConfigError, match="found 2 GPUs that this process may use, expected GPU 2; or choose"):
        gpu.acquire(number=2)
    with pytest.raises(ConfigError, match="found 2 GPUs that this process may use, expected 3 GPUs"):
        gpu.acquire(3)


def test_waiting_may_have_an_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    gpu.acquire(2)
    monkeypatch.delenv("MDNMT_GPU_HELD")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    looks: list[float] = []
    with pytest.raises(Interrupted, match="no GPU came free in 0 min"):
        gpu.acquire(limit_minutes=0.0, wait=looks.append)
    assert looks == []


def test_a_folder_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "theirs").symlink_to(tmp_path)
    monkeypatch.setenv("MDNMT_LOCKS", str(tmp_path / "theirs"))
    with pytest.raises(ConfigError, match="name another in MDNMT_LOCKS"):
        gpu.acquire()


def test_a_removed_lock_file_is_not_a_free_card(tmp_path: Path) -> None:
    [card] = gpu.acquire(number=0)
    inode = card.lock.stat().st_ino
    file = os.open(card.lock, os.O_RDWR)
    card.lock.unlink()
    again = gpu._lock(card.lock, fcntl.LOCK_EX)
    assert again is not None and os.fstat(again).st_ino == card.lock.stat().st_ino
    assert os.fstat(file).st_ino == inode
    os.close(file)
    os.close(again)


def test_all_processes_on_the_cards_of_a_job_are_counted(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write_text("GPU-aaa, 11, python\nGPU-bbb, 12, python\nGPU-bbb, 13, other\n")
    assert [gpu.processes_on(device) for device in ("cuda", "cuda:1", "cpu")] == [1, 2, None]
    monkeypatch.setenv("MDNMT_GPU_HELD", "GPU-aaa,GPU-bbb")
    assert gpu.processes_on("cuda") == 3
    monkeypatch.setenv("PATH", str(machine.parent / "nowhere"))
    assert gpu.processes_on("cuda") is None


def test_cards_are_counted_for_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdnmt.gpu.metadata.version", lambda name: "2.13.0")
    assert (gpu.count_visible("auto"), gpu.count_visible("cpu")) == (2, 0)
    monkeypatch.setattr("mdnmt.gpu.metadata.version", lambda name: "2.13.0+cpu")
    assert gpu.count_visible("auto") == 0
