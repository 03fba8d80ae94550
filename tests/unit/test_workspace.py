"""A user's own files come before those of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt import workspace
from mdnmt.workspace import config_file, config_files, config_folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a user's folder of configuration beside a package with three tasks."""
    packaged = tmp_path / "package"
    monkeypatch.setattr(workspace, "PACKAGED", packaged)
    for name in ("a", "b", "c"):
        (packaged / "config" / "tasks").mkdir(parents=True, exist_ok=True)
        (packaged / "config" / "tasks" / f"{name}.yaml").write_text(name)
    (own := tmp_path / "own" / "config").mkdir(parents=True)
    return own


def test_a_file_of_ones_own_hides_that_of_the_package_and_no_other(own: Path, tmp_path: Path) -> None:
    (own / "tasks").mkdir()
    for name in ("b", "d"):
        (own / "tasks" / f"{name}.yaml").write_text("own")
    packaged = tmp_path / "package" / "config"
    assert config_file(own, "tasks/a.yaml") == packaged / "tasks/a.yaml"
    assert config_file(own, "tasks/b.yaml") == own / "tasks/b.yaml"
    assert config_file(own, "tasks/none.yaml") == own / "tasks/none.yaml"
    places = {"a": packaged, "b": own, "c": packaged, "d": own}
    assert config_files(own, "tasks/*.yaml") == [place / f"tasks/{name}.yaml" for name, place in places.items()]


def test_what_is_no_file_is_not_replaced_by_the_package_in_silence(own: Path) -> None:
    (own / "tasks").mkdir()
    (own / "tasks" / "a.yaml").mkdir()  # a folder in place of a file
    assert config_file(own, "tasks/a.yaml") == own / "tasks/a.yaml"


def test_the_folder_is_that_of_the_current_folder_or_else_beside_the_snakefile(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    assert config_folder(own.parent / "Snakefile") == own
    assert config_folder(own.parent / "workflow" / "Snakefile") == own
    (elsewhere / "config").mkdir()
    assert config_folder(own.parent / "Snakefile") == elsewhere / "config"
