"""Mistakes in the files of corpora and tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.loader import load_model
from mdnmt.config.task import TaskConfig
from mdnmt.errors import ConfigError

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
DOMAIN = {"corpora": ["x"], "valid": 1, "test": 1}
TASK: dict[str, Any] = {
    "title": "Toy",
    "source_lang": "en",
    "target_lang": "fr",
    "domains": {"b": DOMAIN, "a": {**DOMAIN, "corpora": ["y"]}},
}


def changed(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    head, _, rest = path.partition(".")
    return {**value, head: changed(value.get(head, {}), rest, new) if rest else new}


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
        ("domains.a.corpra", ["x"], ["unknown key 'domains.a.corpra'", "did you mean 'corpora'"]),
        ("domains.a.corpora", ["x", "x"], ["domains.a", "listed twice"]),
        ("domains.a.corpora", ["X y"], ["domains.a.corpora.0"]),
        ("domains.a.train", 0, ["domains.a.train", "found 0"]),
        ("domains.a.train", True, ["domains.a.train"]),
        ("domains.a.train", "many", ["domains.a.train", "found 'many'"]),
        ("domains", {"News!": {}}, ["News!"]),
        *(("domains", {name: DOMAIN}, [f"domains: '{name}' is "]) for name in ("all", "avg", "average", "nan", "null")),
        ("domains", {"a" * 260: DOMAIN}, ["should match"]),
        ("domains", {}, ["domains"]),
        ("target_lang", "en", ["are the same"]),
        ("source_lang", "english", ["source_lang"]),
        ("cleaning.max_tokens", 0, ["cleaning.max_tokens"]),
        ("cleaning", {"min_tokens": 9, "max_tokens": 3}, ["min_tokens is above max_tokens"]),
        ("cleaning.max_length_ratio", float("nan"), ["cleaning.max_length_ratio"]),
        ("segmentation.tokenizer", "mosses", ["segmentation.tokenizer", "did you mean 'moses'"]),
        ("segmentation.bpe", "joimt", ["found 'joimt' (did you mean 'joint'?), expected one of joint"]),
        ("segmentation.bpe_merges", 3, ["unknown key 'segmentation.bpe_merges'", "bpe_merge_operations"]),
    ],
)
def test_a_mistake_in_a_corpus_or_a_task_is_told_in_one_line(
    tmp_path: Path, path: str, new: Any, words: list[str]
) -> None:
    of_corpus = path.partition(".")[0] in {"titel", "source", "reader", "languages"}
    file = tmp_path / "it.yaml"
    file.write_text(yaml.safe_dump(changed(CORPUS if of_corpus else TASK, path, new), sort_keys=False))
    with pytest.raises(ConfigError) as caught:
        load_model(file, CorpusConfig if of_corpus else TaskConfig)
    said = str(caught.value)
    assert "\n" not in said and len(said) < 600 and said.startswith(str(file))
    assert [word for word in words if word not in said] == []
