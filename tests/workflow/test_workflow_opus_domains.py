"""The task and study `opus-domains` in small: archives of the real layouts, and every row of the study trained."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from itertools import islice
from pathlib import Path

import pytest
import yaml
from workflow.publisher import publishing
from workflow.snakemake_project import ROOT, SIZES, TRAINING, Project

from mdnmt.config.corpus_reader import GeneratedReader
from mdnmt.corpora.generated import pairs
from mdnmt.tasks.task_data import TaskData

pytestmark = pytest.mark.slow

DOMAINS = ("medical", "law", "it", "koran", "subtitles")
TRAIN, HELD_OUT = 120, 12
ARCHIVE = "resources/manual/multi_domain_new_split.zip"


def text(domain: str) -> list[tuple[str, str]]:
    """Return different sentence pairs of one domain."""
    grammar = GeneratedReader(name="generated", domain=DOMAINS.index(domain), sentences=3000)
    return list(islice(dict.fromkeys(pairs(grammar, "de", "en")), TRAIN + 2 * HELD_OUT))


def pack(path: Path) -> None:
    """Write an archive like the published one, but with a test sentence of law in the training text of IT."""
    path.parent.mkdir(parents=True, exist_ok=True)
    leaked = text("law")[TRAIN + HELD_OUT]
    with zipfile.ZipFile(path, "w") as archive:
        for domain in DOMAINS:
            found = text(domain)
            splits = {"train": found[:TRAIN], "dev": found[TRAIN:-HELD_OUT], "test": found[-HELD_OUT:]}
            if domain == "it":
                splits["train"] = [*splits["train"][:-1], leaked]
            for split, chosen in splits.items():
                for lang, side in zip(("de", "en"), zip(*chosen, strict=True), strict=True):
                    archive.writestr(f"{domain}/{split}.{lang}", "".join(f"{line}\n" for line in side))


def zipped(members: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


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
    study |= {"seeds": 1, "decoding": {"beam_size": 1}, "comparison": {"num_resamples": 10}}
    project.write("config/studies/opus-domains.yaml", study)
    return project


def test_every_row_is_trained_on_the_published_split(project: Project) -> None:
    pack(project.path(ARCHIVE))
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


OPUS = {
    "medical": ["EMEA/v3"],
    "law": ["JRC-Acquis/v3.0"],
    "it": ["GNOME/v1", "KDE4/v2", "PHP/v1", "Ubuntu/v14.10", "OpenOffice/v2"],
    "koran": ["Tanzil/v1"],
    "subtitles": ["OpenSubtitles/v2018"],
}
TWICE = 30  # pairs that a corpus has twice


def test_the_drawn_task_comes_from_opus_by_name(project: Project) -> None:
    served: dict[str, bytes] = {}
    task = yaml.safe_load(project.path("config/tasks/opus-domains-drawn.yaml").read_text())
    for name, domain in task["domains"].items():
        domain |= {"valid": HELD_OUT, "test": HELD_OUT, **({"train": 100} if name == "subtitles" else {})}
        path = f"config/corpora/{domain['corpora'][0]}.yaml"
        corpus = yaml.safe_load(project.path(path).read_text())
        sources, found = [corpus["source"], *corpus.get("more_sources", [])], [*text(name), *text(name)[:TWICE]]
        for place, (source, address) in enumerate(zip(sources, OPUS[name], strict=True)):
            part = found[place :: len(sources)]
            sides = zip(("de", "en"), zip(*part, strict=True), strict=True)
            members = {f"{source['opus']}.de-en.{lang}": "".join(f"{line}\n" for line in side) for lang, side in sides}
            data = served[f"/OPUS-{address}/moses/de-en.txt.zip"] = zipped(members)
            if "sha256" in source:
                source |= {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
        if "pairs" in corpus:
            corpus["pairs"] = len(found)
        project.write(path, corpus)
    task["segmentation"]["bpe_merge_operations"] = 100
    project.write("config/tasks/opus-domains-drawn.yaml", task)
    # As docs/tasks.md says.
    drawn = {"title": "Drawn", "description": "Drawn.", "like": "opus-domains"}
    project.write("config/studies/drawn.yaml", {**drawn, "stand_ins": {"opus-domains": "opus-domains-drawn"}})
    with publishing() as publisher:
        project.with_sitecustomize(
            f"from mdnmt.config.corpus_source import HOSTS\nHOSTS['opus'] = {publisher.host!r}\n"
        )
        project.environment["no_proxy"] = "*"
        plan = project.mdnmt("plan", "drawn", "--card", "h200")
        assert plan.returncode == 0 and "18 runs (1 task, 1 seed): 18 to do" in plan.stdout, plan.stdout + plan.stderr
        assert project.plan("--config", "study=drawn").outputs["first_downloads"] and not publisher.requests
        publisher.files, publisher.cut = served, {"/OPUS-Ubuntu/v14.10/moses/de-en.txt.zip"}
        publisher.moved = {"/OPUS-EMEA/v3/moses/de-en.txt.zip": "/elsewhere/emea.zip"}
        served["/elsewhere/emea.zip"] = served["/OPUS-EMEA/v3/moses/de-en.txt.zip"]
        project.snakemake("data", "--cores", "2", "--config", "study=drawn")
        assert {path for path, _ in publisher.requests} == set(served)

    [folder] = project.path("results/tasks").glob("opus-domains-drawn-*")
    data = TaskData.load(folder)
    held_out = set[str]()
    for domain in DOMAINS:
        sides = {split: data.text(split, domain, "de") for split in ("train", "valid", "test")}
        assert len(sides["valid"]) == len(sides["test"]) == HELD_OUT
        assert len(sides["train"]) == (100 if domain == "subtitles" else TRAIN)
        both = [
            pair for split, side in sides.items() for pair in zip(side, data.text(split, domain, "en"), strict=True)
        ]
        assert len(set(both)) == len(both)  # no pair twice
        held_out |= {*sides["valid"], *sides["test"]}
    assert not held_out & {line for domain in DOMAINS for line in data.text("train", domain, "de")}
    lock = yaml.safe_load(project.path("config/corpora.own.lock.yaml").read_text())
    assert list(lock["corpora"]) == ["opus-jrc-acquis-de-en"]
