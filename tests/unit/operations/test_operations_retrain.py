"""`mdnmt retrain`: the runs of one method are set aside, the others stay, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.cli import main
from mdnmt.errors import EXIT_RESUME
from mdnmt.studies.resolve import resolve
from mdnmt.train.lease import RunLease


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project with folders of all runs; `started` begins with the weights of `mixed`."""
    made = Project.create(tmp_path / "project")
    made.write("config/methods/started.yaml", {"label": "S", "builder": "transformer", "initialise_from": "mixed"})
    made.update("config/studies/tiny.yaml", methods=["mixed", "waldm-edc", "started"], tables={}, figures={}, seeds=2)
    monkeypatch.chdir(made.folder)
    for run in resolve(Path("config"), "tiny", Path("resources/corpora")).runs:
        made.path(f"results/runs/{run.address}").mkdir(parents=True)
        made.path(f"results/runs/{run.address}/run.json").write_text(run.address)
    return made


def there(project: Project, folder: str = "results/runs") -> list[str]:
    return sorted(f"{path.parts[-3]}/{path.parts[-2].split('-')[0]}" for path in project.path(folder).rglob("run.json"))


ALL = [f"{name}/seed{seed}" for name in ("mixed", "started", "waldm-edc") for seed in (1, 2)]


def test_lists_and_moves_nothing_without_yes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retrain", "waldm-edc"]) == 0
    found = capsys.readouterr().out
    assert found.count("tiny/waldm-edc/seed") == 2 and "2 runs would be set aside" in found
    assert there(project) == ALL


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        (["waldm-edc"], ["waldm-edc/seed1", "waldm-edc/seed2"]),
        (["waldm-edc", "--seeds", "2"], ["waldm-edc/seed2"]),
        # What starts from the weights of a run is trained again with it.
        (["mixed", "--seeds", "1", "--study", "tiny"], ["mixed/seed1", "started/seed1"]),
    ],
)
def test_moves_the_runs_of_the_method_alone(project: Project, words: list[str], moved: list[str]) -> None:
    assert main(["retrain", *words, "--yes"]) == 0
    assert there(project) == [name for name in ALL if name not in moved]
    assert there(project, "results/set-aside") == moved
    contents = {path.read_text() for path in project.path("results/set-aside").rglob("run.json")}
    assert {path.split("/")[1] for path in contents} == {name.split("/")[0] for name in moved}


def test_a_second_time_keeps_what_was_set_aside_before(project: Project) -> None:
    assert main(["retrain", "waldm-edc", "--seeds", "1", "--yes"]) == 0
    [first] = project.path("results/set-aside").rglob("seed1-*")
    again = project.path("results/runs/tiny/waldm-edc") / first.name.removesuffix(".1")
    again.mkdir()
    (again / "run.json").write_text("second")
    assert main(["retrain", "waldm-edc", "--seeds", "1", "--yes"]) == 0
    texts = sorted(path.read_text() for path in project.path("results/set-aside").rglob("run.json"))
    assert len(texts) == 2 and texts[0] == "second"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["waldm-ecd"], "has no method 'waldm-ecd' (did you mean 'waldm-edc'?)"),
        (["mixed", "--study", "nowhere"], "nowhere"),
    ],
)
def test_mistakes(project: Project, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["retrain", *words, "--yes"]) == 2
    assert said in capsys.readouterr().err
    assert there(project) == ALL


def test_refuses_while_a_trainer_works_on_one_of_them(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    [run] = project.path("results/runs/tiny/waldm-edc").glob("seed2-*")
    with RunLease(run / "lease"):
        assert main(["retrain", "waldm-edc", "--yes"]) == EXIT_RESUME
        assert "the trainer of tiny/waldm-edc/seed2" in capsys.readouterr().err
    assert there(project) == ALL
