"""The task and study `opus-domains` in small: archives of the real layouts, and every row of the study trained."""

from __future__ import annotations

import csv
import json
import zipfile
from itertools import islice
from pathlib import Path

import pytest
import yaml
from workflow.snakemake_project import ROOT, SIZES, TRAINING, Project

from mdnmt.config.corpus_reader import GeneratedReader
from mdnmt.corpora.generated import pairs

pytestmark = pytest.mark.slow

DOMAINS = ("medical", "law", "it", "koran", "subtitles")
TRAIN, HELD_OUT = 120, 12
ARCHIVE = "resources/manual/multi_domain_new_split.zip"


def text(domain: str) -> list[tuple[str, str]]:
    """Return different sentence pairs of one domain."""
    grammar = GeneratedReader(name="generated", domain=DOMAINS.index(domain), sentences=3000)
    return list(islice(dict.fromkeys(pairs(grammar, "de", "en")), TRAIN + 2 * HELD_OUT))


def pack(path: Path, leak: bool = False, short: str = "") -> None:
    """Write an archive like the published one; with `leak`, a test sentence of law is in the training text of IT."""
    path.parent.mkdir(parents=True, exist_ok=True)
    leaked = text("law")[TRAIN + HELD_OUT]
    with zipfile.ZipFile(path, "w") as archive:
        for domain in DOMAINS:
            found = text(domain)
            splits = {"train": found[:TRAIN], "dev": found[TRAIN:-HELD_OUT], "test": found[-HELD_OUT:]}
            if leak and domain == "it":
                splits["train"] = [*splits["train"][:-1], leaked]
            if domain == short:
                splits["train"] = splits["train"][:-1]
            for split, chosen in splits.items():
                for lang, side in zip(("de", "en"), zip(*chosen, strict=True), strict=True):
                    archive.writestr(f"{domain}/{split}.{lang}", "".join(f"{line}\n" for line in side))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project in which the task and its corpora have the sizes of the small archive."""
    project = Project.create(tmp_path / "project")
    task = yaml.safe_load(project.path("config/tasks/opus-domains.yaml").read_text())
    for domain in task["domains"].values():
        domain |= {"valid": HELD_OUT, "test": HELD_OUT}
    task["domains"]["subtitles"]["train"] = 100
    task["segmentation"]["bpe_merge_operations"] = 100
    project.write("config/tasks/opus-domains.yaml", task)
    for domain in DOMAINS:
        project.update(f"config/corpora/opus-domains-{domain}.yaml", pairs=TRAIN)
    study = yaml.safe_load(project.path("config/studies/opus-domains.yaml").read_text())
    small = {**TRAINING, "max_updates": 4, "validate_every": 2, "patience": 0}
    study["options"] = [{"set": {"architecture": SIZES, "training": small}}]
    study |= {"seeds": 1, "combine_jobs": True, "decoding": {"beam_size": 1}, "comparison": {"num_resamples": 10}}
    project.write("config/studies/opus-domains.yaml", study)
    return project


def test_every_row_is_trained_on_the_published_split(project: Project) -> None:
    pack(project.path(ARCHIVE), leak=True)
    project.snakemake("data", "--cores", "2", "--config", "study=opus-domains")
    done = project.mdnmt("campaign", "opus-domains", "--jobs", "2")
    assert done.returncode == 0 and "18 of 18 runs are done" in done.stdout, done.stdout + done.stderr
    done = project.mdnmt("exhibit", "opus-domains", "mdnmt-systems")
    assert done.returncode == 0, done.stderr
    with project.path("results/opus-domains/partial/tables/mdnmt-systems.csv").open(newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if row["mean"]]
    methods = yaml.safe_load((ROOT / "config" / "studies" / "opus-domains.yaml").read_text())["methods"]
    of_each = {f"{method}-{domain}" for method in ("single", "finetuned") for domain in DOMAINS}
    assert {row["method"] for row in rows} == {*methods, *of_each} - {"single", "finetuned"}
    for method in {*methods} - {"single", "finetuned"}:
        assert {row["column"] for row in rows if row["method"] == method} >= set(DOMAINS)
    [folder] = project.path("results/tasks").glob("opus-domains-*")
    stats = json.loads((folder / "stats.json").read_text())["domains"]
    sizes = {split: {name: stats[name][split]["sentences"] for name in DOMAINS} for split in ("train", "valid", "test")}
    assert sizes["valid"] == sizes["test"] == dict.fromkeys(DOMAINS, HELD_OUT)
    # Of subtitles a sample; and the leaked sentence is gone.
    assert sizes["train"] == {**dict.fromkeys(DOMAINS, TRAIN), "it": TRAIN - 1, "subtitles": 100}


def test_an_archive_of_another_size_is_refused(project: Project) -> None:
    pack(project.path(ARCHIVE), short="law")
    done = project.mdnmt("fetch", *(f"opus-domains-{domain}" for domain in DOMAINS))
    assert done.returncode == 2 and f"has {TRAIN - 1} pairs, expected {TRAIN}" in done.stderr
    assert done.stderr.strip().endswith("not fetched: opus-domains-law")
