"""A bundle of a tiny study whose runs are made up: translations are references with wrong words, nothing is trained."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

from workflow.snakemake_project import Project

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study

CORPORA = Path("resources/corpora")
CURVES = "update\tepoch\tsplit\tdomain\tloss\tnll\tppl\taccuracy\tbleu\tlearning_rate\n"


def make_project(folder: Path, *, redistributable: bool = True) -> Study:
    """Create the project with its task built and no run; return its study. The working directory is left alone."""
    project = Project.create(folder)
    for name in ("tiny-economy", "tiny-law"):
        project.update(f"config/corpora/{name}.yaml", redistributable=redistributable)
    project.update(
        "config/studies/tiny.yaml",
        seeds=3,
        tables={"jiang2020-table2": {"task": "tiny"}},
        figures={"song2026-figure3": {"task": "tiny"}},
    )
    with contextlib.chdir(folder):
        study = resolve(Path("config"), "tiny", CORPORA)
        task = study.tasks["tiny"]
        assert main(["fetch", "--study", "tiny"]) == 0
        assert task.spec is not None
        out = ResultPaths(study, Path("results")).task("tiny")
        assert main(["task", "--spec", task.spec.model_dump_json(), "--corpora", str(CORPORA), "--out", out]) == 0
        assert main(score(ResultPaths(study, Path("results")).copied("tiny"), out, "--copy-source")) == 0
    return study


def score(test: str, task: str, *more: str) -> list[str]:
    """Return the words that score a folder of translations."""
    return ["score", "--task", task, "--hypotheses", f"{test}/hyp", "--out", f"{test}/scores.json", *more]


def make_run(study: Study, run: Run, places: ResultPaths) -> None:
    """Put there what training, translating and scoring a run leave behind, weights included."""
    assert run.spec is not None
    folder, test = Path(places.run(run)), Path(places.test(run))
    generator = random.Random(f"{run.directory} {run.seed}")
    fsio.write_text(folder / "model.safetensors", "weights")
    record = {
        "spec": run.spec.model_dump(mode="json"),
        "model_sha256": fsio.sha256_file(folder / "model.safetensors"),
        "domains": list(run.domains),
    }
    record |= {"source_lang": "en", "target_lang": "fr", "seconds": 1.0, "updates": 6, "device": "cpu", "threads": 1}
    record |= {"num_parameters": 1000, "validation": {"all": {"loss": 3.5}}}
    fsio.write_sealed(folder / "run.json", {**record, "resumes": 0, "provenance": {"cpu": "Processor"}})
    lines = [
        f"{update}\t1.0\t{split}\tall\t{generator.uniform(3, 4):.3f}\t3.5\t30.5\t0.25\t1.5\t\n"
        for update in (3, 6)
        for split in ("train", "valid")
    ]
    fsio.write_text(folder / "curves.tsv", CURVES + "".join(lines))
    fsio.write_sums(folder, ["curves.tsv"])
    share = 0.5 if run.method == "mixed" else 0.2
    domains = study.tasks["tiny"].config.domains
    for domain in domains:
        references = fsio.read_lines(Path(places.task("tiny"), "text", f"test.{domain}.fr"))
        said = [
            " ".join("wrong" if generator.random() < share else word for word in line.split()) for line in references
        ]
        fsio.write_lines(test / "hyp" / f"hyp.{domain}.txt", said)
    fsio.write_sums(test / "hyp", [f"hyp.{domain}.txt" for domain in domains], [folder / "run.json"])
    assert main(score(str(test), places.task("tiny"))) == 0


def make_runs(project: Path, study: Study, *directories: str) -> None:
    """Make all runs of these methods."""
    with contextlib.chdir(project):
        for run in study.makeable():
            if run.directory in directories:
                make_run(study, run, ResultPaths(study, Path("results")))


def reseal(path: Path, **changes: object) -> None:
    """Write a sealed JSON file again with other values and a seal that fits, as a forger would."""
    value = json.loads(path.read_text(encoding="utf-8"))
    value.pop(fsio.SEAL)
    made_from = value.pop(fsio.MADE_FROM, {})
    value.pop(fsio.ADDRESS, None)
    fsio.write_sealed(path, {**value, **changes}, [path.parent / name for name in made_from])
