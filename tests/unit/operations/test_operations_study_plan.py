"""`mdnmt plan` on a project: what is there, what is missing, which cells need which runs, at which price."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow.snakemake_project import Project

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.operations.plan import benchmark_paths
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study

BENCHMARKS = Path("logs/benchmarks")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Return a resolved study of two methods and two seeds, of which nothing is made; we stand in its project."""
    project = Project.create(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    project.edit("config/config.yaml", "device: auto", "device: cpu")
    project.edit("config/config.yaml", "seeds: null", "seeds: 2")
    return resolve(Path("config"), "tiny", Path("resources/corpora"), 2)


def folder(study: Study, run: Run) -> Path:
    return Path(ResultPaths(study, Path("results")).run(run))


def run_of(study: Study, directory: str, seed: int) -> Run:
    return next(run for run in study.runs if (run.directory, run.seed) == (directory, seed))


def finish(study: Study, run: Run, *, seconds: float, resumes: int = 0) -> None:
    """Put there what a finished and scored run leaves."""
    assert run.spec is not None
    here = folder(study, run)
    record = {
        "spec": run.spec.model_dump(mode="json"),
        "domains": list(run.domains),
        "source_lang": "en",
        "target_lang": "fr",
        "seconds": seconds,
        "updates": run.spec.training.max_updates,
        "device": "cpu",
        "threads": 1,
        "resumes": resumes,
        "provenance": {"cpu": "Processor"},
    }
    fsio.write_sealed(here / "run.json", record)
    fsio.write_text(here / "model.safetensors", "x" * 1000)
    for lang in ("en", "fr"):
        fsio.write_lines(here / "segmentation" / f"vocab.{lang}.txt", [str(number) for number in range(50)])
    fsio.write_sealed(Path(ResultPaths(study, Path("results")).test(run)) / "scores.json", {})


def plan(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main(["plan", "tiny", "--json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def runs(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["run"]: one for one in found["runs"]}


def test_of_a_study_of_which_nothing_is_made(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys)
    assert [one["state"] for one in found["runs"]] == ["to do"] * 4
    assert all(one["train_source"].startswith("rule of thumb") for one in found["runs"])
    assert all(0 < one["train_seconds"][0] < one["train_seconds"][1] for one in found["runs"])
    assert all(0 < one["to_add_bytes"][0] <= one["to_add_bytes"][1] for one in found["runs"])
    assert found["tasks"][0]["pairs"] == 2 * (60 + 6 + 5)
    assert found["guessed_vocabularies"] == ["tiny"]


def test_runs_are_counted_once_and_say_where_they_stand(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys)
    assert len(found["runs"]) == len({one["run"] for one in found["runs"]}) == 4
    mixed = runs(found)["tiny/mixed/seed1"]
    assert mixed["tables"] == ["jiang2020-table2", "song2026-table4"]
    # Time and memory are measured once a method.
    assert runs(found)["tiny/mixed/seed2"]["tables"] == ["jiang2020-table2"]
    assert "jiang2020-figure8" in runs(found)["tiny/waldm-edc/seed1"]["figures"]


def test_estimates_are_learned_from_what_was_measured(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    done = run_of(study, "mixed", 1)
    finish(study, done, seconds=60.0)
    fsio.write_text(
        benchmark_paths.train_benchmark(BENCHMARKS, "tiny", "mixed", 1, done.fingerprint),
        json.dumps({"s": 600.0}) + "\n",
    )
    found = runs(plan(capsys))
    assert found["tiny/mixed/seed1"]["state"] == "done"
    assert found["tiny/mixed/seed1"]["spent_seconds"] == 600.0
    assert found["tiny/mixed/seed1"]["train_seconds"] == [0.0, 0.0]
    other = found["tiny/mixed/seed2"]
    assert other["train_source"] == "measured: seed 1 of the same run on Processor (benchmark record)"
    assert other["train_seconds"][0] < 600 < other["train_seconds"][1]
    scaled = found["tiny/waldm-edc/seed1"]
    assert scaled["train_source"] == "scaled from mixed of the same task on Processor (benchmark record)"
    assert scaled["train_seconds"][1] > other["train_seconds"][1]


def test_a_resumed_run_is_measured_by_its_own_record(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    done = run_of(study, "mixed", 1)
    finish(study, done, seconds=60.0, resumes=1)
    last_attempt = benchmark_paths.train_benchmark(BENCHMARKS, "tiny", "mixed", 1, done.fingerprint)
    fsio.write_text(last_attempt, json.dumps({"s": 5.0}) + "\n")
    assert runs(plan(capsys))["tiny/mixed/seed2"]["train_source"].endswith("(run.json)")


@pytest.mark.slow
def test_a_run_that_has_begun_goes_by_its_own_speed(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"event": "start", "at_update": 0},
        {"update": 2, "split": "train", "seconds": 20.0},
        {"event": "resume", "at_update": 2},
        {"update": 3, "split": "train", "seconds": 10.0},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines) + '{"update": 4, "sec'
    fsio.write_text(folder(study, run_of(study, "mixed", 1)) / "metrics.jsonl", text)
    found = runs(plan(capsys))["tiny/mixed/seed1"]
    assert (found["state"], found["updates_made"], found["updates"]) == ("begun", 3, 6)
    assert found["train_source"] == "measured: this run, its first 3 updates"
    assert found["train_seconds"][0] < 30.0 < found["train_seconds"][1]


def test_a_run_whose_folder_was_removed_is_known(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    gone = run_of(study, "mixed", 2)
    fsio.write_text(benchmark_paths.train_benchmark(BENCHMARKS, "tiny", "mixed", 2, gone.fingerprint), '{"s": 40}\n')
    found = runs(plan(capsys))["tiny/mixed/seed2"]
    assert found["train_source"] == "measured: this run, whose folder was removed (benchmark record)"


def test_records_that_cannot_be_read_are_none(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    fsio.write_text(Path("results/runs/tiny/other/seed1-00000000/run.json"), '{"spec": {"builder": "?"}}')
    fsio.write_text(Path("results/runs/tiny/other/seed2-00000000/run.json"), "{")
    assert runs(plan(capsys))["tiny/mixed/seed1"]["train_source"].startswith("rule of thumb")


def test_a_run_out_of_a_bundle_is_measured_by_the_vocabulary_of_its_task(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_of(study, "mixed", 1)
    finish(study, done, seconds=1.0)
    segmentation = folder(study, done) / "segmentation"
    shutil.rmtree(segmentation)
    assert runs(plan(capsys))["tiny/mixed/seed2"]["train_source"].startswith("rule of thumb")
    for lang in ("en", "fr"):
        fsio.write_lines(Path(ResultPaths(study, Path("results")).task("tiny")) / f"vocab.{lang}.txt", ["a", "b", "c"])
    assert runs(plan(capsys))["tiny/mixed/seed2"]["train_source"].startswith("measured: seed 1 of the same run")


@pytest.mark.slow
def test_cells_are_ready_when_all_their_files_are(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    def table() -> dict[str, Any]:
        return next(one for one in plan(capsys)["tables"] if one["key"] == "jiang2020-table2")

    before = table()
    finish(study, run_of(study, "mixed", 1), seconds=1.0)
    assert table()["ready"] == before["ready"] == 0
    finish(study, run_of(study, "mixed", 2), seconds=1.0)
    columns = 6  # two domains and their average, in two metrics
    assert table()["ready"] == columns
    assert sum(table()[key] for key in ("ready", "to_come", "cannot")) == sum(row["cells"] for row in table()["rows"])
    row = next(row for row in table()["rows"] if row["runs"] == ["tiny/mixed/seed1", "tiny/mixed/seed2"])
    assert row["cells"] == columns


def test_what_cannot_be_made_is_said_with_its_reason(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = Path("config/corpora/tiny-law.yaml")
    config = yaml.safe_load(corpus.read_text(encoding="utf-8"))
    corpus.write_text(
        yaml.safe_dump({**config, "source": {"provider": "local", "folder": "nowhere"}}), encoding="utf-8"
    )
    found = plan(capsys)
    assert {one["state"] for one in found["runs"]} == {"cannot be made"}
    assert all("nowhere" in one["missing"] for one in found["runs"])
    assert found["left_seconds"] == [0.0, 0.0]
    table = found["tables"][0]
    assert (table["ready"], table["to_come"]) == (0, 0)
    assert all(row["runs"] for row in table["rows"] if row["label"] != "Copy the source")
    assert main(["plan", "tiny"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Cannot be made 4 runs of tiny, " in text and " cells of jiang2020-table2, " in text
    assert text.count("needs the files") == 1, "a thing that lacks is said once"


def test_weights_that_are_not_here_are_named_with_the_cells_that_lack_them(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {"methods": ["mixed", "mbart50-finetuned"], "tables": {"song2026-table5": {"task": "tiny"}}}
    path = Path("config/studies/tiny.yaml")
    config = {**yaml.safe_load(path.read_text(encoding="utf-8")), **changes, "figures": {}}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    found = plan(capsys)
    # Two systems and the copied source; two domains and their average, in four metrics, of which COMET is one.
    [table] = found["tables"]
    assert (table["ready"], table["to_come"], table["cannot"]) == (0, 2 * 6, 9 + 2 * 3)
    mbart, comet = found["absent"]
    assert mbart["runs"] == {"tiny": 2} and mbart["cells"] == {"song2026-table5": [9, 27]}
    assert comet["runs"] == {} and comet["cells"] == {"song2026-table5": [9, 27]}
    assert "set `revision` under" in mbart["reason"] and "hf download Unbabel/wmt22-comet-da" in comet["reason"]
    # What is scored in BLEU and chrF is ready without COMET.
    for seed in (1, 2):
        finish(study, run_of(study, "mixed", seed), seconds=1.0)
    assert plan(capsys)["tables"][0]["ready"] == 6
    assert main(["plan", "tiny"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"2 runs of tiny, 9 of 27 cells of song2026-table5: {mbart['reason']}" in text
    assert f"9 of 27 cells of song2026-table5: {comet['reason']}" in text
    assert main(["plan", "tiny", "--cells", "song2026-table5"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "6 cells ready, 6 to come, 15 cannot be made" in text
    assert "(9 cells) 3 cannot be made [2] tiny/mixed/seed1" in text and "(9 cells) cannot be made [1, 2]" in text
    assert f"[2] 9 of 27 cells cannot be made: {comet['reason']}" in text


@pytest.mark.slow
def test_where_there_is_slurm_its_jobs_compute(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    size = {"up_to_parameters": 10**9, "mem_mb": 1000, "train_minutes": 9, "translate_minutes": 9}
    Path("config/cluster.yaml").write_text(yaml.safe_dump({"sizes": {"any": size}}), encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    here = plan(capsys, "--config", "device=cpu")
    assert (here["device"], here["on_cluster"]) == ("cpu", False)
    (tmp_path / "sbatch").write_text("#!/bin/sh\n")
    (tmp_path / "sbatch").chmod(0o755)
    there = plan(capsys, "--config", "device=auto")
    assert (there["device"], there["on_cluster"]) == ("cuda", True)
    assert main(["plan", "tiny", "--config", "device=auto"]) == 0
    text = capsys.readouterr().out
    assert "Time of one GPU of the cluster: " in text and "Memory of the GPU: " in text
    assert "GFLOP/s per GPU" in text and "CPU" not in text
    assert main(["plan", "tiny", "--config", "device=cpu"]) == 0
    text = capsys.readouterr().out
    assert "Time of one CPU thread of the cluster: " in text and "Memory of a node: " in text


def test_text_has_80_columns_and_names_its_sources(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    finish(study, run_of(study, "mixed", 1), seconds=1000.0)
    assert main(["plan", "tiny", "--config", "seeds=3"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "6 runs (1 task, 3 seeds): 1 done, 5 to do." in text
    assert "] measured: seed 1 of the same run on Processor (run.json)\n" in text
    assert "Mixed, seed 1: trained by code that run.json does not record." in " ".join(text.split())
    assert main(["plan", "tiny", "--cells", "jiang2020-table2"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "tiny/mixed/seed1" in text and "scored" in text


def test_the_study_of_the_config_file_is_the_default(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--config", "study=tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["study"] == "tiny"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tiny", "--cells", "jiang2020-table3"], "no table 'jiang2020-table3' (did you mean 'jiang2020-table2'?)"),
        (["--config", "seeds=2", "tiny"], "found 'tiny', expected KEY=VALUE"),
        (["tiny", "--config", "sedes=2"], "unknown key 'sedes' (did you mean 'seeds'?)"),
        (["tiny", "--config", "seeds=[1"], "the value of seeds is not YAML"),
        (["tiney"], "did you mean 'tiny'?"),
    ],
)
def test_mistakes_are_one_line(
    study: Study, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert main(["plan", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_translation_times_of_one_method_on_two_tasks_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.create(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    project.edit("config/config.yaml", "device: auto", "device: cpu")
    large = yaml.safe_load(project.path("config/tasks/tiny.yaml").read_text())
    for domain in large["domains"].values():
        domain["test"] = 50
    project.write("config/tasks/large.yaml", large)
    project.update("config/studies/tiny.yaml", tasks=["tiny", "large"])
    study = resolve(Path("config"), "tiny", Path("resources/corpora"), 2)
    for task, seconds in (("tiny", 10.0), ("large", 700.0)):
        [run, _] = [one for one in study.runs if (one.task, one.directory) == (task, "mixed")]
        [path] = benchmark_paths.decode_benchmarks(BENCHMARKS, study, run)
        fsio.write_text(path, json.dumps({"s": seconds}) + "\n")
    found = runs(plan(capsys, "--config", "seeds=2"))
    for task, seconds in (("tiny", 10.0), ("large", 700.0)):
        low, high = found[f"{task}/mixed/seed2"]["decode_seconds"]
        assert low < seconds < high, task
        assert f"that of {task}/mixed/seed1 (" in found[f"{task}/mixed/seed2"]["decode_source"]
