"""One real run of the whole workflow, from nothing to the report; every test works on a copy of what it left."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project, made_once


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project whose tiny study is made; look at it, do not change it."""

    def make(project: Project) -> None:
        project.snakemake("--cores", "2")

    return made_once(tmp_path_factory, "workflow", make)


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """Return a copy of the finished project, to be changed at will."""
    return finished.copy(tmp_path / "project")
