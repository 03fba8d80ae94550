"""The reports on the packages of the lock."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def supply_chain() -> Any:
    spec = importlib.util.spec_from_file_location("supply_chain", ROOT / "envs" / "supply_chain.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_pin_of_the_lock_is_read(supply_chain: Any) -> None:
    for environment, least in (("run", 100), ("comet", 40)):
        text = "".join((ROOT / path).read_text() for path in supply_chain.lock_files(environment))
        pins = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
        others = [line for line in pins if "sys_platform == 'win32'" in line]
        assert len(supply_chain.locked(text)) == len(pins) - len(others) > least


def test_every_package_of_every_lock_has_a_hash() -> None:
    for path in sorted((ROOT / "envs" / "lock").glob("*.txt")):
        packages = re.split(r"^(?=[\w.-]+==)", path.read_text(), flags=re.M)[1:]
        assert packages, path
        assert [part.split()[0] for part in packages if "--hash=sha256:" not in part] == [], path


def test_an_sbom_without_a_package_of_the_lock_is_incomplete(supply_chain: Any) -> None:
    lock = supply_chain.locked("Jinja2==3.1.6\ntorch==2.13.0\npandas-stubs==3.1\n")
    parts = [{"name": "jinja2", "version": "3.1.6"}, {"name": "torch", "version": "2.13.0+cpu"}]
    assert supply_chain.missing(lock, {"components": parts}) == ["pandas-stubs==3.1"]
    older = {"name": "pandas_stubs", "version": "3.0"}
    assert supply_chain.missing(lock, {"components": [*parts, older]}) == ["pandas-stubs==3.1"]
    right = {"name": "pandas_stubs", "version": "3.1"}
    assert supply_chain.missing(lock, {"components": [*parts, right]}) == []


def test_the_sbom_command_fails_when_a_package_is_missing(
    supply_chain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.dumps({"components": [{"name": "a", "version": "1"}]})
    tool = tmp_path / "cyclonedx-py"
    tool.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[-2], 'w').write({found!r})\n")
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    lock = tmp_path / "envs" / "lock"
    lock.mkdir(parents=True)
    (lock / "torch-cpu.txt").write_text("")
    (lock / "run.txt").write_text("a==1 \\\n    --hash=sha256:0\n")
    assert supply_chain.sbom(tmp_path, "run", "python", Path("sbom.json")) == 0
    (lock / "run.txt").write_text("a==1\nb==2 ; sys_platform == 'win32'\n")
    assert supply_chain.sbom(tmp_path, "run", "python", Path("sbom.json")) == 0
    (lock / "run.txt").write_text("a==1\nb==2\n")
    assert supply_chain.sbom(tmp_path, "run", "python", Path("sbom.json")) == 1
    assert "does not list b==2" in capsys.readouterr().err


def test_the_report_counts_what_could_not_be_looked_up(supply_chain: Any) -> None:
    known = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}
    clean = {"name": "b", "version": "1", "vulns": []}
    unknown = {"name": "c", "skip_reason": "not found"}
    lines = supply_chain.summary({"dependencies": [known, clean, unknown]})
    assert lines[0] == "2 of 3 packages looked up, 1 known vulnerabilities in 1 of them"
    assert "1: c" in lines[1] and lines[2] == "a 1: CVE-1, fixed in 2"
    [line] = supply_chain.summary({"dependencies": [unknown, unknown]})
    assert line == "no report: none of 2 packages could be looked up; is there a network?"


def test_a_service_that_cannot_be_reached_is_one_line_and_no_failure(
    supply_chain: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = tmp_path / "pip-audit"
    audit.write_text("#!/bin/sh\necho 'WARNING: retrying' >&2\necho 'ConnectionError: no route' >&2\nexit 1\n")
    audit.chmod(0o755)
    assert supply_chain.audit(tmp_path, "run") == 0
    assert capsys.readouterr().out == "pip-audit, run: no report: ConnectionError: no route\n"


@pytest.mark.parametrize("raised", [subprocess.TimeoutExpired("pip-audit", 600), FileNotFoundError(2, "no such file")])
def test_a_service_that_never_answers_and_a_missing_tool_are_one_line(
    supply_chain: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: Exception,
) -> None:
    def run(*command: object, timeout: float, **more: object) -> None:
        raise raised

    monkeypatch.setattr(subprocess, "run", run)
    assert supply_chain.audit(tmp_path, "run") == 0
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("pip-audit, run: no report: ")
