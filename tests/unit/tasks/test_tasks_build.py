"""The task as a whole: from a user's own files to arrays that can be trained on."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.task import TaskConfig
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.errors import ConfigError, DataError
from mdnmt.machine import TooLarge
from mdnmt.tasks.build import build_task
from mdnmt.tasks.segmentation.segmenter import Segmenter, plain_text
from mdnmt.tasks.task_data import Ragged, TaskData
from mdnmt.tasks.task_spec import TaskSpec, task_spec

WORDS = {"economy": "bank rate price growth index survey", "law": "court act rule party judge order"}


class House:
    """A user's folders, their corpora, and a task on them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "hashes.json"
        self.corpora: dict[str, CorpusConfig] = {}
        generator = random.Random(5)
        for name, words in WORDS.items():
            lines = [[generator.choice(words.split()) for _ in range(generator.randint(2, 9))] for _ in range(120)]
            self.write(name, "train", [" ".join(line) for line in lines], [self.translate(line) for line in lines])
            self.corpora[name] = CorpusConfig.model_validate(
                {
                    "title": name,
                    "languages": ["en", "fr"],
                    "source": {"provider": "local", "folder": str(root / name)},
                    "reader": {"name": "plain"},
                }
            )

    @staticmethod
    def translate(words: list[str]) -> str:
        return " ".join(f"{word[::-1]}é" for word in reversed(words)) + ", oui."

    def write(self, name: str, split: str, en: list[str], fr: list[str]) -> None:
        (self.root / name).mkdir(exist_ok=True)
        for lang, lines in (("en", en), ("fr", fr)):
            (self.root / name / f"{split}.{lang}").write_text("".join(f"{line}\n" for line in lines))

    def config(self, **changes: Any) -> TaskConfig:
        domains = {name: {"corpora": [name], "train": 60, "valid": 5, "test": 8} for name in self.corpora}
        value = {
            "title": "Toy",
            "source_lang": "en",
            "target_lang": "fr",
            "domains": domains,
            "segmentation": {"bpe_merge_operations": 40},
        }
        return TaskConfig.model_validate({**value, **changes})

    def spec(self, **changes: Any) -> TaskSpec:
        return task_spec("toy", self.config(**changes), self.corpora, self.cache)

    def fetch(self) -> Path:
        for name, corpus in self.corpora.items():
            fetch(fetch_spec(name, corpus, self.cache), self.root / "fetched" / name)
        return self.root / "fetched"

    def build(self, out: str = "out", jobs: int = 1, **changes: Any) -> Path:
        build_task(self.spec(**changes), self.fetch(), self.root / out, jobs)
        return self.root / out


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return House(tmp_path_factory.mktemp("house")).build()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_holds_what_is_promised_and_nothing_else(built: Path) -> None:
    expected = {"task.json", "stats.json", "leakage.json", "segmentation.json", "codes.bpe"}
    expected |= {"vocab.en.txt", "vocab.fr.txt"}
    for split in ("train", "valid", "test"):
        expected.add(f"{split}.domains.npy")
        for lang in ("en", "fr"):
            expected |= {f"{split}.{lang}.tokens.npy", f"{split}.{lang}.offsets.npy"}
            expected |= {f"text/{split}.{domain}.{lang}" for domain in WORDS}
    assert set(contents(built)) == expected
    assert set(json.loads((built / "task.json").read_text())["files"]) == expected - {"task.json"}
    assert [path.name for path in built.parent.iterdir() if path.name.endswith(".part")] == []


def test_the_arrays_are_the_text(built: Path) -> None:
    data = TaskData.load(built)
    assert (data.name, data.domains) == ("toy", ("economy", "law"))
    for name, size in (("train", 60), ("valid", 5), ("test", 8)):
        split = data.split(name)
        assert len(split) == 2 * size
        assert split.domains.tolist() == [0] * size + [1] * size
        for side, vocab, lang in ((split.source, data.source_vocab, "en"), (split.target, data.target_vocab, "fr")):
            text = [line for domain in data.domains for line in data.text(name, domain, lang)]
            segmenter = Segmenter.load(built, lang)
            for sentence, line in zip(side, text, strict=True):
                assert sentence[-1] == vocab.eos
                assert sentence[:-1].tolist() == vocab.encode(segmenter.encode(line))
                if name == "train":
                    assert plain_text(vocab.decode(sentence.tolist()), lang) == line
            assert side.lengths.tolist() == [len(sentence) for sentence in side]
            assert side.tokens.dtype == np.int32
            assert side.offsets.dtype == np.int64


def test_statistics_are_those_of_the_text(built: Path) -> None:
    stats = json.loads((built / "stats.json").read_text())
    data = TaskData.load(built)
    assert list(stats["domains"]) == ["economy", "law"]
    for domain in data.domains:
        row = stats["domains"][domain]["test"]
        lines = data.text("test", domain, "en")
        words = [word for line in lines for word in line.split()]
        assert row["sentences"] == len(lines) == 8
        assert (row["source"]["tokens"], row["source"]["types"]) == (len(words), len(set(words)))
        pieces = [piece for line in lines for piece in Segmenter.load(built, "en").encode(line)]
        assert row["source"]["pieces"] == len(pieces)
        assert row["source"]["pieces_per_token"] == round(len(pieces) / len(words), 4)
        assert row["source"]["unseen_word_rate"] == row["source"]["oov_rate"] == 0
    assert stats["cleaning"]["law"]["read"] == 120


def test_unknown_pieces_and_unseen_words_are_counted(house: House) -> None:
    house.write("law", "test", ["judge zebra", "court order"], ["egduj arbez zz", "redro truoc"])
    domains = {"law": {"corpora": ["law"], "valid": 5, "test": None}}
    out = house.build(domains=domains)
    row = json.loads((out / "stats.json").read_text())["domains"]["law"]["test"]["source"]
    assert (row["tokens"], row["unseen_word_rate"], row["oov_rate"]) == (4, 0.25, 0.25)
    assert TaskData.load(out).text("test", "law", "en") == ["judge zebra", "court order"]


def test_identical_valid_and_test_files_are_told(house: House) -> None:
    for split in ("valid", "test"):
        house.write("law", split, ["judge order", "court rule"], ["redro egduj", "elur truoc"])
    domains = {"law": {"corpora": ["law"], "valid": None, "test": None}}
    said: list[str] = []
    build_task(house.spec(domains=domains), house.fetch(), house.root / "out", say=said.append)
    assert [line for line in said if line.startswith("warning: domain 'law': 2 valid sentences are also in a test set")]
    assert json.loads((house.root / "out" / "leakage.json").read_text())["valid_in_test"] == {"law": 2}


@pytest.mark.slow
def test_the_same_bytes_whatever_the_number_of_processes_and_again(house: House) -> None:
    first = contents(house.build("one", jobs=1))
    assert contents(house.build("again", jobs=1)) == first
    assert contents(house.build("two", jobs=2)) == first


def test_separate_vocabularies(house: House) -> None:
    data = TaskData.load(house.build(vocabulary={"joint": False}))
    assert data.source_vocab.tokens != data.target_vocab.tokens
    joint = TaskData.load(house.build("joint"))
    assert joint.source_vocab.tokens == joint.target_vocab.tokens


def test_a_task_without_a_whole_manifest_is_refused_by_name(house: House) -> None:
    path = house.build() / "task.json"
    for text in (path.read_text()[:50], "{}", None):  # damaged data: tests/faults/test_faults_damage.py
        path.unlink() if text is None else path.write_text(text)
        with pytest.raises(DataError, match=r"task\.json") as caught:
            TaskData.load(path.parent)
        assert "\n" not in str(caught.value)


def test_unknown_splits_and_texts_are_told(built: Path) -> None:
    data = TaskData.load(built, verify=False)
    with pytest.raises(DataError, match="no split 'dev'"):
        data.split("dev")
    with pytest.raises(DataError, match="domains: economy, law"):
        data.text("test", "news", "en")


def test_ragged_knows_its_bounds() -> None:
    ragged = Ragged(np.array([4, 2, 5, 6, 2], dtype=np.int32), np.array([0, 2, 5]))
    assert [row.tolist() for row in ragged] == [[4, 2], [5, 6, 2]]
    assert ragged[-1].tolist() == [5, 6, 2]
    with pytest.raises(IndexError):
        ragged[2]


def test_bad_files_stop_before_anything_is_written(house: House) -> None:
    with pytest.raises(DataError, match="fetch the corpus 'economy' first"):
        build_task(house.spec(), house.root / "nowhere", house.root / "out")
    fetched = house.fetch()
    (house.root / "law" / "train.en").write_bytes(b"one\n")
    with pytest.raises(DataError, match=r"train\.fr:2 has no counterpart"):
        build_task(house.spec(), fetched, house.root / "out")
    assert not (house.root / "out").exists()
    assert [path for path in house.root.iterdir() if path.name.endswith(".part")] == []


def test_a_failed_build_leaves_an_earlier_task_as_it_was(house: House) -> None:
    before = contents(house.build())
    with pytest.raises(DataError, match="domain 'law': 500 test sentences were requested"):
        domains = {"law": {"corpora": ["law"], "valid": 5, "test": 500}}
        house.build(domains=domains)
    assert contents(house.root / "out") == before


def test_files_of_two_builds_never_stand_under_one_manifest(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    out = house.build()

    def killed_before_the_manifest(path: Path) -> None:
        if path == out:
            raise KeyboardInterrupt

    monkeypatch.setattr("mdnmt.tasks.stage_folder.fsio.sync_directory", killed_before_the_manifest)
    with pytest.raises(KeyboardInterrupt):
        build_task(house.spec(split={"seed": 2}), house.root / "fetched", out)
    with pytest.raises(DataError, match=r"task\.json: missing"):
        TaskData.load(out)


def test_a_domain_without_a_sentence_left_is_told(house: House) -> None:
    house.write("law", "train", ["12 34", "1"], ["56", "2"])
    with pytest.raises(DataError, match="domain 'law': 8 test sentences were requested, 0 are available from 0"):
        house.build()


def test_a_file_that_changed_after_planning_is_noticed(house: House) -> None:
    spec, fetched = house.spec(), house.fetch()
    (house.root / "law" / "train.en").write_text("changed\n" * 120)
    with pytest.raises(DataError, match=r"train\.en: its content is not the one this task was planned with"):
        build_task(spec, fetched, house.root / "out")


def test_the_fingerprint_sees_what_changes_the_data_and_nothing_else(house: House, tmp_path: Path) -> None:
    spec = house.spec()
    assert len(spec.fingerprint) == 8
    assert TaskSpec.model_validate_json(spec.model_dump_json()) == spec

    same = [house.spec(title="Another title")]
    corpus = house.corpora["law"]
    (tmp_path / "law").rename(tmp_path / "moved")
    moved = corpus.source.model_copy(update={"folder": str(tmp_path / "moved")})
    house.corpora["law"] = corpus.model_copy(update={"source": moved, "licence": "MIT", "unpacked_bytes_max": 5})
    same.append(house.spec())
    same.append(task_spec("another-name", house.config(), house.corpora, house.cache))
    assert {one.fingerprint for one in same} == {spec.fingerprint}

    domains = house.config().model_dump()["domains"]
    different = [
        house.spec(split={"seed": 2}),
        house.spec(segmentation={"bpe_merge_operations": 41}),
        house.spec(cleaning={"max_tokens": 99}),
        house.spec(vocabulary={"joint": False}),
        house.spec(domains={name: domains[name] for name in reversed(domains)}),
        house.spec(domains={**domains, "law": {**domains["law"], "train": 61}}),
        house.spec(source_lang="fr", target_lang="en"),
    ]
    (tmp_path / "moved" / "train.en").write_text("new text\n")
    different.append(house.spec())
    assert len({one.fingerprint for one in (spec, *different)}) == len(different) + 1


def test_a_corpus_without_the_language_is_told(house: House) -> None:
    with pytest.raises(ConfigError, match="corpus 'economy' has no 'de'; it has en, fr"):
        house.spec(target_lang="de")
    with pytest.raises(ConfigError, match="no corpus 'news' is configured"):
        house.spec(domains={"news": {"corpora": ["news"], "valid": 1, "test": 1}})


def test_the_verb_builds_and_reports_errors_in_one_line(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    out = house.root / "out"
    arguments = ["--corpora", str(house.fetch()), "--out", str(out)]
    assert main(["task", "--spec", house.spec().model_dump_json(), *arguments]) == 0
    assert TaskData.load(out).fingerprint == house.spec().fingerprint
    assert "vocabulary of" in capsys.readouterr().err
    (house.root / "law" / "train.en").write_bytes(b"\xff\n")
    assert main(["task", "--spec", house.spec().model_dump_json(), *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_too_small_a_disk_is_named_before_anything_is_read(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.fetch()
    monkeypatch.setattr("mdnmt.tasks.text_stage.domain_texts", lambda *_: pytest.fail("began to read"))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=40_000))
    with pytest.raises(TooLarge, match=r"data of 146 pairs needs at least 0\.0 MB, 0\.0 MB are free there"):
        house.build()
    assert not (tmp_path / "out").exists()
