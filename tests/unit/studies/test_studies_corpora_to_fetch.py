"""Input functions that wait for first downloads, and the study that is resolved again behind them."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.corpora.corpus_lock import LockRow, add_rows
from mdnmt.corpora.fetch_by_name import fetch_by_name
from mdnmt.operations.plan.plan_text import plan_text
from mdnmt.operations.plan.study_plan import make_plan
from mdnmt.studies.corpora_to_fetch import FirstDownloads, spec_to_fetch, to_fetch
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study


class NotYet(Exception):
    """In the place of what Snakemake raises for a checkpoint that is not done."""


class Project:
    """A study of one task whose corpus nobody has downloaded, and one task of generated text."""

    def __init__(self, root: Path) -> None:
        self.config, self.corpora = root / "config", root / "corpora"
        source = {"provider": "http", "urls": ["https://example.org/toy.zip"], "file": "toy.zip"}
        self.write(
            "corpora/toy", {"title": "T", "languages": ["en", "fr"], "source": source, "reader": {"name": "moses"}}
        )
        domains = {name: {"corpora": ["toy"], "valid": 1, "test": 1} for name in ("a", "b")}
        task = {"title": "Toy", "source_lang": "en", "target_lang": "fr", "domains": domains}
        self.write("tasks/toy", task)
        study = {"title": "Mine", "description": "x", "tasks": ["toy"], "methods": ["mixed"]}
        self.write("studies/mine", study)
        self.write("methods/mixed", {"label": "Mixed", "builder": "transformer"})

    def write(self, name: str, value: object) -> None:
        path = self.config / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(value))

    def resolve(self, **options: Any) -> Study:
        return resolve(self.config, "mine", self.corpora, **options)

    def download(self, source: Any, wanted: Any, folder: Path) -> str:
        with zipfile.ZipFile(folder / source.file, "w") as archive:
            for lang in ("en", "fr"):
                archive.writestr(f"Toy.en-fr.{lang}", f"one {lang}\ntwo {lang}\n")
        return "https://example.org/toy.zip"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_inputs_wait_and_then_see_the_study_with_its_addresses(project: Project) -> None:
    study, done, warned = project.resolve(), set(), []
    downloads = FirstDownloads(study, allowed=True, resolve_again=project.resolve, warn=warned.append)
    assert downloads.pending == {"toy": ("toy",)}

    def wait(task: str) -> None:
        if task not in done:
            raise NotYet

    inputs = downloads.after(wait, lambda wildcards: [wildcards], lambda _: [run.fingerprint for run in study.runs])
    assert study.tasks["toy"].fingerprint == "missing"
    assert inputs("other") == ["missing"]  # nothing of the task is needed: nobody waits
    with pytest.raises(NotYet):
        inputs("toy")
    fetch_by_name(project.config, "toy", project.corpora, project.download)
    done.add("toy")
    assert inputs("toy") == [run.fingerprint for run in project.resolve().runs] != ["missing"]
    assert warned == []
    # The next call knows all of it.
    assert FirstDownloads(project.resolve(), allowed=True, resolve_again=project.resolve, warn=print).pending == {}


def test_a_task_that_cannot_be_made_after_all_is_left_out_with_its_reason(project: Project) -> None:
    study, warned = project.resolve(), list[str]()
    downloads = FirstDownloads(study, allowed=True, resolve_again=project.resolve, warn=warned.append)
    inputs = downloads.after(lambda task: None, lambda _: ["toy"], lambda _: [run.spec for run in study.runs])
    assert inputs("x") == [None]  # nothing was recorded
    assert warned == ["task toy is left out: it needs its first download, which will be recorded: `mdnmt fetch toy`"]


def test_nothing_is_pending_where_it_is_not_allowed(project: Project) -> None:
    study = project.resolve()
    assert FirstDownloads(study, allowed=False, resolve_again=project.resolve, warn=print).pending == {}


def test_a_corpus_is_left_alone_only_if_it_is_there_and_its_task_is_made(project: Project) -> None:
    study = project.resolve()
    assert to_fetch(study, project.corpora, lambda task: True) == {"toy"}, "the task is made, the corpus was removed"
    fetch_by_name(project.config, "toy", project.corpora, project.download)
    assert to_fetch(study, project.corpora, lambda task: False) == {"toy"}, "only the corpus is there"
    assert to_fetch(study, project.corpora, lambda task: True) == set()


def test_a_recorded_checksum_is_no_reason_to_fetch_again(project: Project) -> None:
    before = project.resolve().corpus("toy")
    assert spec_to_fetch(project.resolve(), "toy", project.config, project.corpora).corpus.files[0].sha256 is None
    row = LockRow(file="toy.zip", size_bytes=3, sha256="1" * 64, origin="", date=datetime.date(2026, 1, 1))
    add_rows(project.config, "toy", {"toy.zip": row})
    assert project.resolve().corpus("toy") == before
    spec = spec_to_fetch(project.resolve(), "toy", project.config, project.corpora)
    assert spec.corpus.files[0].sha256 == "1" * 64


def test_what_waits_for_a_download_is_planned_with_a_placeholder(project: Project, tmp_path: Path) -> None:
    study = project.resolve(provisional=True)
    task = study.tasks["toy"]
    assert (task.missing, task.first_downloads) == (None, ("toy",)) and task.spec is not None
    assert len(study.makeable()) == 1
    # Nobody waits for it.
    assert FirstDownloads(study, allowed=True, resolve_again=project.resolve, warn=print).pending == {}
    plan = make_plan(study, tmp_path / "results", project.corpora, tmp_path / "benchmarks", "cpu")
    assert [one.state for one in plan.runs] == ["to do"]
    assert plan.tasks[0].corpora[0].size_bytes is None
    assert "Downloaded first, and their checksums recorded: toy." in plan_text(plan)
    # The workflow never sees that address.
    assert ResultPaths(study, tmp_path).task("toy") != ResultPaths(project.resolve(), tmp_path).task("toy")
