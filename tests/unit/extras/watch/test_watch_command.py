"""`mdnmt watch` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.cli import main
from mdnmt.extras.watch import supervise

ROOT = Path(__file__).resolve().parents[4]


def test_a_look_at_a_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "synthetic", "--once", "--folder", str(ROOT)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["run", "state", "updates", "left", "attempts", "held", "by", "SLURM"]
    assert any(" runs done; " in line for line in lines)


def test_the_command_reaches_the_supervisor_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[supervise.Supervisor] = []
    monkeypatch.setattr(supervise.Supervisor, "__call__", lambda self: seen.append(self) or 3)
    command = ["python", "-m", "snakemake", "--profile", "p", "--config", "study=synthetic", "--", "a/target"]
    options = ["--folder", str(ROOT), "--patience", "7", "--restart"]
    assert main(["watch", *options, "--", *command]) == 3
    [supervisor] = seen
    assert supervisor.command == command and supervisor.patience_seconds == 7
    assert all(run.name.startswith("synthetic") for run in supervisor.look().runs)


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--folder", str(ROOT), "--restart"]) == 2
    assert "--restart: names no command" in capsys.readouterr().err
