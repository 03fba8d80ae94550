"""Methods and families of methods: one file of config/methods each, looked up by the names of the methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.config.method import MethodConfig, MethodIndex, load_method
from mdnmt.errors import ConfigError


def write(config: Path, **files: Any) -> MethodIndex:
    (config / "methods").mkdir(exist_ok=True)
    for name, value in files.items():
        (config / "methods" / f"{name}.yaml").write_text(yaml.safe_dump(value))
    return MethodIndex(config)


FAMILY = {
    "builder": "waldm",
    "deliberately_broken": True,
    "architecture": {"mixed_sides": "both", "norm": "pre"},
    "training": {"max_epochs": 3, "clip_norm": 1.0},
    "methods": {
        "first": {"label": "First"},
        "second": {
            "label": "Second",
            "train_on": "each",
            "deliberately_broken": False,
            "architecture": {"norm": "post"},
            "training": {"max_updates": 7},
        },
    },
}


def test_a_method_of_a_family_differs_in_what_it_sets(tmp_path: Path) -> None:
    index = write(tmp_path, family=FAMILY)
    assert {"first", "second"} < {*index.names} and index.path("second").name == "family.yaml"
    assert index.load("first") == MethodConfig(
        label="First",
        builder="waldm",
        deliberately_broken=True,
        architecture={"mixed_sides": "both", "norm": "pre"},
        training={"max_epochs": 3, "clip_norm": 1.0},
    )
    assert index.load("second") == MethodConfig(
        label="Second",
        builder="waldm",
        train_on="each",
        architecture={"mixed_sides": "both", "norm": "post"},
        training={"clip_norm": 1.0, "max_updates": 7},  # one budget replaces the other
    )


def test_a_file_with_one_method_has_its_name(tmp_path: Path) -> None:
    write(tmp_path, family=FAMILY, alone={"label": "Alone", "builder": "waldm", "initialise_from": "first"})
    assert load_method(tmp_path, "alone") == MethodConfig(label="Alone", builder="waldm", initialise_from="first")
    assert load_method(tmp_path, "first").label == "First"
    with pytest.raises(ConfigError, match="no method 'family'"):
        load_method(tmp_path, "family")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"first": {"label": "F", "builder": "waldm"}}, r"first\.yaml: .*family\.yaml has a method 'first' too"),
        ({"wanted": {"builder": "waldm"}}, r"wanted\.yaml: .*either `label`.*or `methods`"),
        ({"wanted": {"label": "W"}}, r"wanted\.yaml: the key 'builder' is missing"),
        ({"some": {**FAMILY, "label": "S", "methods": {"wanted": {"label": "W"}}}}, r"some\.yaml: .*either `label`"),
        ({"some": {"builder": "waldm", "methods": {"wanted": {}}}}, r"some\.yaml: the key 'methods\.wanted\.label' is"),
        (
            {"some": {"builder": "waldm", "methods": {"wanted": {"label": "W", "builder": "dmoe"}}}},
            r"some\.yaml: unknown key 'methods\.wanted\.builder'",
        ),
        (
            {"some": {"builder": "waldm", "methods": {"wanted": {"label": "W", "training": {"warm": 1}}}}},
            r"some\.yaml: methods\.wanted\.training: unknown key 'warm'",
        ),
        ({"some": {"builder": "waldm", "methods": {"Wanted": {"label": "W"}}}}, r"some\.yaml: methods\.Wanted"),
        ({"some": {"builder": "waldm", "members": {"wanted": {"label": "W"}}}}, r"some\.yaml: unknown key 'members'"),
        ({}, r"methods: no method 'wanted'; there are: .*first, .*second"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, files: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        write(tmp_path, family=FAMILY, **files).load("wanted")
    assert "\n" not in str(caught.value)


def test_a_mistake_in_a_file_that_is_not_asked_for_does_not_matter(tmp_path: Path) -> None:
    index = write(tmp_path, family=FAMILY, other={"builder": 3, "labl": "x"})
    assert index.load("first").label == "First"
