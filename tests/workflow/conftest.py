"""One real run of the whole workflow, from nothing to the report; every test works on a copy of what it left."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project whose tiny study is made; look at it, do not change it."""
    project = Project.create(tmp_path_factory.mktemp("workflow") / "project")
    project.snakemake("--cores", "2")
    return project


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """Return a copy of the finished project, to be changed at will."""
    return finished.copy(tmp_path / "project")
