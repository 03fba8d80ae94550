"""The page of the corpora names each of them, and each key that a source may have."""

from __future__ import annotations

import re
from typing import Any, get_args

from pages import ROOT, prose

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.corpus_source import GeneratedSource, LocalSource, ManualSource, SourceConfig

PAGE = prose(ROOT / "docs" / "corpora.md")
NAMES = {path.stem for path in (ROOT / "config" / "corpora").glob("*.yaml")}
GENERATED = {name for name in NAMES if isinstance(load_corpus(ROOT / "config", name).source, GeneratedSource)}


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    cells = re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_corpus_stands_on_the_page() -> None:
    there = NAMES - GENERATED
    named = first_cells(section("Corpora of the papers").partition("Names and contents of files")[0])
    assert named | first_cells(section("Corpora of the package registries")) == there


def test_the_licence_of_every_corpus_stands_on_the_page() -> None:
    table = re.findall(r"^\| (`[^|]+) \| ([^|]+) \| (yes|no) \|$", section("Licences"), flags=re.MULTILINE)
    found = {name: (licence, free) for names, licence, free in table for name in re.findall(r"`([^`]+)`", names)}
    corpora = {name: load_corpus(ROOT / "config", name) for name in NAMES - GENERATED}
    assert found == {name: (one.licence, "yes" if one.redistributable else "no") for name, one in corpora.items()}
    assert all(load_corpus(ROOT / "config", name).licence for name in NAMES)


def test_what_is_got_by_hand_is_called_as_the_page_says() -> None:
    corpora: list[CorpusConfig] = [
        load_corpus(ROOT / "config", path.stem) for path in (ROOT / "config" / "corpora").glob("*.yaml")
    ]
    files = {corpus.source.file for corpus in corpora if isinstance(corpus.source, ManualSource)}
    assert first_cells(section("Corpora of the papers").partition("Names and contents of files")[2]) - files == {
        "resources/manual/"
    }
    assert {corpus.source.folder for corpus in corpora if isinstance(corpus.source, ManualSource)} == {
        "resources/manual"
    }


def test_every_key_of_a_source_is_explained() -> None:
    kinds: tuple[Any, ...] = get_args(get_args(SourceConfig)[0])
    keys = {key for kind in kinds if kind not in (LocalSource, GeneratedSource) for key in kind.model_fields}
    table = section("A corpus of your own choice from the web").partition("| key of a source |")[2]
    assert first_cells(table) == keys - {"provider"}
