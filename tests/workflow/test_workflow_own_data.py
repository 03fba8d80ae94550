"""docs/your-own-data.md, done as it says at a tiny size: plain files and two YAML files become a table."""

from __future__ import annotations

import csv
import random
import re
import shlex
from pathlib import Path

import pytest
import yaml
from unit.config_docs.pages import ROOT, blocks, commands, named_files
from workflow.snakemake_project import SIZES, TRAINING, Project

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "your-own-data.md"
FILES = named_files(PAGE)
FETCHES = [shlex.split(line)[1:] for line in commands(PAGE) if line.startswith("mdnmt fetch ")]
DOMAINS = ("law", "economy", "medical")


def stand_in(project: Project, name: str) -> None:
    """Put a table of some lines in the place of a package of the registries."""
    draw = random.Random(name)
    words = [f"{name[:3]}{letter}" for letter in "abcdefgh"]
    folder = project.path(f"stand-in/{name}")
    folder.mkdir(parents=True)
    with (folder / "train.tsv").open("w") as table:
        for _ in range(150):
            line = draw.choices(words, k=draw.randint(3, 9))
            table.write(f"{' '.join(line)}\t{' '.join(word[::-1] for word in line)}\n")
    source = {"provider": "local", "folder": f"stand-in/{name}"}
    reader = {"name": "tsv", "columns": {"en": 1, "fr": 2}}
    value = {"title": name, "languages": ["en", "fr"], "source": source, "reader": reader}
    project.write(f"config/corpora/{name}.yaml", value)


@pytest.fixture
def mine(tmp_path: Path) -> Project:
    """Return a project with the page's files, in which everything is as small as can be."""
    project = Project.create(tmp_path / "project")
    for fetch in FETCHES:
        stand_in(project, fetch[1])
    for name, text in FILES.items():
        project.path(name).write_text(re.sub(r"\b500\b", "5", text))
    project.update("config/tasks/my-en-fr.yaml", segmentation__bpe_merge_operations=25)
    project.update("config/studies/my-study.yaml", options=[{"set": {"architecture": SIZES, "training": TRAINING}}])
    project.update("config/studies/my-study.yaml", comparison={"num_resamples": 20}, measure_repeats=1)
    return project


def test_plain_files_and_one_yaml_become_a_table(mine: Project) -> None:
    assert set(FILES) == {"config/tasks/my-en-fr.yaml", "config/studies/my-study.yaml"}
    before = set(mine.path("config/corpora").iterdir())
    locks = {name: mine.path(name).read_bytes() for name in ("config/corpora.lock.yaml", "config/tasks.lock.yaml")}
    assert "needs your own text: texts/law: no such folder" in mine.snakemake("-n", "--config", "study=my-study")
    for fetch in FETCHES:
        done = mine.mdnmt(*fetch)
        assert done.returncode == 0, done.stderr
    asked = mine.mdnmt("doctor", "my-en-fr")
    assert "nothing to fix" in asked.stdout or " 0 error(s)" in asked.stdout, asked.stdout + asked.stderr
    assert mine.mdnmt("plan", "my-study").returncode == 0
    done = mine.mdnmt("run", "my-study", "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    with mine.path("results/my-study/tables/mdnmt-systems.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    trained = [row for row in rows if row["method"] in ("mixed", "waldm-edc")]
    assert {row["column"] for row in trained} >= set(DOMAINS) and all(row["mean"] for row in trained)
    assert "Identity of train/valid/test: Law " in mine.path("results/my-study/tables/mdnmt-systems.md").read_text()
    assert mine.path("results/my-study/report.html").is_file()
    assert set(mine.path("config/corpora").iterdir()) == before, "no file a corpus is needed"
    # Files under version control stay as they are; the task is recorded beside them.
    assert {name: mine.path(name).read_bytes() for name in locks} == locks
    assert "my-en-fr" in mine.path("config/tasks.own.lock.yaml").read_text()
    # Other names, the same text: nothing is made again. Another line: everything, beside what is there.
    for lang in ("en", "fr"):
        mine.path(f"texts/law/train.{lang}").rename(mine.path(f"texts/law/acts.{lang}"))
    assert mine.plan("--config", "study=my-study").rules <= {"fetch"}
    with mine.path("texts/law/acts.fr").open("a") as french, mine.path("texts/law/acts.en").open("a") as english:
        print("mot de plus", file=french)
        print("one more word", file=english)
    assert {"text", "arrays", "train", "table"} <= mine.plan("--config", "study=my-study").rules


def test_the_page_has_a_folder_for_each_command_and_each_domain() -> None:
    task = yaml.safe_load(FILES["config/tasks/my-en-fr.yaml"])
    folders = [domain["folder"] for domain in task["domains"].values()]
    assert [fetch[fetch.index("--text") + 1] for fetch in FETCHES] == folders
    assert len(FILES["config/tasks/my-en-fr.yaml"].splitlines()) <= 10
    small = next(block.text for block in blocks(PAGE, "yaml") if block.text.startswith("options:"))
    study = yaml.safe_load(FILES["config/studies/my-study.yaml"])
    assert set(yaml.safe_load(small)) <= {*study, "decoding"}
