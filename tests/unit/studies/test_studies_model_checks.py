"""What cannot be built, or cannot start from what it is to start from, is found before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import SIZES, Project

from mdnmt import methods
from mdnmt.config.method import MethodIndex
from mdnmt.errors import ConfigError
from mdnmt.studies import model_checks, model_facts
from mdnmt.studies.model_checks import Model, check_built
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

STUDY, TASK = "config/studies/tiny.yaml", "config/tasks/tiny.yaml"
CONFIG = Path(__file__).resolve().parents[3] / "config"
METHODS = MethodIndex(CONFIG)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    return made


def look() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("damha", {"top_k": 5}, "top_k: 5 experts are to work for a word, but there are 2"),
        ("dsa-guided", {"num_clusters": 1}, "2 domains, but num_clusters 1; set num_clusters to 2 or more, or null"),
        (
            "waldm-edc-init",
            {"ffn_dim": 32},
            "starts from mixed: encoder.layers.0.ffn.first.weight has the shape [24, 16]",
        ),
        ("waldm-edc-init", {"model_dim": 32}, "starts from mixed: "),
        ("waldm-edc-init", {"num_heads": 4}, "starts from mixed: num_heads is 2 there, but 4 here"),
        ("waldm-edc-init", {"norm": "post"}, "starts from mixed: norm is pre there, but post here"),
        ("waldm-edc-init", {"share_embeddings": "all"}, "starts from mixed: share_embeddings is none there"),
    ],
)
def test_it_is_one_line_with_file_and_method(project: Project, method: str, options: dict[str, Any], said: str) -> None:
    project.update(
        STUDY, methods=["mixed", method], options__1={"match": {"method": method}, "set": {"architecture": options}}
    )
    with pytest.raises(ConfigError) as caught:
        look()
    assert str(caught.value).startswith(f"config/studies/tiny.yaml: {method}") and said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("method", "sentences", "said"),
    [
        ("waldm-edc", 0, "waldm-edc, task tiny: validation_metric: bleu, but validation_bleu_sentences is 0"),
        ("mbart50-finetuned", 5, "mbart50-finetuned, task tiny: validation_metric: bleu, but a pretrained model"),
    ],
)
def test_the_best_is_not_chosen_by_a_bleu_that_nobody_measures(
    project: Project, method: str, sentences: int, said: str
) -> None:
    training = {"validation_metric": "bleu", "validation_bleu_sentences": sentences}
    project.update(
        STUDY, methods=["mixed", method], options__1={"match": {"method": method}, "set": {"training": training}}
    )
    with pytest.raises(ConfigError) as caught:
        look()
    assert said in str(caught.value)


def test_the_number_of_domains_is_the_tasks(project: Project) -> None:
    project.update(
        STUDY,
        methods=["mixed", "dsa-guided"],
        options__1={"match": {"method": "dsa-guided"}, "set": {"architecture": {"num_clusters": 2}}},
    )
    assert len(look().makeable()) == 2
    law = {"corpora": ["tiny-law"], "train": 9, "valid": 2, "test": 2}
    project.update(TASK, domains__tax=law)
    with pytest.raises(ConfigError, match=r"dsa-guided, task tiny: .*3 domains, but num_clusters 2"):
        look()


def test_it_is_found_of_a_task_that_cannot_be_had_as_well(project: Project) -> None:
    project.update("config/corpora/tiny-law.yaml", source__folder="nowhere")
    project.update(
        STUDY,
        methods=["mixed", "damha"],
        options__1={"set": {"architecture": {"top_k": 5}}, "match": {"family": "damha"}},
    )
    with pytest.raises(ConfigError, match="damha, task tiny: top_k"):
        look()


def test_sizes_that_fit_start(project: Project) -> None:
    project.update(STUDY, methods=["mixed", "waldm-edc-init"], options__0__set__architecture__ffn_dim=40)
    assert len(look().makeable()) == 2


def test_only_a_pair_of_models_is_built_to_compare_shapes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def counted(builder: str, *rest: Any) -> Any:
        built.append(builder)
        return methods.build(builder, *rest)

    monkeypatch.setattr(model_checks, "build", counted)
    project.update(STUDY, methods=["single", "mixed", "waldm-edc"], options__0__set__architecture__ffn_dim=56, seeds=3)
    assert len(look().runs) == 12
    assert built == []  # options alone show that these can be built
    # Sizes that no other test has: what was compared stays known.
    project.update(STUDY, methods=["mixed", "waldm-edc-init"], seeds=3)
    look()
    assert sorted(built) == ["transformer", "waldm"]
    # The next process knows it from a file, if the code is the same.
    for code, again in ((model_facts._code, []), (lambda _: "other code", ["transformer", "waldm"])):
        for remembered in (model_checks.check_started, model_facts.known):
            remembered.cache_clear()
        built.clear()
        monkeypatch.setattr(model_facts, "_code", code)
        look()
        assert sorted(built) == again


@pytest.mark.slow
def test_every_method_can_be_built_without_numbers() -> None:
    for name in METHODS.names:
        method = METHODS.load(name)
        if methods.pretrained(method.builder) is not None:
            continue
        architecture = methods.validate(method.builder, {**SIZES, **method.architecture}, where=name)
        model = Model.of(method.builder, architecture.model_dump(mode="json"), 3, joint=True)
        check_built(model)
        assert all(parameter.is_meta for parameter in model_checks._build(model).model.parameters()), name
