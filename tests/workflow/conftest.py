"""Finished studies, made once for all processes of the tests; every test works on a copy of what they left."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from workflow.snakemake_project import Project, ProjectMaker


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> ProjectMaker:
    """Return a function (name, finish) -> a new project after `finish`, shared by the processes of pytest-xdist."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def make(name: str, finish: Callable[[Project], None]) -> Project:
        folder = shared / name
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "finished").exists():
                shutil.rmtree(folder / "project", ignore_errors=True)  # of a process that failed
                finish(Project.create(folder / "project"))
                (folder / "finished").touch()
        return Project(folder / "project")

    return make


def _make_tiny(project: Project) -> None:
    project.snakemake("--cores", "2")


@pytest.fixture(scope="session")
def finished(make_once: ProjectMaker) -> Project:
    """Return a project whose tiny study is made; look at it, do not change it."""
    return make_once("workflow", _make_tiny)


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """Return a copy of the finished project, to be changed at will."""
    return finished.copy(tmp_path / "project")
