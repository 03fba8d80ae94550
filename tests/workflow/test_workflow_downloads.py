"""From nothing to the report in one call: corpora that nobody knows are downloaded, recorded, and trained on."""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from workflow.publisher import Publisher, archives, publishing
from workflow.snakemake_project import SIZES, TRAINING, Project

from mdnmt.config.study import load_study

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
UNPINNED = {"iwslt14-de-en", "opus-ecb-en-fr", "opus-ted2013-en-fr"}
STUDY = {
    "title": "Open, in toy size",
    "description": "The tasks of `open`, one method, few tables.",
    "tasks": ["jiang-en-de", "zhang-en-fr", "song-en-fr"],
    "methods": ["mixed"],
    "options": [{"set": {"architecture": SIZES, "training": {**TRAINING, "max_updates": 2, "validate_every": 1}}}],
    "decoding": {"beam_size": 1, "max_sentences": 2},
    "comparison": {"num_resamples": 10},
    "tables": {
        "jiang2020-table1-en-de": {"task": "jiang-en-de"},
        "zhang2021-table2": {"task": "zhang-en-fr"},
        "song2026-table2-en-fr": {"task": "song-en-fr"},
    },
    "figures": {},
}


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as found:
        yield found


def toy_open(folder: Path, publisher: Publisher) -> tuple[Project, dict[str, list[str]]]:
    """Return a project whose study `open` is small, and the paths of its corpora at the publisher."""
    project = Project.create(folder)
    project.environment["no_proxy"] = "*"
    project.write("config/studies/open.yaml", STUDY)
    merges = {"segmentation__bpe_merge_operations": 20, "segmentation__merge_operations": {"ted": 20}}
    project.update("config/tasks/jiang-en-de.yaml", **merges)
    small = {"valid": 3, "test": 3}
    domains = {"zhang-en-fr": ("ecb", "kde4", "iwslt"), "song-en-fr": ("ecb", "news", "ted")}
    for task, names in domains.items():
        changes = {f"domains__{name}__{key}": count for name in names for key, count in small.items()}
        project.update(f"config/tasks/{task}.yaml", **changes)
    project.update("config/tasks/zhang-en-fr.yaml", segmentation__bpe_merge_operations=20)
    project.update("config/tasks/song-en-fr.yaml", domains__news__train=100)
    paths = {name: publisher.publish(project.path("config"), name, data) for name, data in archives().items()}
    return project, paths


def test_the_archives_are_those_of_tasks_of_the_open_study() -> None:
    tasks: set[str] = set(STUDY["tasks"])  # type: ignore[call-overload]
    assert tasks < {choice.task for choice in load_study(ROOT / "config", "open").tables.values()}
    named = {
        corpus
        for task in tasks
        for domain in yaml.safe_load((ROOT / "config" / "tasks" / f"{task}.yaml").read_text())["domains"].values()
        for corpus in domain["corpora"]
    }
    assert named == set(archives())


def test_one_call_from_nothing_to_the_report(tmp_path: Path, publisher: Publisher) -> None:
    project, paths = toy_open(tmp_path / "project", publisher)
    tracked = {name: project.path(name).read_bytes() for name in ("config/corpora.lock.yaml", "config/tasks.lock.yaml")}
    [ecb], [kde4], [ted] = (paths[name] for name in ("opus-ecb-en-fr", "opus-kde4-en-fr", "opus-ted2013-en-fr"))
    del publisher.files[paths["europarl-v7-de-en"][0]]  # its other address has it
    old, new = paths["iwslt14-de-en"][0], "/moved/de-en.tgz"
    publisher.files[new], publisher.moved[old] = publisher.files[old], new
    call = ("--cores", "2", "--config", "study=open")

    # A look at the plan writes nothing and asks nobody.
    plan = project.plan("--config", "study=open")
    assert plan.outputs["fetch"] == {f"resources/corpora/{name}/corpus.json" for name in UNPINNED}
    assert {"first_downloads", "table", "report"} <= plan.rules and not {"text", "arrays", "train"} & plan.rules
    printed = project.snakemake("-n", "--config", "study=open")  # what waits for them is listed all the same
    shown = "task song-en-fr is shown with addresses that change with its first downloads: opus-ecb-en-fr, opus-ted2013"
    assert shown in printed and re.search(r"^train +3$", printed, flags=re.MULTILINE)
    assert not re.search(r"^first_downloads ", printed, flags=re.MULTILINE)
    printed = project.snakemake("-n", "--config", "study=open", "first_downloads=false")
    needed = "needs its first download, which will be recorded: `mdnmt fetch iwslt14-de-en`"
    assert f"task jiang-en-de is left out: it {needed}" in printed
    assert publisher.requests == [] and not project.path("resources/corpora").exists()

    # Killed in the middle of a download.
    publisher.stalls = {ecb}
    process = project.start(*call)
    assert publisher.stalled.wait(120)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    publisher.go_on.set()
    assert not project.path("resources/corpora/opus-ecb-en-fr/corpus.json").exists()
    assert project.mdnmt("unlock").returncode == 0

    # Once more: a cut, a redirect, and a file that is not the one that was pinned.
    publisher.cut, publisher.wrong = {ecb, ted}, {kde4}
    printed = project.snakemake(*call, status=1)
    right = hashlib.sha256(publisher.files[kde4]).hexdigest()
    assert f"KDE4-v2-en-fr.txt.zip: no address has it: {publisher.host}{kde4}: has sha256" in printed
    assert (
        f"expected {right}" in printed
        and f"expected {right}" in project.path("logs/fetch/opus-kde4-en-fr.log").read_text()
    )
    assert not project.path("resources/corpora/opus-kde4-en-fr/corpus.json").exists()

    # And from there to the report.
    project.snakemake(*call)
    assert [asked for path, asked in publisher.requests if path == ecb and asked]  # gone on, not begun again
    assert (new, "") in publisher.requests
    report = project.path("results/open/report.html").read_text()
    assert all(f"mdnmt fetch {name}" not in report for name in UNPINNED)
    rows = [line.split("\t") for line in project.path("results/open/runs.tsv").read_text().splitlines()[1:]]
    assert [row[-2] for row in rows] == ["done"] * 3

    # The checksums are recorded in the checkout's own lock, and git has nothing to say.
    locked = yaml.safe_load(project.path("config/corpora.own.lock.yaml").read_text())["corpora"]
    assert set(locked) == UNPINNED
    assert locked["opus-ecb-en-fr"][0]["sha256"] == hashlib.sha256(publisher.files[ecb]).hexdigest()
    assert locked["iwslt14-de-en"][0]["origin"] == publisher.host + old
    assert {name: project.path(name).read_bytes() for name in tracked} == tracked

    # Everything is known now: nothing is left to do, with or without the downloaded files, and with the rows pinned.
    asked = len(publisher.requests)
    assert project.mdnmt("pin").returncode == 0 and not project.path("config/corpora.own.lock.yaml").exists()
    for name in paths:
        project.path(f"resources/corpora/{name}/corpus.json").unlink()
    assert project.plan("--config", "study=open").rules == set()
    assert len(publisher.requests) == asked

    # Bytes that differ from the recorded ones are refused.
    project.path("resources/corpora/opus-ted2013-en-fr/TED2013-v1.1-en-fr.txt.zip").unlink()
    publisher.files[ted] = bytes(byte ^ 1 for byte in publisher.files[ted])
    done = project.mdnmt("fetch", "opus-ted2013-en-fr")
    assert done.returncode == 2 and "expected" in done.stderr and "Traceback" not in done.stderr
