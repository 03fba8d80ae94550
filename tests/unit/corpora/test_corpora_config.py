"""The YAML loader, and the models of corpora and tasks that it fills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.loader import load_model, load_yaml, parse_spec
from mdnmt.config.task import TaskConfig, load_task
from mdnmt.errors import ConfigError

CONFIG = Path(__file__).parents[3] / "config"

CORPUS: dict[str, Any] = {
    "title": "Toy",
    "languages": ["en", "fr"],
    "source": {
        "provider": "pip",
        "package": "toy",
        "version": "1.0",
        "file": "toy.whl",
        "sha256": "0" * 64,
        "size_bytes": 1,
    },
    "reader": {"name": "nace"},
}
TASK: dict[str, Any] = {
    "title": "Toy",
    "source_lang": "en",
    "target_lang": "fr",
    "domains": {"b": {"corpora": ["x"], "valid": 1, "test": 1}, "a": {"corpora": ["y"], "valid": 1, "test": 1}},
}


def changed(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    return {**value, head: changed(value.get(head, {}), rest, new) if rest else new}


def error_of(tmp_path: Path, value: Any, model: Any) -> str:
    path = tmp_path / "it.yaml"
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False))
    with pytest.raises(ConfigError) as caught:
        load_model(path, model)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        ("titel", "x", ["unknown key 'titel'", "did you mean 'title'", "allowed: citation,"]),
        ("source.pakage", "x", ["unknown key 'source.pakage'", "did you mean 'package'"]),
        ("source.provider", "pipp", ["source.provider: found 'pipp'", "did you mean 'pip'", "one of pip, npm, apt"]),
        ("source.sha256", "abc", ["source.sha256", "found 'abc'"]),
        ("source.version", "--proxy=x", ["source.version"]),
        ("source.file", "../x.whl", ["source.file"]),
        ("source.size_bytes", "12", ["source.size_bytes", "found '12'"]),
        ("reader", {"name": "statcan", "part": []}, ["unknown key 'reader.part'", "did you mean 'parts'"]),
        ("reader", {"name": "statcan", "parts": ["title"]}, ["reader.parts.0", "did you mean 'titles'"]),
        ("reader", {"name": "nase"}, ["did you mean 'nace'"]),
        ("reader", {}, ["'reader.name' is missing"]),
        ("languages", ["en"], ["languages"]),
        ("languages", "en", ["languages", "a list"]),
        ("source", {"provider": "local", "folder": "x"}, ["read by the reader 'plain'"]),
    ],
)
def test_mistakes_in_a_corpus_are_told_in_one_line(tmp_path: Path, path: str, new: Any, words: list[str]) -> None:
    message = error_of(tmp_path, changed(CORPUS, path, new), CorpusConfig)
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        ("domains.a.corpra", ["x"], ["unknown key 'domains.a.corpra'", "did you mean 'corpora'"]),
        ("domains.a.corpora", ["x", "x"], ["domains.a", "listed twice"]),
        ("domains.a.corpora", ["X y"], ["domains.a.corpora.0"]),
        ("domains.a.train", 0, ["domains.a.train", "found 0"]),
        ("domains.a.train", True, ["domains.a.train"]),
        ("domains.a.train", "many", ["domains.a.train", "found 'many'"]),
        ("domains", {"News!": {}}, ["News!"]),
        ("domains", {}, ["domains"]),
        ("target_lang", "en", ["are the same"]),
        ("source_lang", "english", ["source_lang"]),
        ("cleaning.max_tokens", 0, ["cleaning.max_tokens"]),
        ("cleaning", {"min_tokens": 9, "max_tokens": 3}, ["min_tokens is above max_tokens"]),
        ("cleaning.max_length_ratio", float("nan"), ["cleaning.max_length_ratio"]),
        ("segmentation.tokenizer", "mosses", ["segmentation.tokenizer", "did you mean 'moses'"]),
        ("segmentation.bpe_merges", 3, ["unknown key 'segmentation.bpe_merges'", "bpe_merge_operations"]),
    ],
)
def test_mistakes_in_a_task_are_told_in_one_line(tmp_path: Path, path: str, new: Any, words: list[str]) -> None:
    message = error_of(tmp_path, changed(TASK, path, new), TaskConfig)
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", [":3: not valid YAML", "'a' occurs twice"]),
        ("domains: {x: 1, x: 2}\n", [":1:", "'x' occurs twice"]),
        ("a: [1,\n", ["not valid YAML"]),
        ("- a\n", ["found list, expected keys"]),
        ("", ["is missing"]),
        ("!!python/object/apply:os.system ['true']\n", ["not valid YAML"]),
    ],
)
def test_what_is_no_yaml_of_ours_is_told_with_its_line(tmp_path: Path, text: str, words: list[str]) -> None:
    message = error_of(tmp_path, text, TaskConfig)
    assert [word for word in words if word not in message] == []


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_yaml(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(ConfigError, match="byte 3 is not UTF-8"):
        load_yaml(tmp_path / "latin.yaml")


@pytest.mark.parametrize("name", ["all", "avg", "average", "nan", "'null'", "a" * 260])
def test_a_domain_has_no_name_that_means_something_else_and_none_that_is_too_long(tmp_path: Path, name: str) -> None:
    text = f"title: T\nsource_lang: en\ntarget_lang: fr\ndomains: {{{name}: {{corpora: [a], valid: 1, test: 1}}}}\n"
    message = error_of(tmp_path, text, TaskConfig)
    assert message.count("\n") == 0 and len(message) < 600
    wanted = "should match" if len(name) > 80 else f"domains: '{name.strip(chr(39))}' is "
    assert wanted in message


def test_every_field_of_a_corpus_and_a_task_is_described() -> None:
    kinds = {"CorpusConfig": CorpusConfig, "TaskConfig": TaskConfig}
    schemas = [{**model.model_json_schema(), "title": name} for name, model in kinds.items()]
    parts = [part for schema in schemas for part in (schema, *schema["$defs"].values())]
    bare = [
        (part["title"], key) for part in parts for key, row in part["properties"].items() if "description" not in row
    ]
    assert len(parts) > 10 and bare == []


def test_a_misspelt_name_gets_a_proposal() -> None:
    with pytest.raises(ConfigError, match=r"no corpus 'statcann' \(did you mean 'statcan'\?\); there are: .*nace"):
        load_corpus(CONFIG, "statcann")
    with pytest.raises(ConfigError, match="lower-case letters"):
        load_task(CONFIG, "../tasks/demo-en-fr")


def test_every_corpus_and_task_of_the_project_can_be_loaded() -> None:
    corpora = {path.stem: load_corpus(CONFIG, path.stem) for path in (CONFIG / "corpora").glob("*.yaml")}
    tasks = {path.stem: load_task(CONFIG, path.stem) for path in (CONFIG / "tasks").glob("*.yaml")}
    assert list(tasks["demo-en-fr"].domains) == ["economy", "trade", "medical"]
    for task in tasks.values():
        for domain in task.domains.values():
            for name in domain.corpora:
                assert {task.source_lang, task.target_lang} <= set(corpora[name].languages)


def test_a_spec_argument_that_is_no_json_is_told() -> None:
    with pytest.raises(ConfigError, match="--spec: not JSON"):
        parse_spec("{", TaskConfig)
    with pytest.raises(ConfigError, match=r"--spec: .*'title' is missing"):
        parse_spec("{}", TaskConfig)
