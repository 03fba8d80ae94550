"""Memory limits of the machine and free space of its disks."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import mdnmt
from mdnmt.cli import main
from mdnmt.errors import EXIT_USER, ConfigError
from mdnmt.machine import (
    Memory,
    TooLarge,
    free_bytes,
    host_memory,
    in_gb,
    name_full_disks,
    require_own_package,
    require_plain_path,
    require_room_for_logs,
    require_space,
    require_writable,
)

HOST = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def machine(root: Path, groups: str, limits: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, text in limits.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/user/job\n", {"user/job/memory.max": "max\n", "user/memory.max": "3000\n"}, 3000),
        ("0::/user/job\n", {"user/job/memory.max": "2000\n", "user/memory.max": "3000\n"}, 2000),
        ("0::/\n", {"memory.max": "5000\n"}, 5000),
        ("4:memory:/slurm/job_7\n1:cpu:/\n", {"memory/slurm/job_7/memory.limit_in_bytes": "4000\n"}, 4000),
        ("4:memory:/inside\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, HOST),
        ("0::/job\n", {"job/memory.max": "max\n"}, HOST),
        ("", {}, HOST),
    ],
)
def test_the_smallest_limit_counts(tmp_path: Path, groups: str, limits: dict[str, str], expected: int) -> None:
    found = host_memory(machine(tmp_path, groups, limits))
    assert found.size_bytes == expected
    assert ("cgroup" in found.owner) == (expected < HOST)


def test_without_control_groups_the_host_counts(tmp_path: Path) -> None:
    assert host_memory(tmp_path) == Memory(HOST, "this machine")


def test_too_little_space_names_need_and_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or SimpleNamespace(free=2 * 10**9))
    folder = tmp_path / "not" / "yet"
    assert free_bytes(folder) == 2 * 10**9 and asked == [tmp_path]
    require_space(folder, 2 * 10**9, "the data")
    with pytest.raises(TooLarge, match=r"yet: the data needs at least 10\.0 GB, 2\.0 GB are free there") as caught:
        require_space(folder, 10**10, "the data")
    assert caught.value.exit_code == EXIT_USER and "\n" not in str(caught.value)
    assert in_gb(12_340_000) == "12.3 MB"


def test_a_folder_that_cannot_be_written_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_writable(tmp_path / "results" / "not" / "yet")
    assert not (tmp_path / "results").exists()
    # Root may write everywhere, so the system's answer is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(ConfigError, match=r"results: cannot be written.*; nothing was started: make it writable"):
        require_writable(tmp_path / "results")


@pytest.fixture
def full_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with room, whose `logs` are on a full disk."""
    free = {tmp_path: 2 << 20, tmp_path / "logs": 4096}
    for folder in free:
        folder.mkdir(exist_ok=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))
    return tmp_path


def test_a_full_disk_under_snakemakes_folders_ends_it_with_one_line(
    full_logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_room_for_logs(full_logs / ".snakemake")
    with pytest.raises(SystemExit) as caught:
        require_room_for_logs(full_logs / ".snakemake", full_logs / "logs")
    [line] = capsys.readouterr().err.splitlines()
    assert caught.value.code == EXIT_USER
    assert line.startswith(f"snakemake: {full_logs}/logs: 0.0 MB are free there; nothing was started: make room")


def test_after_a_failure_each_full_disk_is_a_line(full_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name_full_disks(full_logs, full_logs / "logs")
    [line] = capsys.readouterr().err.splitlines()
    assert line == f"snakemake: {full_logs}/logs: 0.0 MB are free there: make room, then start again"


def test_the_package_of_another_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_own_package(Path(mdnmt.__file__).parents[2])
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "none"]) == 2
    assert "the package that runs" not in capsys.readouterr().err  # a workspace has no src/mdnmt
    (tmp_path / "src" / "mdnmt").mkdir(parents=True)
    (tmp_path / "src" / "mdnmt" / "__init__.py").touch()
    assert main(["plan", "none"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    for folder in (Path(mdnmt.__file__).parent, tmp_path / "src" / "mdnmt"):
        assert str(folder) in line
    monkeypatch.setenv("MDNMT_OTHER_PACKAGE", "1")
    assert main(["plan", "none"]) == 2
    assert "the package that runs" not in capsys.readouterr().err


def test_a_brace_in_the_path_is_refused(tmp_path: Path) -> None:
    require_plain_path(tmp_path / "a b'c$(x)(y)")
    for name in ("{n}", "a{0}", "b}"):
        with pytest.raises(ConfigError, match=r"a brace in the project's path; Snakemake takes braces for wildcards"):
            require_plain_path(tmp_path / name / "inside")
