from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from mdnmt.cli import main
from mdnmt.config.schema import KINDS, editor_schema, files_of, json_schema

CONFIG = Path(__file__).resolve().parents[3] / "config"
FILES = [(kind, path) for kind in KINDS for path in files_of(CONFIG, kind)]


def validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = json_schema()
    return jsonschema.Draft202012Validator({**schema["properties"][kind], "$defs": schema["$defs"]})


def test_written_files_are_those_of_the_code(tmp_path: Path) -> None:
    assert main(["schema", "--out", str(tmp_path / "schema.json")]) == 0
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert len(made) == 1 + len(KINDS)
    for name, content in made.items():
        assert (CONFIG / name).read_bytes() == content, f"config/{name} is behind the code: run `mdnmt schema`"


def test_every_file_has_a_kind() -> None:
    generated = {*CONFIG.glob("*.lock.yaml"), CONFIG / "seed-spread.yaml"}  # written by programs, for nobody to edit
    assert {path for _, path in FILES} == set(CONFIG.rglob("*.yaml")) - generated


@pytest.mark.slow
def test_every_file_validates_and_names_its_schema() -> None:
    validators, wrong = {kind: validator(kind) for kind in KINDS}, []
    for kind, path in FILES:
        text = path.read_text(encoding="utf-8")
        wrong += [f"{path.name}: {error.message}" for error in validators[kind].iter_errors(yaml.safe_load(text))]
        named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
        if named is None or json.loads((path.parent / named[1]).read_text()) != editor_schema(kind):
            wrong.append(f"{path.name}: its first line names no schema, or another one")
    assert wrong == []


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("project", {"thread": 2}),
        ("task", {"title": "x", "source_lang": "en"}),
        ("method", {"label": "x", "builder": "waldm", "train_on": "some"}),
        ("method", {"label": "x", "builder": "waldm", "training": {"learning_rat": 1.0}}),
        (
            "corpus",
            {"title": "x", "languages": ["en", "fr"], "source": {"provider": "web"}, "reader": {"name": "plain"}},
        ),
    ],
)
def test_mistakes_are_refused(kind: str, wrong: dict[str, Any]) -> None:
    assert not validator(kind).is_valid(wrong)


def test_an_editor_can_follow_every_reference() -> None:
    schema = json_schema()
    references = set(re.findall(r'"\$ref": "([^"]*)"', json.dumps(schema)))
    assert {f"#/$defs/{name}" for name in schema["$defs"]} >= references
    for kind in KINDS:
        file, _, pointer = editor_schema(kind)["$ref"].partition("#/$defs/")
        assert file == "../schema.json" and pointer in schema["$defs"]


def test_keys_are_described() -> None:
    definitions = json_schema()["$defs"]
    assert all(definition.get("description") for definition in definitions.values())
    bare = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, value in definition.get("properties", {}).items()
        if not any("description" in form for form in (value, *value.get("anyOf", [])))
    ]
    assert bare == []
