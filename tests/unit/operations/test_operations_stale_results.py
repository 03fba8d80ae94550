from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt import workspace
from mdnmt.cli import main
from mdnmt.fsio import write_sealed
from mdnmt.operations import snakemake_locks
from mdnmt.operations.snakemake_locks import locks, running_snakemake, running_trainer
from mdnmt.operations.stale_results import STARTED, list_started
from mdnmt.studies.resolve import resolve
from mdnmt.train.lease import RunLease

OLD = "0123abcd"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project with folders of all its tasks and runs, and of some that no study names."""
    made = Project.create(tmp_path / "project")
    # Two studies are enough: each call resolves all of them, which takes seconds for those of the papers.
    monkeypatch.setattr(workspace, "PACKAGED", made.folder)
    for path in made.path("config/studies").glob("*.yaml"):
        if path.stem not in {"tiny", "demo"}:
            path.unlink()
    monkeypatch.chdir(made.folder)
    study = resolve(Path("config"), "tiny", Path("resources/corpora"), 2)
    folders = [f"tasks/tiny-{study.tasks['tiny'].fingerprint}/copied-{study.copy_fingerprint('tiny')}"]
    for run in study.runs:
        own = f"runs/tiny/{run.directory}/seed{run.seed}-{run.fingerprint}"
        folders += [
            f"{own}/test-{study.decode_fingerprint(run)}/hyp",
            f"{own}/analysis-{study.analysis_fingerprint}",
        ]
        folders += [f"{own}/ckpt/update-00000006", f"{own}/segmentation"]
    for folder in [*folders, "tiny/tables"]:
        made.path(f"results/{folder}").mkdir(parents=True)
        (made.path(f"results/{folder}") / "file").write_text("x" * 1000)
    made.edit("config/config.yaml", "seeds: null", "seeds: 2")
    return made


def add(project: Project, folder: str) -> Path:
    path = project.path(folder)
    path.mkdir(parents=True)
    (path / "file").write_text("x" * 500_000)
    return path


def listed(capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    assert main(["clean", "--stale", *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line.partition(" MB  ")[2] for line in lines if " MB  " in line]


@pytest.mark.slow
def test_nothing_stale(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys) == []
    assert main(["clean", "--stale", "--yes"]) == 0
    assert capsys.readouterr().out.startswith("nothing stale")


@pytest.mark.slow
def test_lists_exactly_what_no_study_names_and_removes_it_when_told_to(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = sorted(project.path("results").rglob("*"))
    run = next(project.path("results/runs/tiny/mixed").iterdir()).relative_to(project.folder)
    stale = [
        f"results/tasks/tiny-{OLD}",
        f"results/tasks/text/{OLD}",
        f"results/runs/tiny/mixed/seed1-{OLD}",
        f"{run}/test-{OLD}",
        f"{run}/analysis-{OLD}",
    ]
    for folder in stale:
        add(project, folder)
    add(project, "results/runs/tiny/mixed/notes")
    assert sorted(listed(capsys)) == sorted(stale)
    assert all(project.path(folder).is_dir() for folder in stale)
    assert sorted(listed(capsys, "--yes")) == sorted(f"{folder}  removed" for folder in stale)
    assert not any(project.path(folder).exists() for folder in stale)
    assert all(path.exists() for path in kept) and project.path("results/runs/tiny/mixed/notes").is_dir()
    assert listed(capsys) == []


@pytest.mark.slow
def test_what_was_made_last_is_named_too(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    # A run with a seed of the command line, on data of a task that was changed since; and one that nothing names.
    made, data = add(project, f"results/runs/tiny/mixed/seed7-{OLD}"), add(project, f"results/tasks/tiny-{OLD}")
    for inner in (f"test-{OLD}", f"analysis-{OLD}"):
        (made / inner).mkdir()
    write_sealed(made / "run.json", {"spec": {"task_fingerprint": OLD}})
    assert len(listed(capsys)) == 2
    folder = made.relative_to(project.folder)
    table = project.path("results/tiny/runs.tsv")
    table.write_text(f"task\tmethod\trun_dir\ttest_dir\ntiny\tmixed\t{folder}\t{folder}/test-{OLD}\ntiny\tgone\t\t\n")
    assert listed(capsys) == []
    add(project, f"results/runs/tiny/renamed/seed7-{OLD}")
    assert listed(capsys, "--yes") == [f"results/runs/tiny/renamed/seed7-{OLD}  removed"]
    assert made.is_dir() and data.is_dir()


@pytest.mark.slow
def test_runs_of_a_study_are_known_from_its_start(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run = add(project, f"results/runs/tiny/mixed/seed7-{OLD}")
    row = {"task": "tiny", "method": "mixed", "seed": "7", "run_dir": f"results/runs/tiny/mixed/seed7-{OLD}"}
    list_started(project.path("results/tiny") / STARTED, [{**row, "test_dir": "", "label": "Mixed"}])
    assert listed(capsys, "--yes") == [] and run.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("alive", ["process", "lock"])
def test_nothing_is_removed_while_a_snakemake_is_alive(
    project: Project, alive: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = add(project, f"results/runs/tiny/mixed/seed7-{OLD}")
    if alive == "process":
        monkeypatch.setattr(snakemake_locks, "running_snakemake", lambda folder: "snakemake (process 7)")
    else:  # of another host: its processes cannot be seen here
        project.path(".snakemake/locks").mkdir(parents=True)
        project.path(".snakemake/locks/0.input.lock").write_text("")
    assert main(["clean", "--stale", "--yes"]) == 75
    assert "nothing more was removed" in capsys.readouterr().err and folder.is_dir()
    assert len(listed(capsys)) == 1  # without --yes, it is listed


def test_size_and_what_to_do_are_said(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    add(project, f"results/tasks/tiny-{OLD}")
    assert main(["clean", "--stale"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"     0.5 MB  results/tasks/tiny-{OLD}",
        "1 stale, 0.5 MB in all; `mdnmt clean --stale --yes` removes them",
    ]


@pytest.mark.slow
def test_a_run_at_work_is_never_removed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    folder = add(project, f"results/runs/tiny/mixed/seed1-{OLD}")
    with RunLease(folder / "lease"):
        [line] = listed(capsys, "--yes")
        assert "in use: " in line and folder.is_dir()
    assert listed(capsys, "--yes") and not folder.exists()


def test_what_is_out_of_reach_is_kept(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    add(project, f"results/tasks/tiny-{OLD}")
    write_sealed(add(project, f"results/tasks/codes/{OLD}") / "codes.json", {"task": "tiny"})
    other = f"results/runs/other/mixed/seed1-{OLD}"
    add(project, other)
    shutil.rmtree(project.path("text/law"))
    # Which folders of the task `tiny` are stale cannot be told without its corpus; those of no study can.
    assert listed(capsys) == [other]


@pytest.mark.slow
def test_a_mistake_in_any_study_removes_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    folder = add(project, f"results/tasks/tiny-{OLD}")
    project.path("config/studies/broken.yaml").write_text("title: x\n")
    assert main(["clean", "--stale", "--yes"]) == 2
    assert "config/studies/broken.yaml" in capsys.readouterr().err and folder.is_dir()


@pytest.mark.slow
def test_seeds_of_the_project_and_of_the_studies_are_both_kept(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.edit("config/config.yaml", "seeds: 2", "seeds: [2, 5]")
    assert listed(capsys) == []
    project.edit("config/config.yaml", "seeds: [2, 5]", "seeds: null")
    assert [name.rpartition("-")[0] for name in listed(capsys)] == [
        "results/runs/tiny/mixed/seed2",
        "results/runs/tiny/waldm-edc/seed2",
    ]


def test_a_lock_without_anybody_behind_it_is_opened(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project.path(".snakemake/locks")
    folder.mkdir(parents=True)
    for name in ("0.input.lock", "0.output.lock"):
        (folder / name).write_text("results/tiny/report.html\n")
    assert len(locks(project.folder)) == 2
    assert running_snakemake(project.folder) is None and running_trainer(project.folder) is None
    run = next(project.path("results/runs/tiny/mixed").iterdir())
    with RunLease(run / "lease"):
        assert main(["unlock"]) == 75
        assert f"the trainer of {run.name}" in capsys.readouterr().err
        assert len(locks(project.folder)) == 2
    assert main(["unlock", "--folder", str(project.folder)]) == 0
    assert "opened the lock" in capsys.readouterr().out and locks(project.folder) == []
    assert main(["unlock"]) == 0 and capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_broken_study_hides_nothing_and_nothing_of_it_is_removed(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    old = add(project, f"results/runs/tiny/mixed/seed1-{OLD}")
    project.write("config/studies/broken.yaml", {"title": "Broken", "description": "", "tasks": ["no-such-task"]})
    assert main(["clean", "--stale"]) == 0
    found = capsys.readouterr()
    assert "study broken is left out: " in found.err and found.err.count("\n") == 1
    assert f"seed1-{OLD}" in found.out and "may belong to broken" in found.out
    assert main(["clean", "--stale", "--yes"]) == 2
    assert "nothing was removed" in capsys.readouterr().err and old.is_dir()


def test_runs_of_seeds_from_the_command_line_are_listed_as_kept(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    run = add(project, f"results/runs/tiny/mixed/seed7-{OLD}")
    row = {"task": "tiny", "method": "mixed", "run_dir": f"results/runs/tiny/mixed/seed7-{OLD}", "test_dir": ""}
    lines = ["\t".join(row), "\t".join(row.values())]
    project.path("results/tiny/runs.tsv").write_text("\n".join(lines) + "\n")
    assert main(["clean", "--stale", "--yes"]) == 0
    assert f"kept: {run.relative_to(project.folder)} (" in capsys.readouterr().out and run.is_dir()


def test_an_edited_list_stops_before_anything_is_removed(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    run = add(project, f"results/runs/tiny/mixed/seed7-{OLD}")
    project.path("results/tiny/runs.tsv").write_text("task\tmethod\nmixed\n")
    assert main(["clean", "--stale", "--yes"]) == 2
    assert "runs.tsv: was edited; remove it" in capsys.readouterr().err and run.is_dir()
