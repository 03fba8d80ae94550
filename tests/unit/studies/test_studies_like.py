"""Studies laid over one another, and the recipes, stand-ins and variants that the papers' studies are made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.config.decoding import Decoding
from mdnmt.config.study import load_study, study_files
from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import comparison, table_runs
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Run, Study

CONFIG = Path(__file__).parents[3] / "config"


def write(folder: Path, name: str, value: dict[str, Any]) -> None:
    (folder / "studies").mkdir(exist_ok=True)
    (folder / "studies" / f"{name}.yaml").write_text(yaml.safe_dump(value))


BELOW = {
    "title": "Below",
    "description": "d",
    "seeds": 3,
    "methods": ["a", "b"],
    "options": [{"set": {"training": {"max_updates": 5}}}],
    "tables": {"p-one": {"task": "t"}, "p-two": {"task": "t"}},
    "decoding": {"beam_size": 3, "length_penalty": 0.5},
}


def test_mappings_are_merged_options_joined_and_other_values_replaced(tmp_path: Path) -> None:
    write(tmp_path, "below", BELOW)
    over = {
        "like": "below",
        "title": "Over",
        "methods": ["c"],
        "options": [{"match": {"task": "t"}, "set": {"training": {"max_updates": 9}}}],
        "tables": {"p-one": {"task": "u"}, "p-three": {"task": "u"}},
        "decoding": {"beam_size": 1},
    }
    write(tmp_path, "over", over)
    study, files = load_study(tmp_path, "over"), study_files(tmp_path, "over")
    assert (study.title, study.description, study.methods, study.seeds) == ("Over", "d", ("c",), 3)
    assert [(entry.match.task, entry.set.training) for entry in study.options] == [
        (None, {"max_updates": 5}),
        ("t", {"max_updates": 9}),
    ]
    below, own = (tmp_path / "studies" / f"{name}.yaml" for name in ("below", "over"))
    assert files.entries == [(below, 0), (own, 0)] and files.path == own
    assert files.last_with("decoding", "length_penalty") == below and files.last_with("comet") is None
    assert {key: shown.task for key, shown in study.tables.items()} == {"p-one": "u", "p-two": "t", "p-three": "u"}
    assert study.decoding.model_dump(exclude_unset=True) == {"beam_size": 1, "length_penalty": 0.5}
    assert load_study(tmp_path, "below").title == "Below"


def test_a_study_may_inherit_some_keys_alone(tmp_path: Path) -> None:
    write(tmp_path, "below", BELOW)
    write(tmp_path, "middle", {"like": "below", "options": [{"set": {"training": {"max_tokens": 7}}}]})
    own = {"like": "middle", "inherit": ["options", "seeds"], "title": "Top", "description": "e", "tasks": ["t"]}
    write(tmp_path, "top", own)
    study = load_study(tmp_path, "top")
    assert [entry.set.training for entry in study.options] == [{"max_updates": 5}, {"max_tokens": 7}]
    assert (study.seeds, study.methods, study.tables, study.decoding) == (3, (), {}, Decoding())


def test_three_studies_deep(tmp_path: Path) -> None:
    write(tmp_path, "below", BELOW)
    write(tmp_path, "middle", {"like": "below", "tables": {"p-one": {"task": "m"}}})
    write(tmp_path, "top", {"like": "middle", "decoding": {"beam_size": 2}})
    study = load_study(tmp_path, "top")
    assert study.tables["p-one"].task == "m"
    assert (study.decoding.beam_size, study.decoding.length_penalty) == (2, 0.5)


def test_of_a_list_of_studies_a_later_one_wins_and_the_study_itself_wins_over_all(tmp_path: Path) -> None:
    write(tmp_path, "below", BELOW)
    tables = {"p-two": {"task": "u"}, "p-four": {"task": "t"}}
    write(tmp_path, "beside", {"title": "Beside", "seeds": 2, "tables": tables})
    write(tmp_path, "top", {"like": ["below", "beside"], "description": "Both", "tables": {"p-four": {"task": "v"}}})
    study = load_study(tmp_path, "top")
    assert (study.title, study.description, study.seeds, study.methods) == ("Beside", "Both", 2, ("a", "b"))
    assert {key: shown.task for key, shown in study.tables.items()} == {"p-one": "t", "p-two": "u", "p-four": "v"}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"like": ["second", "first"]}, BELOW, "'first' leads back"),
        ({"like": ["second", "third"]}, BELOW, "no study 'third'"),
        ({"like": "second"}, {"like": "first"}, "leads back"),
        ({"like": "first"}, BELOW, "leads back"),
        ({"like": "secondd"}, BELOW, "no study 'secondd' (did you mean 'second'?)"),
        ({"like": 3}, BELOW, "like"),
        (
            {"like": "second", "inherit": ["decodng"], "title": "t", "description": "d"},
            BELOW,
            "'decodng' is no key of a study (did you mean 'decoding'?)",
        ),
        ({"like": "second", "inherit": 3}, BELOW, "inherit"),
        ({"like": "second", "options": 3}, BELOW, "options"),
        ({"like": "second", "tables": {"p-one": None}}, BELOW, "p-one: found null; leave it out, and name the keys to"),
        ({"like": "second", "decoding": None}, BELOW, "decoding: found null; leave it out, and name the keys to"),
    ],
)
def test_mistakes(tmp_path: Path, first: dict[str, Any], second: dict[str, Any], said: str) -> None:
    write(tmp_path, "first", first)
    write(tmp_path, "second", second)
    with pytest.raises(ConfigError) as error:
        load_study(tmp_path, "first")
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return resolve(CONFIG, "paper", tmp_path_factory.mktemp("none"))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return resolve(CONFIG, "smoke", tmp_path_factory.mktemp("none"))


def planned(study: Study, task: str, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    run: Run = study.runs_of(task, method)[0]
    assert run.planned is not None
    return run.planned.architecture, run.planned.training.model_dump()


def test_each_task_has_the_recipe_of_its_paper(paper: Study) -> None:
    architecture, training = planned(paper, "jiang-en-de", "mixed")
    assert (architecture["model_dim"], architecture["ffn_dim"], architecture["num_heads"]) == (512, 1024, 4)
    assert (architecture["norm"], training["warmup_updates"]) == ("post", 4000)
    architecture, _ = planned(paper, "song-en-zh", "mixed")
    assert (architecture["ffn_dim"], architecture["num_heads"]) == (2048, 8)
    assert planned(paper, "zhang-zh-en", "dsa")[1]["warmup_updates"] == 8000
    # What a study says of one task wins over the recipe.
    assert planned(paper, "jiang-zh-en", "mixed")[0]["norm"] == "pre"
    assert paper.decoding["jiang-en-de"].beam_size == 5
    assert paper.decoding["phan-en-de"].beam_size == 1


def test_pretrained_weights_get_neither_sizes_nor_recipe(paper: Study) -> None:
    architecture, training = planned(paper, "song-en-zh", "mbart50-finetuned")
    assert "model_dim" not in architecture
    assert training["schedule"] == "polynomial"


def test_sizes_of_a_study_win_over_recipes_and_reach_stand_ins(smoke: Study) -> None:
    architecture, training = planned(smoke, "toy-jiang-zh-en", "waldm-edc")
    assert (architecture["model_dim"], architecture["norm"]) == (16, "pre")
    assert training["max_updates"] == 12
    assert planned(smoke, "toy-jiang-en-de", "waldm-edc")[0]["norm"] == "post"
    assert len({decoding.model_dump_json() for decoding in smoke.decoding.values()}) == 1


def test_the_systems_of_a_table_variant_are_runs_of_their_own(smoke: Study) -> None:
    runs = table_runs(smoke, "jiang2020-table8")
    assert runs and all(run.method.endswith("-post-norm") for run in runs)
    assert {run.planned.architecture["norm"] for run in runs if run.planned} == {"post"}
    assert {run.label for run in runs if run.method == "mixed-post-norm"} == {"Mixed"}
    places: Any = type("P", (), {"task": lambda self, name: name, "test": lambda self, run: run.directory})()
    told = comparison(smoke, "jiang2020-table8", places)
    assert told["baseline"] == "mixed-post-norm"
    assert told["baseline"] in told["systems"]
    assert comparison(smoke, "jiang2020-table4", places)["baseline"] == "mixed"


def link_all_but_studies(folder: Path) -> None:
    for part in CONFIG.iterdir():
        if part.name != "studies":
            (folder / part.name).symlink_to(part)
    (folder / "studies").mkdir()


def test_a_listed_method_that_a_table_varies_as_well_is_trained_once(tmp_path: Path) -> None:
    link_all_but_studies(tmp_path)
    methods = ["mixed", "waldm-edc", "mixed-post-norm"]
    study = {"title": "t", "description": "d", "methods": methods}
    write(tmp_path, "own", study | {"tables": {"jiang2020-table8": {"task": "toy-jiang-zh-en"}}})
    found = [run.method for run in resolve(tmp_path, "own", tmp_path).runs]
    assert found == [*methods, "waldm-edc-post-norm"]
