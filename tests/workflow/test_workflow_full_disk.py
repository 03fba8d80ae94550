"""A disk that fills up while a study is at work: one line, every file as it was, and the next start continues."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faults.faulty import small_disk
from workflow.snakemake_project import Project

from mdnmt.cli import main
from mdnmt.errors import EXIT_USER
from mdnmt.fsio import ADDRESS, MADE_FROM, MADE_WITH, SEAL

pytestmark = pytest.mark.slow

VOLATILE = {"provenance", "made", SEAL, ADDRESS, MADE_FROM, MADE_WITH}  # when and from what
# Tested elsewhere (tests of corpora, tests/faults/test_faults_disk.py), or other numbers each time.
LEFT_OUT = {"fetch", "train", "measure"}
FILL = """
import os, pathlib
if b"train" in pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\\0") and not os.path.exists("filled"):
    pathlib.Path("filled").touch()
    file = os.open("logs/filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(file, bytes(4096)):
            pass
    except OSError:
        pass
"""


def contents(results: Path) -> dict[str, Any]:
    """Return every file of the results, without what depends on when it was written."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        name = path.relative_to(results).as_posix()
        if path.name.startswith(".") or path.suffix in {".html", ".pdf", ".png"}:
            continue
        found[name] = path.read_bytes()
        if path.suffix == ".json" and isinstance(value := json.loads(found[name]), dict):
            found[name] = {key: part for key, part in value.items() if key not in VOLATILE}
    return found


def test_results_that_fill_up_in_any_stage_are_one_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.folder)
    # The check before the start finds room: the disk fills up afterwards.
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**12))
    commands = [words for words in project.commands() if words[0] not in LEFT_OUT]
    results = project.path("results")
    results.rename(project.path("copy"))
    failed = set()
    with small_disk(results, 32 << 10) as disk:
        shutil.copytree(project.path("copy"), results, symlinks=True, dirs_exist_ok=True)
        before = contents(results)
        # Where nothing can be mounted, files are kept from growing: also those of semaphores, which need 32 bytes.
        none = 0 if disk.mounted else 1 / 16
        for words in commands:
            for kib in (none, *(4 << number for number in range(13))):
                with disk.with_room(kib):
                    status = main(words)
                said = capsys.readouterr().err
                assert contents(results) == before, f"{words[0]} with {kib} KiB: {said}"
                if status == 0:
                    break
                failed.add(words[0])
                [line] = re.findall(rf"^mdnmt {words[0]}: .*", said, flags=re.M)
                assert status == EXIT_USER and said.endswith(f"{line}\n") and "Traceback" not in said
                assert disk.told in line and "results" in line and "make room, then start the same command" in line
            else:
                raise AssertionError(f"{words[0]} never ended: {said}")
    assert failed == {words[0] for words in commands}


class FullFile(io.TextIOBase):
    """A log on a disk without room."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_that_fills_up_in_any_stage_damages_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    results, failed = project.path("results"), set()
    before = contents(results)
    for words in (words for words in project.commands() if words[0] not in LEFT_OUT):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", FullFile())
            patch.setattr(sys, "stderr", FullFile())
            status = main(words)
        assert status in (0, EXIT_USER), words[0]
        assert contents(results) == before, words[0]
        failed |= {words[0]} if status else set()
    assert failed >= {"task", "score"}


def test_snakemake_names_the_full_disk_of_logs_and_the_next_start_continues(project: Project) -> None:
    for name in ("results/runs", "logs"):
        shutil.rmtree(project.path(name))
    clean = dict(project.environment)
    project.with_sitecustomize(FILL)
    with small_disk(project.path("logs"), 4096) as disk:
        if not disk.mounted:
            return  # small_disk has warned
        printed = project.snakemake("--cores", "1", "models", status=1)
        assert "Traceback" not in printed
        assert "snakemake: logs: 0.0 MB are free there: make room, then start again" in printed.splitlines()
        project.path("logs/filler").unlink()
        project.environment = clean
        project.snakemake("--cores", "1", "models")
    assert len(list(project.folder.glob("results/runs/tiny/*/seed1-*/model.safetensors"))) == 2
