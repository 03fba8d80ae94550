"""Dry runs of a finished study: a cosmetic change makes nothing anew, a real one exactly what it concerns."""

from __future__ import annotations

import os

import pytest
from workflow.snakemake_project import Project, write_corpus

pytestmark = pytest.mark.slow

SHOWN = {"table", "figure", "claims", "numbers", "report"}
EVALUATED = {"decode", "score", "significance", "measure", "numbers"}
ALL_RUNS = ["mixed/seed1", "waldm-edc/seed1"]
BUMP = "from mdnmt import fingerprint\nfingerprint.STAGE_VERSIONS[{stage!r}] += 1\n"


def move_corpus(project: Project) -> None:
    project.path("text/law").rename(project.path("moved"))
    project.edit("config/corpora/tiny-law.yaml", "folder: text/law", "folder: moved")


def test_what_nobody_sees_makes_nothing(project: Project) -> None:
    for path in project.path("config").rglob("*.yaml"):
        path.write_text(f"# A comment.\n{path.read_text()}\n# Another.\n")
    for path in project.path("workflow/rules").glob("*.smk"):
        path.write_text(f"# A comment.\n{path.read_text()}")
    move_corpus(project)
    for old, new in (("device: auto", "device: cpu"), ("threads: 1", "threads: 2"), ("minutes: 10", "minutes: 7")):
        project.edit("config/config.yaml", old, new)
    project.edit("config/config.yaml", "stop_after_minutes: null", "stop_after_minutes: 600")
    project.edit("config/config.yaml", "tensorboard: false", "tensorboard: true")
    project.edit("config/corpora/tiny-law.yaml", "licence: CC0", "licence: CC0\nunpacked_bytes_max: 5000000")
    project.edit("workflow/rules/train.smk", '"Training {', '"Teaching {')
    project.edit("workflow/rules/train.smk", "    resources:\n", "    resources:\n        disk_mb=2000,\n")
    project.edit("workflow/rules/train.smk", '"mdnmt train ', '"mdnmt  train ')
    for path in [*project.path("resources").rglob("*.json"), *project.path("moved").iterdir()]:
        os.utime(path)
    assert project.plan().outputs == {}


def test_what_is_printed_makes_only_what_prints_it(project: Project) -> None:
    project.edit("config/methods/waldm-edc.yaml", "label: E/DC\n", "label: Both sides\n")
    project.edit("config/corpora/tiny-law.yaml", "licence: CC0", "licence: CC-BY")
    project.edit("config/corpora/tiny-law.yaml", "title: Tiny law", "title: A small law")
    project.edit("config/tasks/tiny.yaml", "title: Tiny", "title: A small task")
    project.edit("config/studies/tiny.yaml", "title: Tiny", "title: A small study")
    plan = project.plan()
    assert plan.rules == {"numbers"} | SHOWN  # figures are drawn again, and the table of numbers has their measures


def test_plotting_code_is_no_input(finished: Project) -> None:
    printed = finished.run_forked("snakemake", "--cores", "2", "--detailed-summary").stdout
    inputs = {name for line in printed.splitlines()[1:] for name in line.split("\t")[4].split(",")}
    assert inputs and all(name.startswith(("results/", "resources/corpora/")) or not name for name in inputs)


def test_learning_rate_of_one_method(project: Project) -> None:
    before = {path: path.stat().st_mtime_ns for path in project.path("results/runs").rglob("*") if path.is_file()}
    project.edit("config/methods/waldm-edc.yaml", "builder: waldm", "builder: waldm\ntraining: {adam_eps: 1.0e-7}")
    plan = project.plan()
    assert plan.trained() == ["waldm-edc/seed1"]
    assert plan.rules == {"train", "analyse"} | EVALUATED | SHOWN
    assert not any(project.path(name).exists() for name in plan.outputs["train"])
    assert not any("/mixed/" in name for rule in ("decode", "score") for name in plan.outputs[rule])
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_more_seeds_train_only_the_new_ones(project: Project) -> None:
    assert project.plan("--config", "seeds=3").trained() == [f"{run[:-1]}{seed}" for run in ALL_RUNS for seed in "23"]


@pytest.mark.parametrize(
    ("stage", "made"),
    [
        ("train", {"train", "analyse"} | EVALUATED | SHOWN),
        pytest.param("decode", {"decode", "score", "significance", "numbers"} | SHOWN, marks=pytest.mark.long),
        ("score", {"score_copy", "numbers"} | SHOWN),  # the others depend on the code itself
        pytest.param("analyse", {"analyse", "numbers"} | SHOWN, marks=pytest.mark.long),
    ],
)
def test_version_of_a_stage(project: Project, stage: str, made: set[str]) -> None:
    project.with_sitecustomize(BUMP.format(stage=stage))
    plan = project.plan()
    # Time and memory may be measured again where the hypotheses have another address; nothing else may.
    assert plan.rules - {"measure"} <= made and made - SHOWN - {"measure"} <= plan.rules
    if stage == "train":
        assert plan.trained() == ALL_RUNS
        assert not any(project.path(name).exists() for name in plan.outputs["train"])


def test_beam_size_trains_nothing_even_when_a_corpus_moved_too(project: Project) -> None:
    # A job that starts hides from Snakemake what lies behind it: the moved corpus must not start one.
    move_corpus(project)
    project.edit("config/studies/tiny.yaml", "beam_size: 2", "beam_size: 3")
    plan = project.plan()
    assert plan.rules - {"measure"} <= {"decode", "score", "significance", "numbers"} | SHOWN
    assert len(plan.outputs["decode"]) == 2


def test_cleaning_makes_a_new_task_and_new_runs(project: Project) -> None:
    project.edit("config/tasks/tiny.yaml", "title: Tiny", "title: Tiny\ncleaning: {max_tokens: 8}")
    plan = project.plan()
    assert plan.trained() == ALL_RUNS and "fetch" not in plan.rules
    assert not any(project.path(name).exists() for rule in ("text", "arrays", "train") for name in plan.outputs[rule])


def test_new_text_makes_everything_in_one_go(project: Project) -> None:
    for lang in ("en", "fr"):
        project.path(f"text/law/train.{lang}").unlink()
    project.path("text/law").rmdir()
    write_corpus(project.path("text/law"), "law", seed=12)
    plan = project.plan()
    assert plan.outputs["fetch"] == {"resources/corpora/tiny-law/corpus.json"}
    assert plan.trained() == ALL_RUNS and len(plan.outputs["arrays"]) == 3
    assert plan.rules >= EVALUATED | SHOWN
