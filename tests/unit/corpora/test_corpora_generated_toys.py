"""Text of the toy tasks: any two of four languages; Chinese goes through jieba and back, as far as a made task."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.config.corpus import load_corpus
from mdnmt.config.corpus_reader import GeneratedReader
from mdnmt.config.task import load_task
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_spec import corpus_spec, fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.generated import kinds, pairs
from mdnmt.fsio import read_json
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import task_spec
from mdnmt.tasks.text.tokenise import detokenise, split_characters, tokenise

CONFIG = Path(__file__).resolve().parents[3] / "config"
CHINESE_FIRST = ("剥坐埋踢削数捆贴躲追画抹抱喂笑捆画游喂削晒", "mekeno hazozi nubive rohoro vamero gapuzu puzosu")
NAMES = ["toy-0", "toy-1", "toy-2", "toy-3"]


def reader(name: str = "toy-0") -> GeneratedReader:
    found = load_corpus(CONFIG, name).reader
    assert isinstance(found, GeneratedReader)
    return found


def test_toys_differ_in_their_domain_alone(tmp_path: Path) -> None:
    specs = [corpus_spec(name, load_corpus(CONFIG, name), ChecksumCache(tmp_path / "h")).identity() for name in NAMES]
    assert [spec["reader"].pop("domain") for spec in specs] == [0, 1, 2, 3]
    assert all(spec == specs[0] for spec in specs)
    assert len({load_corpus(CONFIG, name).languages for name in NAMES}) == 1


def test_chinese_text_is_the_same_for_ever() -> None:
    assert next(pairs(reader(), "zh", "en")) == CHINESE_FIRST
    assert next(pairs(reader(), "en", "zh"))[1] != CHINESE_FIRST[0]  # its ambiguous words are those of a target


@pytest.mark.parametrize("name", NAMES)
def test_a_chinese_side_is_characters_without_blanks_and_says_what_another_side_says(name: str) -> None:
    for (chinese, english), (german, same) in zip(
        pairs(reader(name), "zh", "en"), pairs(reader(name), "de", "en"), strict=True
    ):
        assert english == same
        assert split_characters(chinese) == list(chinese)
        assert len(chinese) == 3 * len(german.split()) == 3 * len(english.split())


def test_no_two_chinese_words_are_alike() -> None:
    words = [word for name in NAMES for word in kinds(reader(name), "zh")]
    assert len(set(words)) == 40 + 10 + 10 + 4 * 6
    assert {len(word) for word in words} == {3}
    cues = [reader().model_copy(update={"cue_words": 1000, "domain": domain}) for domain in range(63)]
    assert len({word for one in cues for word in kinds(one, "zh")}) == 40 + 10 + 10 + 63 * 1000


def test_jieba_finds_words_in_it_and_they_close_up_again() -> None:
    lines = [chinese for chinese, _ in pairs(reader(), "zh", "en")][:200]
    tokens = [tokenise(line, "zh", "jieba") for line in lines]
    assert [detokenise(" ".join(found), "zh", "jieba") for found in tokens] == lines
    sizes = [len(token) for found in tokens for token in found]
    assert len(set(sizes)) > 1, "characters alone need no segmenter"


@pytest.mark.parametrize("name", ["toy-song-en-zh", "toy-zhang-zh-en", "toy-jiang-en-de"])
def test_a_toy_task_is_made(name: str, tmp_path: Path) -> None:
    task = load_task(CONFIG, name)
    corpora = {one: load_corpus(CONFIG, one) for domain in task.domains.values() for one in domain.corpora}
    for one, corpus in corpora.items():
        fetch(fetch_spec(one, corpus, tmp_path / "hashes.json"), tmp_path / "corpora" / one)
    spec = task_spec(name, task, corpora, tmp_path / "hashes.json")
    build_task(spec, tmp_path / "corpora", tmp_path / "task")
    stats = read_json(tmp_path / "task" / "stats.json")["domains"]
    data = TaskData.load(tmp_path / "task")
    assert tuple(data.domains) == tuple(task.domains)
    for domain in task.domains:
        sizes = {split: stats[domain][split]["sentences"] for split in ("train", "valid", "test")}
        assert 300 <= sizes["train"] <= 600 and sizes["valid"] == sizes["test"] == 20
        references = (tmp_path / "task" / "text" / f"test.{domain}.{task.target_lang}").read_text(encoding="utf-8")
        blanks = task.target_lang != "zh"
        assert all((" " in line) == blanks for line in references.splitlines())
