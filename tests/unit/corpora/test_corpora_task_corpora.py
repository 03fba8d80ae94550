"""A task's own text: what is in its folders is told by the names, what is not clear is refused in one line."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest
import yaml
from missing_corpora import why_any_missing
from reader_archives import segments

from mdnmt.config.task import TaskConfig, load_task
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_spec import corpus_spec
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.task_corpora import check_own, corpora_of
from mdnmt.errors import ConfigError, DataError
from mdnmt.studies.resolve import resolve

CONFIG = Path(__file__).parents[3] / "config"
TMX = (
    '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>one</seg></tuv>'
    '<tuv xml:lang="fr"><seg>un</seg></tuv></tu></body></tmx>'
)


class Mine:
    """A project with a task `mine` of one domain, whose text is what `files` says."""

    def __init__(self, root: Path) -> None:
        self.config, self.text = root / "config", root / "text"
        for folder in (self.config / "tasks", self.config / "corpora", self.text):
            folder.mkdir(parents=True)

    def put(self, **files: str) -> None:
        """Write files; `__` stands for a dot in their names."""
        for key, text in files.items():
            path, data = self.text / key.replace("__", "."), text.encode()
            packed = {".gz": gzip.compress(data), ".xz": lzma.compress(data)}
            path.write_bytes(packed.get(path.suffix, data))

    def task(self, **domain: Any) -> TaskConfig:
        value = {
            "title": "Mine",
            "source_lang": "en",
            "target_lang": "fr",
            "domains": {"law": {"valid": 1, "test": 1, **(domain or {"folder": str(self.text)})}},
        }
        (self.config / "tasks" / "mine.yaml").write_text(yaml.safe_dump(value))
        return load_task(self.config, "mine")

    def read(self, split: str = "train", **domain: Any) -> list[tuple[str, str]]:
        task = self.task(**domain)
        check_own(task)
        corpora = corpora_of(self.config, task)
        assert list(corpora) == ["mine--law"]
        assert why_any_missing(corpora, self.text.parent / "corpora") is None
        return list(segments(Folder(self.text, 1 << 20), corpora["mine--law"].reader, "en", "fr", split))

    def identity(self) -> Any:
        corpus = corpora_of(self.config, self.task())["mine--law"]
        return corpus_spec("x", corpus, ChecksumCache(self.text.parent / "cache.json")).identity()

    def refused(self, **domain: Any) -> str:
        with pytest.raises(DataError) as caught:
            check_own(self.task(**domain))
        assert "\n" not in str(caught.value) and str(self.text) in str(caught.value)
        return str(caught.value).replace(f"{self.text}", "TEXT")


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    return Mine(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"train__en": "one\n", "train__fr": "un\n"},
        {"acts__en": "one\n", "acts__fr": "un\n"},
        {"Law__v2__en__gz": "one\n", "Law__v2__fr__xz": "un\n", "README__md": "about", "__swp": "hidden"},
        {"acts__tsv": "one\tun\n"},
        {"train__tsv__gz": "one\tun\n"},
        {"office__tmx": TMX},
        {"train__tmx__xz": TMX},
    ],
)
def test_what_a_folder_holds_is_told_by_the_names(mine: Mine, files: dict[str, str]) -> None:
    mine.put(**files)
    assert mine.read() == [("one", "un")]
    assert mine.read("valid") == []


def test_several_files_are_joined_in_the_order_of_the_alphabet(mine: Mine) -> None:
    mine.put(b__en="two\n", b__fr="deux\n", a__en__gz="one\n", a__fr__gz="un\n")
    assert mine.read() == [("one", "un"), ("two", "deux")]


def test_held_out_text_of_ones_own_is_called_so(mine: Mine) -> None:
    mine.put(acts__en="one\n", acts__fr="un\n", valid__en="two\n", valid__fr="deux\n")
    assert (mine.read(), mine.read("valid"), mine.read("test")) == ([("one", "un")], [("two", "deux")], [])
    mine.put(test__en="ten\n", test__fr="dix\n", dev__en="six\n", dev__fr="six\n")
    reader = {"name": "files", "train": ["acts"], "valid": ["valid", "dev"], "test": ["test"]}
    chosen = {"folder": str(mine.text), "reader": reader}
    assert mine.read(**chosen) == [("one", "un")]
    assert mine.read("valid", **chosen) == [("two", "deux"), ("six", "six")]
    assert mine.read("test", **chosen) == [("ten", "dix")]


def test_files_of_several_domains_in_one_folder(mine: Mine) -> None:
    mine.put(law__en="one\n", law__fr="un\n", news__en="two\n", news__fr="deux\n", x__tmx=TMX, y__tsv="a\tb\tc\n")
    mine.put(valid__en="no\n", valid__fr="non\n", t__csv="French;English\nun;one\n")
    assert mine.read(files=f"{mine.text}/law") == [("one", "un")]
    assert mine.read("valid", files=f"{mine.text}/law") == []
    assert mine.read(files=f"{mine.text}/x.tmx") == [("one", "un")]
    assert mine.read(files=f"{mine.text}/y.tsv") == [("a", "b")]
    third = {"name": "tsv", "columns": {"en": 1, "fr": 3}}
    assert mine.read(files=f"{mine.text}/y.tsv", reader=third) == [("a", "c")]
    named = {"name": "tsv", "columns": {"en": "English", "fr": "French"}, "header": True, "separator": "semicolon"}
    assert mine.read(files=f"{mine.text}/t.csv", reader=named) == [("one", "un")]


def test_what_is_not_clear_is_refused_in_one_line(mine: Mine) -> None:
    assert mine.refused(folder=str(mine.text / "no")) == (
        "TEXT/no: no such folder; put your text there, or correct it in the task's file"
    )
    assert mine.refused().startswith(
        "TEXT: has no text; expected <name>.en and <name>.fr, one .tsv, one .tmx or one .xlf"
    )
    assert "neither law.en and law.fr nor a file law" in mine.refused(files=f"{mine.text}/law")
    mine.put(acts__en="one\n")
    assert mine.refused() == "TEXT: has acts.en but no acts.fr; put it there, or remove the other"
    mine.put(acts__fr="un\n", x__tmx=TMX)
    assert mine.refused() == "TEXT: has acts.en and x.tmx; keep one kind there, or name one in `files`"
    (mine.text / "acts.en").unlink()
    (mine.text / "acts.fr").unlink()
    mine.put(valid__tmx=TMX)
    assert mine.refused().startswith("TEXT: has valid.tmx, x.tmx; call them train.tmx, valid.tmx and test.tmx")
    mine.put(note__txt="x")
    assert "note.txt: is none of .tsv, .tmx, .xlf; set `reader`" in mine.refused(files=f"{mine.text}/note.txt")


def test_held_out_text_alone_is_not_trained_on(mine: Mine) -> None:
    mine.put(valid__en="one\n", valid__fr="un\n")
    assert mine.refused() == "TEXT: has valid.en, but no text to train on; put one there"


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ({}, "found none of corpora, folder and files; give one of them"),
        ({"folder": "x", "files": "y"}, "found folder and files"),
        ({"folder": "x", "corpora": ["statcan"]}, "found corpora and folder"),
        ({"corpora": ["statcan"], "reader": {"name": "tmx"}}, "reader is for folder or files"),
        ({"files": "x", "reader": {"name": "files", "train": ["a"]}}, "files and reader both name files"),
        ({"folder": "x", "reader": {"name": "moses"}}, "found 'moses', expected one of files, tsv, tmx"),
        ({"folder": "x", "reader": {"name": "files", "train": ["a"], "test": ["a"]}}, "a file is named twice"),
    ],
)
def test_mistakes_in_the_file_are_told(mine: Mine, domain: dict[str, Any], said: str) -> None:
    value = {"valid": 1, "test": 1, **domain}
    head = {"title": "x", "source_lang": "en", "target_lang": "fr", "domains": {"law": value}}
    (mine.config / "tasks" / "mine.yaml").write_text(yaml.safe_dump(head))
    with pytest.raises(ConfigError) as caught:
        load_task(mine.config, "mine")
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_names_of_files_change_nothing_and_text_and_order_do(mine: Mine) -> None:
    mine.put(train__en="one\n", train__fr="un\n")
    plain = mine.identity()
    for lang in ("en", "fr"):
        (mine.text / f"train.{lang}").rename(mine.text / f"acts.{lang}")
    assert mine.identity() == plain
    mine.put(acts__fr="une\n")
    changed = mine.identity()
    assert changed != plain
    mine.put(more__en="two\n", more__fr="deux\n")
    joined = mine.identity()
    assert joined != changed
    for lang in ("en", "fr"):
        (mine.text / f"more.{lang}").rename(mine.text / f"a-first-one.{lang}")
    assert mine.identity() != joined


def test_a_study_leaves_out_a_task_whose_text_is_not_there(mine: Mine) -> None:
    for kind in ("methods", "studies"):
        (mine.config / kind).mkdir()
    (mine.config / "methods" / "plain.yaml").write_text("label: Plain\nbuilder: transformer\n")
    study = {"title": "x", "description": "x", "tasks": ["mine"], "methods": ["mixed", "plain"]}
    (mine.config / "studies" / "x.yaml").write_text(yaml.safe_dump(study))
    corpora = mine.text.parent / "corpora"
    mine.put(acts__en="one\n")
    mine.task()
    found = resolve(mine.config, "x", corpora).tasks["mine"]
    assert found.spec is None and list(found.corpora) == ["mine--law"]
    assert (found.missing or "").startswith("needs your own text: ") and "acts.en but no acts.fr" in found.missing
    mine.put(acts__fr="un\n")
    made = resolve(mine.config, "x", corpora).tasks["mine"]
    assert made.missing is None and made.spec is not None
    assert [file.name for file in made.spec.domains[0].corpora[0].files] == ["acts.en", "acts.fr"]
