"""A study with a model that cannot fit into memory is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.cli import main
from mdnmt.config.cluster import ClusterConfig, SizeClass
from mdnmt.machine import Memory, TooLarge
from mdnmt.operations.plan import memory_limits
from mdnmt.operations.plan.memory_limits import require_memory
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

HUGE = {"model_dim": 8192, "ffn_dim": 32768, "num_heads": 8, "encoder_layers": 24, "decoder_layers": 24}


@pytest.fixture
def huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project whose models have some 40 billion parameters, on a machine of 32 GB without a GPU."""
    project = Project.create(tmp_path / "project")
    project.update("config/studies/tiny.yaml", options__0__set__architecture=HUGE)
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr(memory_limits, "host_memory", lambda: Memory(32 * 10**9, "this machine"))
    monkeypatch.setattr(memory_limits, "count_visible", lambda device: 0)
    return project


def test_the_plan_refuses_it_in_one_line(
    huge: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")  # no sbatch
    assert main(["plan"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("mdnmt plan: run tiny/mixed/seed1: training needs about ")
    assert "GB for weights, gradients and Adam's moments alone" in line and "make the model smaller" in line


def test_what_trains_it_decides(huge: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    study = resolve(Path("config"), "tiny", Path("resources/corpora"), 1)
    places = ResultPaths(study, Path("results"))
    with pytest.raises(TooLarge, match=r"this machine has 32\.0 GB"):
        require_memory(study, places, None, "auto")
    monkeypatch.setattr(memory_limits, "host_memory", lambda: Memory(10**13, "this machine"))
    require_memory(study, places, None, "auto")
    # The jobs of a cluster do not run on the machine that submits them, whatever memory and GPUs it has.
    for gpus in (0, 1):
        monkeypatch.setattr(memory_limits, "count_visible", lambda device, gpus=gpus: gpus)
        with pytest.raises(TooLarge, match=r"the largest class of jobs .* has 64\.0 GB"):
            require_memory(study, places, ClusterConfig(), "auto")
    monkeypatch.setattr(memory_limits, "host_memory", lambda: Memory(1, "this machine"))
    size = SizeClass(up_to_parameters=10**12, mem_mb=10**7, train_minutes=1, translate_minutes=1)
    require_memory(study, places, ClusterConfig(sizes={"any": size}), "auto")
    monkeypatch.setattr(memory_limits, "host_memory", lambda: Memory(1, "this machine"))
    monkeypatch.setattr(memory_limits, "count_visible", lambda device: 1)
    require_memory(study, places, None, "auto")  # a GPU trains
    with pytest.raises(TooLarge):
        require_memory(study, places, None, "cpu")


@pytest.mark.slow
def test_models_that_fit_easily_are_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.create(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr(memory_limits, "count_visible", lambda device: 0)
    monkeypatch.setattr(memory_limits, "work_of", lambda *_: pytest.fail("built"))
    monkeypatch.setenv("PATH", "")  # no sbatch
    study = resolve(Path("config"), "tiny", Path("resources/corpora"), 1)
    require_memory(study, ResultPaths(study, Path("results")), None, "cpu")
    assert main(["plan"]) == 0
    assert "Memory of a machine: about 300 MB for the largest training." in capsys.readouterr().out.replace("\n", " ")
