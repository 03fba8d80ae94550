"""What cannot be had is left out with its reason; everything else is made."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path

import pytest
from workflow.snakemake_project import SIZES, STUDY, TASK, Project, local_corpus

pytestmark = pytest.mark.slow


def test_a_task_without_its_corpus(project: Project) -> None:
    project.write("config/corpora/absent.yaml", local_corpus("absent", "text/absent"))
    domains = {name: {"corpora": ["absent"], "train": 60, "valid": 6, "test": 5} for name in ("news", "law")}
    project.write("config/tasks/absent.yaml", {**TASK, "title": "Absent", "domains": domains})
    # A study that shares its runs with the finished one, and has tables of a task that cannot be made.
    shown = {
        "tables": {"jiang2020-table2": {"task": "absent"}, "song2026-table4": {"task": "absent"}},
        "figures": {"jiang2020-figure8": {"task": "absent"}, "song2026-figure3": {"task": "tiny"}},
    }
    project.path("config/studies/partial.yaml").write_text(project.path("config/studies/tiny.yaml").read_text())
    project.update("config/studies/partial.yaml", tasks=["tiny", "absent"], **shown)

    plan = project.plan("--config", "study=partial")
    assert plan.rules == {"table", "figure", "claims", "numbers", "report"}

    printed = project.snakemake("--cores", "2", "--config", "study=partial")
    assert "task absent is left out: it needs the files of 'Tiny absent'" in printed
    for table in ("jiang2020-table2", "song2026-table4"):
        text = project.path(f"results/partial/tables/{table}.md").read_text()
        assert "needs the files of" in text
    report = project.path("results/partial/report.html").read_text()
    assert "Task absent" in report and "needs the files of" in report
    rows = project.path("results/partial/runs.tsv").read_text().splitlines()
    assert [row.split("\t")[-2] for row in rows[1:]] == ["done", "done", "missing", "missing"]
    assert not list(project.path("results/tasks").glob("absent*"))


def test_no_pip_to_fetch_with(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    project.with_sitecustomize("import sys\nsys.modules['pip'] = None\n")
    before = written(project)
    printed = project.snakemake("-n", "--config", "study=demo")
    assert written(project) == before  # a dry run writes nothing but Snakemake's own log and bookkeeping
    assert "task demo-en-fr is left out: it needs statcan-dialogue-dataset" in printed
    assert "has no pip to fetch it" in printed
    plan = project.plan("--config", "study=demo")
    assert plan.rules == {"table", "figure", "claims", "audit", "numbers", "report"}


def test_a_dry_run_for_a_cluster_says_what_jobs_ask_for_and_what_is_not_here(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    sizes = {"any": {"up_to_parameters": 10**9, "mem_mb": 8000, "train_minutes": 240, "translate_minutes": 60}}
    cluster = {"partitions": {"cpu": "batch", "gpu": "large"}, "gpu_model": "a100", "sizes": sizes}
    project.write("config/cluster.yaml", cluster)
    project.update(
        "config/studies/tiny.yaml",
        methods=["mixed", "mbart50-finetuned"],
        tables={"song2026-table5": {"task": "tiny"}},
        figures={},
    )
    before = written(project)
    printed = project.snakemake("-n", "--profile", "workflow/profiles/slurm")
    assert written(project) == before
    assert "Training mixed on tiny, seed 1 (watch logs/train/tiny-mixed-seed1-" in printed
    [training] = [line for line in printed.splitlines() if ": Training " in line]
    assert training.endswith(" [1 GPU (a100), 8000 MB, 240 min, partition large]")
    asks_none = "Writing the arrays of task tiny [no GPU, 16000 MB, 720 min, partition batch]"
    assert asks_none in printed and "Table song2026-table5 [on this machine]" in printed
    for lacks in ("1 run of tiny, 9 of 27 cells", "9 of 27 cells"):
        assert f"cannot be made: {lacks} of song2026-table5: needs the weights of " in printed
    here = project.snakemake("-n")
    assert "[on this machine]" not in here and "MB, " not in here and "cannot be made: 1 run of tiny" in here
    # Its nodes decide what fits.
    width = {"model_dim": 4096, "ffn_dim": 16384, "encoder_layers": 12, "decoder_layers": 12}  # 7 billion parameters
    project.update("config/studies/tiny.yaml", methods=["mixed"], options__0__set__architecture={**SIZES, **width})
    printed = project.snakemake("-n", "--profile", "workflow/profiles/slurm", status=1)
    assert "run tiny/mixed/seed1: training needs about" in printed and "the largest class of jobs" in printed


def written(project: Project) -> set[str]:
    """Return all files and folders of a project that Snakemake does not write itself."""
    own = {
        "log",
        "locks",
        "auxiliary",
        "incomplete",
        "metadata",
        "shadow",
        "conda",
        "conda-archive",
        "singularity",
        "iocache",
    }
    found = (path.relative_to(project.folder) for path in project.folder.rglob("*") if "__pycache__" not in path.parts)
    return {
        str(path)
        for path in found
        if path.parts[0] != ".snakemake" or (len(path.parts) > 1 and path.parts[1] not in own)
    }


def pinned_wheel(project: Project, name: str) -> str:
    """Pack a corpus of the project into a wheel that pip finds, pin it, and return the wheel's name."""
    index = project.folder.parent / "index"
    index.mkdir()
    wheel = index / "toy_corpus-1.0-py3-none-any.whl"
    info = "toy_corpus-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for lang in ("en", "fr"):
            archive.write(project.path(f"text/{name}/train.{lang}"), f"train.{lang}")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-corpus\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    source = {"provider": "pip", "package": "toy-corpus", "version": "1.0", "file": wheel.name}
    source |= {"sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(), "size_bytes": wheel.stat().st_size}
    project.update(f"config/corpora/tiny-{name}.yaml", source=source)
    project.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    return wheel.name


def test_a_corpus_that_was_lost_moved_or_altered(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "first")
    name = pinned_wheel(project, "law")
    for split in ("valid", "test"):  # the same sentences in both, of which a line must be seen
        for lang in ("en", "fr"):
            lines = project.path(f"text/economy/train.{lang}").read_text().splitlines(keepends=True)
            project.path(f"text/economy/{split}.{lang}").write_text("".join(lines[:6]))
    project.snakemake(
        "--cores", "2", *(f"resources/corpora/tiny-{corpus}/corpus.json" for corpus in ("law", "economy"))
    )

    # The whole project moves, and with it the relative folder of the local corpus; a bit of the wheel flips.
    project.folder = project.folder.rename(tmp_path / "second")
    wheel = project.path(f"resources/corpora/tiny-law/{name}")
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"!")
    printed = project.snakemake("--cores", "2", "data", status=1)
    assert "remove resources/corpora/tiny-law and start again" in printed and "economy" in printed

    # The wheel alone is removed: the manifest must not hide that.
    wheel.unlink()
    printed = project.snakemake("--cores", "2", "data")
    assert wheel.is_file()
    assert "warning: domain 'economy': 5 valid sentences are also in a test set" in printed

    # A finished task needs it no more, nor does one that differs in a later stage, which repeats only that.
    wheel.unlink()
    stages = {"fetch", "text", "tokens", "codes", "arrays"}
    project.write("config/tasks/other.yaml", {**TASK, "segmentation": {"bpe_merge_operations": 20}})
    assert not stages & project.plan().rules
    project.write("config/studies/tiny.yaml", {**STUDY, "tasks": ["tiny", "other"]})
    plan = project.plan("data")
    assert stages & plan.rules == {"codes", "arrays"}
    assert all(output.startswith("results/tasks/other-") for output in plan.outputs["arrays"])
    # A task of a version without stages is finished without them.
    for stage in stages - {"fetch", "arrays"}:
        shutil.rmtree(project.path(f"results/tasks/{stage}"))
    project.write("config/studies/tiny.yaml", STUDY)
    assert not stages & project.plan().rules

    # One with other text needs the corpus.
    project.write("config/tasks/other.yaml", {**TASK, "cleaning": {"max_tokens": 8}})
    project.write("config/studies/tiny.yaml", {**STUDY, "tasks": ["tiny", "other"]})
    plan = project.plan("data")
    assert plan.outputs["fetch"] == {"resources/corpora/tiny-law/corpus.json"} and stages <= plan.rules
