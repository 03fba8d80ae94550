"""The real workflow: from nothing to the page, again, and after something was removed."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from shutil import rmtree

import pytest
from workflow.snakemake_project import STUDY, Project

from mdnmt import results
from mdnmt.train.metrics_log import read_metrics

pytestmark = pytest.mark.slow


def runs(project: Project) -> dict[str, Path]:
    """Return method -> folder of the run, as runs.tsv has them."""
    with project.path("results/tiny/runs.tsv").open() as handle:
        return {row["method"]: project.path(row["run_dir"]) for row in csv.DictReader(handle, delimiter="\t")}


def test_everything_is_there(finished: Project) -> None:
    made = finished.path("results/tiny")
    page = (made / "report.html").read_text()
    for key in STUDY["tables"]:
        assert {path.suffix for path in made.glob(f"tables/{key}.*")} == {".csv", ".md", ".tex", ".html", ".json"}
    assert "Test BLEU of each system on each domain" in page and "Generated text and toy sizes." in page
    for key in STUDY["figures"]:
        assert (made / f"figures/{key}.png").read_bytes().startswith(b"\x89PNG")
        assert (made / f"figures/{key}.pdf").read_bytes().startswith(b"%PDF")
    assert set(runs(finished)) == {"mixed", "waldm-edc"}
    for folder in runs(finished).values():
        record = json.loads((folder / "run.json").read_text())
        assert record["updates"] == 6 and record["resumes"] == 0
        assert folder.name == f"seed1-{record['fingerprint']}"
    assert not list(finished.path("resources").rglob("*.part")) and not list(finished.folder.rglob("*.tmp"))


def test_the_table_of_numbers_holds_every_score_of_the_results_table(finished: Project) -> None:
    numbers = results.load("tiny", finished.path("results"))
    assert set(numbers["method"]) == {"copy-source", "mixed", "waldm-edc"}
    with finished.path("results/tiny/tables/jiang2020-table2.csv").open() as handle:
        cells = [row for row in csv.DictReader(handle) if row["values"] and row["column"] != "avg"]
    assert len({cell["method"] for cell in cells}) == 3
    scored = numbers.query("at == '' and split == 'test'").set_index(["method", "domain", "metric"])["value"]
    for cell in cells:
        assert scored[cell["method"], cell["column"], cell["metric"]] == float(cell["values"])


def test_the_default_profile_is_in_use_and_nothing_is_left_to_do(finished: Project) -> None:
    printed = finished.snakemake("--cores", "2")
    assert "profile" in printed and "profiles/default" in printed
    assert "Nothing to be done" in printed


def test_jobs_are_looked_for_when_one_has_ended_and_not_every_second_besides(finished: Project) -> None:
    printed = (finished.folder.parent / "printed").read_text(encoding="utf-8")
    jobs = printed.count("Finished jobid")
    assert jobs > 10
    # Each look that planned another a second later would make them hundreds here.
    assert printed.count("Ready jobs: ") <= 2 * jobs + 2


def test_a_removed_run_is_made_again_and_a_forced_one_goes_on(project: Project) -> None:
    mixed, mixing = runs(project)["mixed"], runs(project)["waldm-edc"]
    weights = {folder: (folder / "model.safetensors").read_bytes() for folder in (mixed, mixing)}
    untouched = {path: path.read_bytes() for path in [mixing / "metrics.jsonl", *mixing.glob("ckpt/*/manifest.json")]}
    rmtree(mixed)

    plan = project.plan()
    assert plan.trained() == ["mixed/seed1"]
    assert len(plan.outputs["decode"]) == len(plan.outputs["score"]) == 1
    assert plan.rules <= {
        "train",
        "decode",
        "score",
        "significance",
        "measure",
        "numbers",
        "claims",
        "table",
        "figure",
        "report",
    }

    # Forced, Snakemake removes the declared outputs of the other run; its checkpoints are not among them.
    project.snakemake("--cores", "2", "models", "--forcerun", "train")
    assert {folder: (folder / "model.safetensors").read_bytes() for folder in weights} == weights
    events = {
        folder: [r["event"] for r in read_metrics(folder / "metrics.jsonl") if "event" in r] for folder in weights
    }
    assert events == {mixed: ["start", "end"], mixing: ["start", "end", "resume", "end"]}
    for path, content in untouched.items():
        assert path.read_bytes().startswith(content)


def test_a_record_that_is_gone_is_written_again(project: Project) -> None:
    run = next(project.folder.glob("results/runs/tiny/mixed/seed1-*"))
    weights = (run / "model.safetensors").read_bytes()
    (run / "curves.tsv").unlink()
    assert "train" in project.plan().rules
    project.snakemake("--cores", "2", "--", str((run / "curves.tsv").relative_to(project.folder)))
    assert (run / "curves.tsv").is_file() and (run / "model.safetensors").read_bytes() == weights
    resumed = [record for record in read_metrics(run / "metrics.jsonl") if record.get("event") == "resume"]
    assert [record["at_update"] for record in resumed] == [6]


def test_a_removed_file_of_tests_is_made_again_though_tables_exist(project: Project) -> None:
    file = project.path("results/tiny/significance/jiang2020-table2.json")
    before = file.read_bytes()
    file.unlink()
    project.snakemake("--cores", "2")
    assert file.read_bytes() == before


def test_a_missing_copy_of_the_vocabularies_is_written_again_without_training(project: Project) -> None:
    run = next(project.folder.glob("results/runs/tiny/mixed/seed1-*"))
    copied, translations = run / "segmentation", next(run.glob("test-*/hyp"))
    before = {path: path.read_bytes() for folder in (copied, translations) for path in folder.glob("[a-z]*")}
    rmtree(copied)
    rmtree(translations)
    refused = project.snakemake("--cores", "1", "translations", status=1)
    record = run.relative_to(project.folder) / "run.json"
    assert f"remove {record}, then start the same command again" in refused
    project.path(str(record)).unlink()
    project.snakemake("--cores", "2", "translations")
    assert {path: path.read_bytes() for path in before} == before
    assert not [line for line in read_metrics(run / "metrics.jsonl") if line.get("event") == "start"][1:]
