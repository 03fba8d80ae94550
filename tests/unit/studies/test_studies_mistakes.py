from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workflow.snakemake_project import Project, local_corpus

from mdnmt.errors import ConfigError
from mdnmt.studies.resolve import resolve

STUDY, TASK = "config/studies/tiny.yaml", "config/tasks/tiny.yaml"
MIXED = "config/methods/transformer.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"methods": ["mixd"]}, "config/methods: no method 'mixd' (did you mean 'mixed'?)"),
        ({"tasks": ["tinny"]}, "config/tasks: no task 'tinny' (did you mean 'tiny'?)"),
        ({"tables": {"jiang2020-table9": {"task": "tiny"}}}, "tables.jiang2020-table9: jiang2020 has no 'table9'"),
        ({"tables": {"jang2020-table2": {"task": "tiny"}}}, "no paper 'jang2020' (did you mean 'jiang2020'?)"),
        ({"figures": {"jiang2020-figure8": {"task": "big"}}}, "figures.jiang2020-figure8.task: 'big' is none of"),
        (
            {"options__1": {"match": {"method": "single"}, "set": {}}},
            "options.1.match.method: 'single' is none of the study's",
        ),
        ({"comparison": {"baseline": "single"}}, "comparison.baseline: 'single' is none of the study's methods"),
        (
            {"methods": ["single", "mixed"], "comparison": {"baseline": "single"}},
            "comparison.baseline: 'single' is one run a domain",
        ),
        (
            {"tables": {"jiang2020-table2": {"task": "tiny", "rows": [{"group": "G", "method": "mixd"}]}}},
            "tables.jiang2020-table2.rows: 'mixd' is none of the study's methods (did you mean 'mixed'?)",
        ),
        (
            {"tables": {"jiang2020-table2": {"task": "tiny", "rows": [{"group": "G", "best_of": ["mixed", "dsa"]}]}}},
            "tables.jiang2020-table2.rows: 'dsa' is none of the study's methods; they are: mixed, waldm-edc",
        ),
        (
            {
                "tables": {
                    "synthetic-gates2": {"task": "tiny", "rows": [{"group": "G", "best_of": ["mixed", "waldm-edc"]}]}
                }
            },
            "tables.synthetic-gates2.rows: the file: best_of belongs in tables of kind scores or resources",
        ),
        ({"options__0__set__training__learning_rat": 1}, "mixed: training: unknown key 'learning_rat'"),
        ({"options__0__set__architecture__mixed_sides": "both"}, "mixed: architecture: unknown key"),
        ({"options__0__set__architecture__model_dim": 15}, "architecture"),
        (
            {"options__0__set__training__learning_rate": "fast"},
            "training: learning_rate: input should be a valid number",
        ),
    ],
)
def test_mistakes_of_a_study_are_one_line(project: Project, changes: dict[str, Any], said: str) -> None:
    project.update(STUDY, **changes)
    with pytest.raises(ConfigError) as caught:
        resolve(Path("config"), "tiny", Path("resources/corpora"))
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        (TASK, {"domains__law__corpora": ["tiny-low"]}, "no corpus 'tiny-low' (did you mean 'tiny-law'?)"),
        (TASK, {"target_lang": "de"}, "has no 'de'; it has en, fr"),
        (
            MIXED,
            {"builder": "transformr"},
            f"{MIXED}: mixed: no builder 'transformr' (did you mean 'transformer'?); there are",
        ),
        (
            MIXED,
            {"builder": "pretraine"},
            f"{MIXED}: mixed: no builder 'pretraine' (did you mean 'pretrained'?)",
        ),
        (MIXED, {"architecture": {"model_dimm": 8}}, f"{MIXED}: mixed: architecture: unknown key 'model_dimm'"),
        (MIXED, {"architecture": {"norm": "per"}}, f"{MIXED}: mixed: architecture: norm: found 'per'"),
        (MIXED, {"training": {"warm": 8}}, f"{MIXED}: training: unknown key 'warm'"),
        (
            MIXED,
            {"builder": "pretrained", "architecture": {"use": "no"}},
            f"{MIXED}: mixed: architecture: use: found 'no'",
        ),
        (
            "config/methods/waldm-edc.yaml",
            {"architecture": {"labels": "unused_open", "weighted_loss": "aligned"}},
            "config/methods/waldm-edc.yaml: waldm-edc: architecture",
        ),
        ("config/corpora/tiny-law.yaml", {"reader__name": "statcan"}, "is read by the reader 'plain'"),
    ],
)
def test_mistakes_of_the_files_it_names(project: Project, name: str, changes: dict[str, Any], said: str) -> None:
    project.update(name, **changes)
    with pytest.raises(ConfigError) as caught:
        resolve(Path("config"), "tiny", Path("resources/corpora"))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_variants_mistake_in_its_methods_file_is_blamed_on_that(project: Project) -> None:
    project.update("config/methods/dsa.yaml", architecture__placement="left")
    project.update(STUDY, variants={"half": {"method": "dsa", "label": "x"}})
    with pytest.raises(ConfigError, match=r"^config/methods/dsa.yaml: dsa: architecture: placement: found 'left'"):
        resolve(Path("config"), "tiny", Path("resources/corpora"))


def test_what_is_only_wrong_with_the_studys_sizes_is_the_studys(project: Project) -> None:
    # 24 heads divide the study's width and not the default one: no mistake.
    project.update(MIXED, architecture__num_heads=24)
    project.update(STUDY, options__0__set__architecture={"model_dim": 48, "ffn_dim": 24, "max_positions": 64})
    assert resolve(Path("config"), "tiny", Path("resources/corpora")).makeable()
    project.update(STUDY, options__0__set__architecture__ffn_dim=-1)
    with pytest.raises(ConfigError, match=r"^config/studies/tiny.yaml: waldm-edc: architecture: ffn_dim"):
        project.update(STUDY, methods=["waldm-edc"], comparison__baseline="waldm-edc", tables={}, figures={})
        resolve(Path("config"), "tiny", Path("resources/corpora"))


def test_one_embedding_for_two_vocabularies_is_found_before_anything_is_made(project: Project) -> None:
    project.update(STUDY, options__0__set__architecture__share_embeddings="all")
    resolve(Path("config"), "tiny", Path("resources/corpora"))
    project.update(TASK, vocabulary__joint=False)
    with pytest.raises(
        ConfigError, match=r"studies/tiny.yaml: mixed, task tiny: share_embeddings: .* the task has two"
    ):
        resolve(Path("config"), "tiny", Path("resources/corpora"))


@pytest.mark.parametrize("seeds", [0, -1, (), (2, 2)])
def test_seeds_of_the_command_line(project: Project, seeds: Any) -> None:
    with pytest.raises(ConfigError, match="--config seeds"):
        resolve(Path("config"), "tiny", Path("resources/corpora"), seeds)


@pytest.mark.parametrize(
    ("seeds_of", "said"),
    [
        ({"mixd": 3}, "seeds_of: 'mixd' is none of the study's methods .did you mean 'mixed'"),
        ({"mixed": 0}, "seeds_of"),
    ],
)
def test_seeds_of_a_method(project: Project, seeds_of: dict[str, int], said: str) -> None:
    project.update(STUDY, seeds_of=seeds_of)
    with pytest.raises(ConfigError, match=said):
        resolve(Path("config"), "tiny", Path("resources/corpora"))


def test_what_cannot_be_had_is_no_mistake(project: Project) -> None:
    project.write("config/corpora/tiny-law.yaml", local_corpus("law", "nowhere"))
    study = resolve(Path("config"), "tiny", Path("resources/corpora"))
    assert study.makeable() == [] and len(study.runs) == 2
    assert all(run.missing and run.missing.startswith("needs ") and "nowhere" in run.missing for run in study.runs)
    assert {run.fingerprint for run in study.runs} == {"missing"}


def test_a_task_on_each_domain_alone_is_a_run_each(project: Project) -> None:
    project.update(STUDY, methods=["single", "mixed"])
    study = resolve(Path("config"), "tiny", Path("resources/corpora"))
    assert [run.directory for run in study.runs] == ["single-economy", "single-law", "mixed"]
    assert [run.domains for run in study.runs] == [("economy",), ("law",), ("economy", "law")]
