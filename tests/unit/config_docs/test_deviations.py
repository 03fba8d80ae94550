"""Every row of config/deviations.yaml names a key that exists, with the default that the code has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mdnmt.config.architectures import ARCHITECTURES, architecture_type
from mdnmt.config.deviations import SOURCES, Deviation, load_deviations
from mdnmt.config.study import StudyConfig
from mdnmt.config.task import TaskConfig
from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.extras.pretrained.config import PretrainedConfig

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"
ROWS = load_deviations(CONFIG)
OPTIONS = {**{name: architecture_type(name) for name in ARCHITECTURES}, "pretrained": PretrainedConfig}
WITH_KEY = [row for row in ROWS if row.key is not None]


def default_of(row: Deviation) -> Any:
    """Return the default of a row's key in the models of the configuration; KeyError where there is no such key."""
    first, *rest = str(row.key).split(".")
    if row.file == "methods":
        model: type[BaseModel] = Training if first == "training" else OPTIONS[str(row.builder)]
        parts = rest
    else:
        model = StudyConfig if row.file == "studies" else TaskConfig
        parts = [first, *rest]
    for part in parts[:-1]:
        inner = model.model_fields[part].annotation
        assert isinstance(inner, type) and issubclass(inner, BaseModel), f"{row.key}: nothing is inside {part}"
        model = inner
    default = model.model_fields[parts[-1]].default
    return list(default) if isinstance(default, tuple) else default


def test_keys_exist_with_the_defaults_that_the_rows_say() -> None:
    def differs(row: Deviation) -> bool:
        default = default_of(row)
        return default != row.default or type(default) is not type(row.default)

    assert WITH_KEY
    assert [f"{row.id}: {row.key}: {default_of(row)!r}" for row in WITH_KEY if differs(row)] == []


def test_rows_name_a_paper_of_ours_and_a_known_source() -> None:
    papers = {"all", *(path.stem for path in (CONFIG / "papers").glob("*.yaml"))}
    assert [row.id for row in ROWS if row.paper not in papers or row.source not in SOURCES] == []


# Options that choose a row of the papers' tables, or that a paper gives itself: no decision of ours.
STATED = {
    "dmoe": {"damha", "encoder_ffn", "gate_input"},
    "multitask": {"gradient"},
    "naive_waldm": {"mixed_sides", "proportion_smoothing"},
    "waldm": {"mixed_sides", "proportion_smoothing"},
    "word_context": {"word_contexts"},
    # No paper has other pretrained models than mBART-50, or LoRA.
    "pretrained": {"use", "revision", "sha256", "codes"}
    | {f"lora_{name}" for name in ("rank", "alpha", "dropout", "modules")},
}


@pytest.mark.parametrize("builder", sorted(set(OPTIONS) - {"transformer"}))
def test_every_choice_of_a_method_has_a_row(builder: str) -> None:
    own = set(OPTIONS[builder].model_fields) - set(OPTIONS["transformer"].model_fields)
    told = {str(row.key).removeprefix("architecture.") for row in WITH_KEY if row.builder == builder}
    # A row may also say which value of a general option a paper's own method has.
    assert own - STATED.get(builder, set()) <= told <= own | set(OPTIONS["transformer"].model_fields)


def test_the_keys_of_the_released_code_on_the_page_flip_the_four_choices_that_the_code_makes_otherwise() -> None:
    page = (ROOT / "docs" / "methods" / "waldm.md").read_text(encoding="utf-8")
    named = page.partition("The method files `...-released-code` set these four keys")[2]
    preset = named.partition("```yaml")[2].partition("```")[0]
    flipped = dict(re.findall(r"^ +(\w+): (\w+)$", preset, flags=re.MULTILINE))
    config = architecture_type("waldm")
    built = config.model_validate(flipped)
    other_rows = {"architecture.labels", "architecture.input_link", "architecture.weighted_loss"}  # of the tables
    rows = [row for row in WITH_KEY if row.builder == "waldm" and row.key not in other_rows]
    assert set(flipped) == {str(row.key).removeprefix("architecture.") for row in rows}
    assert all(getattr(built, name) != config.model_fields[name].default for name in flipped)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("file: tasks", "together"),
        ("file: methods, key: architecture.norm", "builder"),
        ("file: methods, key: training.precision, builder: waldm", "builder"),
        ("file: tasks, key: split.seed, colour: red", "colour"),
        ("file: papers, key: title", "papers"),
    ],
)
def test_a_row_that_is_wrong_is_one_line(tmp_path: Path, row: str, expected: str) -> None:
    text = "rows: [{id: a, paper: all, place: p, said: s, choice: c, source: ours, " + row + "}]\n"
    (tmp_path / "deviations.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=expected) as caught:
        load_deviations(tmp_path)
    assert "\n" not in str(caught.value)


def test_an_id_stands_once(tmp_path: Path) -> None:
    row = "{id: a, paper: all, place: p, said: s, choice: c, source: ours, file: null}"
    (tmp_path / "deviations.yaml").write_text(f"rows: [{row}, {row}]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="'a' occurs twice"):
        load_deviations(tmp_path)
