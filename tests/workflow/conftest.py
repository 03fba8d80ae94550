"""One real run of the whole workflow, from nothing to the report; every test works on a copy of what it left."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project, made_once


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project whose tiny study is made; do not change it. Beside it, `printed` is what was said."""

    def make(project: Project) -> None:
        printed = project.snakemake("--cores", "2", "--verbose")
        (project.folder.parent / "printed").write_text(printed, encoding="utf-8")

    return made_once(tmp_path_factory, "workflow", make)


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """Return a copy of the finished project, to be changed at will."""
    return finished.copy(tmp_path / "project")
