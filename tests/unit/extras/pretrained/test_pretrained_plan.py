"""A study is planned with a revision, or with the files that are there; what lacks them is left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from unit.extras.pretrained.conftest import KINDS
from workflow.snakemake_project import Project

from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.pretrained.config import PretrainedConfig, validate
from mdnmt.extras.pretrained.toy import make_toy
from mdnmt.extras.pretrained.weights import checksums_of, files_among, folder_of, plan, sizes
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Run, Study

TINY = "config/studies/tiny.yaml"
METHODS = ("mbart50-finetuned", "mbart50-zero-shot")
ROOT = Path("resources/pretrained")
MBART = PretrainedConfig()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    made.update(TINY, methods=["mixed", *METHODS])
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def files(pretrained_root: Path) -> Path:
    return folder_of(PretrainedConfig(weights="tiny/mbart50"), pretrained_root)


def planned() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def run_of(method: str) -> Run:
    [run] = planned().runs_of("tiny", method)
    return run


def test_a_revision_is_planned_before_its_files_are_there_and_files_without_one_are_asked_for(project: Project) -> None:
    assert [run.method for run in planned().makeable()] == ["mixed", "mbart50-zero-shot"]
    assert "set `revision` under `architecture` to a commit" in str(run_of("mbart50-finetuned").missing)
    before = run_of("mbart50-zero-shot").fingerprint
    change = {"match": {"method": "mbart50-zero-shot"}, "set": {"architecture": {"revision": "f" * 40}}}
    project.update(TINY, options__1=change)
    assert run_of("mbart50-zero-shot").fingerprint != before


def test_with_files_a_row_is_made_and_the_study_sets_neither_sizes_nor_recipe(project: Project, files: Path) -> None:
    shutil.copytree(files, folder_of(MBART, ROOT))
    specs = {run.method: run.spec for run in planned().runs}
    mixed, tuned = specs["mixed"], specs["mbart50-finetuned"]
    assert tuned is not None and tuned.architecture["sha256"] is not None
    assert tuned.architecture == validate(tuned.architecture, where="test").model_dump(mode="json")
    assert mixed is not None and mixed.training.max_updates == 6  # as the study says for all methods
    assert (tuned.training.max_updates, tuned.training.schedule) == (40_000, "polynomial")
    project.update(TINY, options__1={"match": {"family": "mbart50"}, "set": {"training": {"max_updates": 7}}})
    own = run_of("mbart50-finetuned").spec
    assert own is not None and own.training.max_updates == 7


def test_other_files_are_another_run(project: Project, files: Path) -> None:
    shutil.copytree(files, folder_of(MBART, ROOT))
    before = run_of("mbart50-finetuned").fingerprint
    # Files that translation does not look at are nothing of the run's.
    (folder_of(MBART, ROOT) / "README.md").write_text("new")
    assert run_of("mbart50-finetuned").fingerprint == before
    with (folder_of(MBART, ROOT) / "model.safetensors").open("ab") as weights:
        weights.write(b"x")
    assert run_of("mbart50-finetuned").fingerprint != before


def test_the_second_plan_reads_no_weights(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(files, folder_of(MBART, tmp_path))
    first = plan(MBART, tmp_path, source_lang="en", target_lang="fr")
    assert first[1] is None and len(json.loads((tmp_path / "sha256.json").read_text())["files"]) == 5

    def never(path: Path) -> str:
        raise AssertionError(path)

    monkeypatch.setattr("mdnmt.corpora.checksum_cache.sha256_file", never)
    assert plan(MBART, tmp_path, source_lang="en", target_lang="fr") == first
    _, reason = plan(MBART.model_copy(update={"sha256": "0" * 64}), tmp_path, source_lang="en", target_lang="fr")
    assert str(reason).startswith(f"needs the weights of facebook/mbart-large-50 with sha256 {'0' * 64}: ")


def test_a_language_that_listed_weights_do_not_know_leaves_the_row_out(pretrained_root: Path) -> None:
    config = PretrainedConfig(weights="tiny/nllb")
    assert plan(config, pretrained_root, source_lang="en", target_lang="mt")[1] is None
    _, reason = plan(config, pretrained_root, source_lang="en", target_lang="ar")
    assert str(reason).startswith("needs another language pair: tiny/nllb has several codes for 'ar', ")
    chosen = config.model_copy(update={"codes": {"ar": "arb_Arab"}})
    assert plan(chosen, pretrained_root, source_lang="en", target_lang="ar")[1] is None


def test_without_a_package_the_row_says_which(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "peft" else name)
    lora = PretrainedConfig(use="lora", weights="toy/nllb")
    _, reason = plan(lora, tmp_path, source_lang="en", target_lang="fr")
    assert reason == "needs the Python package peft: `make setup EXTRAS=pretrained`"
    assert plan(PretrainedConfig(weights="toy/nllb"), tmp_path, source_lang="en", target_lang="fr")[1] is None


def test_mistakes_in_the_options_are_one_line(project: Project) -> None:
    wrong = {"match": {"method": "mbart50-finetuned"}, "set": {"architecture": {"model_dim": 5}}}
    project.update(TINY, options__1=wrong)
    with pytest.raises(ConfigError, match="mbart50-finetuned: architecture: unknown key 'model_dim'"):
        planned()


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ("model.safetensors pytorch_model.bin tf_model.h5", ["model.safetensors"]),
        (
            "pytorch_model-00001-of-00002.bin pytorch_model-00002-of-00002.bin pytorch_model.bin.index.json",
            ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"],
        ),
        ("tf_model.h5", None),
    ],
)
def test_one_format_of_the_weights_is_used(there: str, expected: list[str] | None) -> None:
    names = ["README.md", "source.spm", "config.json", *there.split()]
    if expected is None:
        with pytest.raises(DataError, match=r"has neither model\.safetensors nor"):
            files_among(names, "it")
    else:
        assert files_among(names, "it") == ["config.json", "source.spm", *expected]


def test_sizes_are_those_of_the_files_or_of_the_name(pretrained_root: Path, tmp_path: Path) -> None:
    assert sizes({"weights": "tiny/nllb"}, pretrained_root)[:4] == (16, 32, 2, 1)
    assert sizes({"weights": "facebook/nllb-200-3.3B"}, tmp_path)[0] == 2048


@pytest.mark.parametrize("kind", KINDS)
def test_a_toy_is_small_and_always_the_same(kind: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_toy(kind, tmp_path / name)
    assert checksums_of(tmp_path / "one") == checksums_of(tmp_path / "two")
    assert sum(path.stat().st_size for path in (tmp_path / "one").iterdir()) < 1_000_000
    make_toy(kind, tmp_path / "other", seed=2)
    assert checksums_of(tmp_path / "other") != checksums_of(tmp_path / "one")
