"""One SLURM and one undisturbed study for all tests here; where no SLURM is installed they say so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm.cluster_project import ClusterProject, undisturbed_project
from slurm.real_slurm import RealSlurm, why_not
from workflow.snakemake_project import shared_folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest case begin first: it would be alone at the end."""
    items.sort(key=lambda item: "test_every_row_of_table2" not in item.name)


@pytest.fixture(scope="session", autouse=True)
def _slurm_is_here() -> None:
    """Leave the tests out where SLURM is missing; where CI says MDNMT_NEEDS_SLURM=1, that is an error."""
    reason = why_not()
    if reason is not None and not os.environ.get("MDNMT_NEEDS_SLURM"):
        pytest.skip(f"no SLURM: {reason}")


@pytest.fixture(scope="session")
def slurm() -> Iterator[RealSlurm]:
    """Return a running SLURM."""
    reason = why_not()
    assert reason is None, reason
    with RealSlurm() as running:
        yield running


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> ClusterProject:
    """Return a project whose study was made at home, without SLURM and without a fault; made once for all workers."""
    with shared_folder(tmp_path_factory, "undisturbed") as folder:
        return undisturbed_project(folder)


@pytest.fixture
def project(undisturbed: ClusterProject, slurm: RealSlurm, tmp_path: Path) -> Iterator[ClusterProject]:
    """Return a project with the study's data, and no run."""
    copy = undisturbed.without_runs(tmp_path / "project", slurm)
    yield copy
    copy.stop()
