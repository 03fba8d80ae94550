"""A study is planned with the weights that are there; what lacks them is left out, with what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.errors import ConfigError
from mdnmt.extras.mbart50.config import Mbart50Config, validate
from mdnmt.extras.mbart50.weight_files import folder_of, plan
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Run, Study

TINY = "config/studies/tiny.yaml"
METHODS = ("mbart50-finetuned", "mbart50-zero-shot")
ROOT = Path("resources/pretrained")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    made.update(TINY, methods=["mixed", *METHODS])
    monkeypatch.chdir(made.folder)
    return made


def planned() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def run_of(method: str) -> Run:
    [run] = planned().runs_of("tiny", method)
    return run


def test_without_weights_the_rows_say_how_to_get_them_and_the_rest_is_made(project: Project) -> None:
    assert [run.method for run in planned().makeable()] == ["mixed"]
    assert run_of("mbart50-finetuned").missing == (
        "needs the weights of facebook/mbart-large-50: resources/pretrained/facebook--mbart-large-50: has no "
        "config.json; get them with `hf download facebook/mbart-large-50 --exclude '*.h5' '*.msgpack' '*.ot' "
        "--local-dir resources/pretrained/facebook--mbart-large-50`"
    )
    assert "facebook/mbart-large-50-many-to-many-mmt" in str(run_of("mbart50-zero-shot").missing)


def test_with_weights_all_rows_are_made_and_the_study_sets_neither_sizes_nor_recipe(
    project: Project, pretrained_root: Path
) -> None:
    shutil.copytree(pretrained_root, ROOT)
    study = planned()
    assert [run.method for run in study.makeable()] == ["mixed", *METHODS]
    specs = {run.method: run.spec for run in study.runs}
    for method in METHODS:
        spec = specs[method]
        assert spec is not None and spec.architecture["sha256"] is not None
        assert spec.architecture == validate(spec.architecture, where="test").model_dump(mode="json")
    mixed, tuned = specs["mixed"], specs["mbart50-finetuned"]
    assert mixed is not None and mixed.training.max_updates == 6  # as the study says for all methods
    assert tuned is not None and (tuned.training.max_updates, tuned.training.schedule) == (40_000, "polynomial")
    project.update(TINY, options__1={"match": {"family": "mbart50"}, "set": {"training": {"max_updates": 7}}})
    own = run_of("mbart50-finetuned").spec
    assert own is not None and own.training.max_updates == 7


def test_other_weights_are_another_run(project: Project, pretrained_root: Path) -> None:
    shutil.copytree(pretrained_root, ROOT)
    before = run_of("mbart50-zero-shot").fingerprint
    assert run_of("mbart50-zero-shot").fingerprint == before
    # Files that translation does not look at are nothing of the run's.
    (folder_of("facebook/mbart-large-50-many-to-many-mmt", ROOT) / "README.md").write_text("new")
    assert run_of("mbart50-zero-shot").fingerprint == before
    with (folder_of("facebook/mbart-large-50-many-to-many-mmt", ROOT) / "pytorch_model.bin").open("ab") as weights:
        weights.write(b"x")
    assert run_of("mbart50-zero-shot").fingerprint != before


def test_the_second_plan_reads_no_weights(
    pretrained_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(shutil.copytree(pretrained_root, tmp_path / "root"))
    config = Mbart50Config()
    first = plan(config, root, source_lang="en", target_lang="fr")
    assert first[1] is None and len(json.loads((root / "sha256.json").read_text())["files"]) == 3

    def never(path: Path) -> str:
        raise AssertionError(path)

    monkeypatch.setattr("mdnmt.corpora.checksum_cache.sha256_file", never)
    assert plan(config, root, source_lang="en", target_lang="fr") == first


@pytest.mark.parametrize(
    ("weights", "source", "target", "said"),
    [
        ("facebook/mbart-large-50", "en", "nl", "needs another language pair: mBART-50 is set up for de, en, fr, zh"),
        (
            "facebook/mbart-large-50-many-to-one-mmt",
            "en",
            "fr",
            "needs another language pair: facebook/mbart",
        ),
    ],
)
def test_languages_that_it_does_not_know_leave_the_row_out(
    pretrained_root: Path, weights: str, source: str, target: str, said: str
) -> None:
    config, reason = plan(Mbart50Config(weights=weights), pretrained_root, source_lang=source, target_lang=target)
    assert config.sha256 is None and str(reason).startswith(said)


def test_weights_can_be_pinned(pretrained_root: Path) -> None:
    pinned = Mbart50Config(sha256="0" * 64)
    _, reason = plan(pinned, pretrained_root, source_lang="en", target_lang="fr")
    assert str(reason).startswith(f"needs the weights of facebook/mbart-large-50 with sha256 {'0' * 64}: ")


def test_without_the_package_the_row_says_so(pretrained_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    _, reason = plan(Mbart50Config(), pretrained_root, source_lang="en", target_lang="fr")
    assert reason == "needs the Python package transformers: `python -m pip install transformers sentencepiece`"


def test_mistakes_in_the_options_are_one_line(project: Project) -> None:
    wrong = {"match": {"method": "mbart50-finetuned"}, "set": {"architecture": {"model_dim": 5}}}
    project.update(TINY, options__1=wrong)
    with pytest.raises(ConfigError, match="mbart50-finetuned: architecture: unknown key 'model_dim'"):
        planned()
