"""The benchmark records that `mdnmt plan` looks at are those that the workflow writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.operations.plan import benchmark_paths
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(Project.create(tmp_path / "project").folder)
    return resolve(Path("config"), "tiny", Path("resources/corpora"), 2)


def test_benchmark_records_stand_where_the_rules_write_them(study: Study) -> None:
    rules = "".join(
        (ROOT / "workflow" / "rules" / f"{name}.smk").read_text(encoding="utf-8")
        for name in ("train", "decode", "tasks")
    )
    run = study.runs[0]
    wildcards = {
        "task": run.task,
        "method": run.directory,
        "seed": run.seed,
        "fp": run.fingerprint,
        "split": run.split,
        "test_fp": study.decode_fingerprint(run),
    }
    written = {line.strip().strip('"').format(**wildcards) for line in rules.splitlines() if "logs/benchmarks/" in line}
    folder = Path("logs/benchmarks")
    assert str(benchmark_paths.train_benchmark(folder, run.task, run.directory, run.seed, run.fingerprint)) in written
    assert str(benchmark_paths.decode_benchmarks(folder, study, run)[-1]) in written
    *_, arrays = benchmark_paths.task_benchmarks(folder, run.task, run.fingerprint, {})
    assert str(arrays) in written


def test_names_of_runs_are_their_own(study: Study) -> None:
    names = [benchmark_paths.name_of(run) for run in study.runs]
    assert len(set(names)) == len(names) == 4
