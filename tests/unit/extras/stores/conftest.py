"""A project with finished runs, to exchange."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from small_bundle import make_project, make_runs

from mdnmt.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with three finished runs, which are in `store`, too."""
    project = tmp_path_factory.mktemp("made") / "project"
    make_runs(project, make_project(project), "mixed")
    with contextlib.chdir(project):
        assert main(["push", "store", "--study", "tiny"]) == 0
    return project


@pytest.fixture
def address(made: Path) -> str:
    return sorted(path.relative_to(made / "store/runs").as_posix() for path in made.glob("store/runs/*/*/seed*"))[0]
