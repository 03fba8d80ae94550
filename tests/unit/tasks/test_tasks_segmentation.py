"""Tokenizers, codes by language and by domain, words without codes: from text to pieces and back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts_on_disk import fetched

from mdnmt.config.loader import validate_model
from mdnmt.config.task import TaskConfig
from mdnmt.errors import ConfigError, DamagedTask, DataError
from mdnmt.tasks.build import build_task
from mdnmt.tasks.segmentation import bpe
from mdnmt.tasks.segmentation.bpe import join_pieces
from mdnmt.tasks.segmentation.segmenter import NoDomainError, Segmentation, Segmenter, plain_text, segmentation_files
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import task_spec
from mdnmt.tasks.text.normalisation import normalise
from mdnmt.tasks.text.tokenise import close_up, detokenise, tokenise

CHINESE = "他来到了网易杭研大厦，说：“你好，世界！”"
LAW = [(f"The court rules {n} times on act {n % 7}", f"法院就法案{n % 7}裁决{n}次。") for n in range(1, 60)]
NEWS = [(f"The BANK reports growth of {n} percent", f"银行报告增长{n}%，很好。") for n in range(1, 60)]


def make(root: Path, name: str = "out", jobs: int = 1, **changes: Any) -> Path:
    """Build a task of two domains, English to Chinese."""
    corpora = fetched(root, {"law": {"train": LAW}, "news": {"train": NEWS}}, ("en", "zh"))
    task: dict[str, Any] = {
        "title": "Toy",
        "source_lang": "en",
        "target_lang": "zh",
        "domains": {domain: {"corpora": [domain], "valid": 4, "test": 5} for domain in corpora},
        # The numbers apart, the sentences are the same: whatever is near stays.
        "cleaning": {"max_length_ratio": 20.0},
        "leakage": {"near_duplicates": None},
        "segmentation": {"tokenizers": {"zh": "jieba"}, "bpe_merge_operations": 30},
    }
    for key, value in changes.items():
        task[key] = {**task.get(key, {}), **value}
    spec = task_spec("toy", TaskConfig.model_validate(task), corpora, root / "hashes.json")
    build_task(spec, root / "fetched", root / name, jobs)
    return root / name


def test_jieba_finds_words_and_the_text_comes_back() -> None:
    tokens = tokenise(CHINESE, "zh", "jieba")
    assert tokens[:6] == ["他", "来到", "了", "网易", "杭研", "大厦"]
    assert detokenise(" ".join(tokens), "zh", "jieba") == CHINESE


def test_characters_are_tokens_and_words_of_other_scripts_stay_whole() -> None:
    tokens = tokenise("我在Linux 6.1上 run GNU。", "zh", "character")
    assert tokens == ["我", "在", "Linux", "6.1", "上", "run", "GNU", "。"]
    assert detokenise(" ".join(tokens), "zh", "character") == "我在Linux 6.1上run GNU。"


def test_without_a_tokenizer_blanks_alone_part_words() -> None:
    text = "l'année, (déjà segmentée) 我们"
    assert tokenise(text, "fr", "none") == text.split()
    assert detokenise(text, "fr", "none") == text


def test_chinese_by_moses_is_written_without_blanks_too() -> None:
    assert plain_text(["他", "说", "：", "Hello", "world", "。"], "zh") == "他说：Hello world。"
    assert plain_text(["Say", ":", "hello"], "en") == "Say: hello"
    assert close_up("a b 中 文 c") == "a b中文c"


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet="ab@@@ 中文，9.é", max_size=25), st.sampled_from(["jieba", "character", "none", "moses"]))
def test_pieces_join_to_tokens_whatever_the_tokenizer(text: str, tokenizer: str) -> None:
    line = normalise(text)
    for codes in (None, bpe.Bpe(bpe.learn({"ab": 5, "中文": 3}, 5))):
        pieces = Segmenter(codes, "zh", tokenizer).encode(text)
        assert join_pieces(pieces) == (" ".join(tokenise(line, "zh", tokenizer)) if line else "")
        assert "".join(join_pieces(pieces).split()) == "".join(line.split())


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="中文你好世界，。：", max_size=20), st.sampled_from(["jieba", "character"]))
def test_chinese_comes_back_as_it_was(text: str, tokenizer: str) -> None:
    assert plain_text(Segmenter(None, "zh", tokenizer).encode(text), "zh", tokenizer) == text


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix == ".bpe"}


def test_missing_text_says_what_there_is_or_how_to_get_it_back(tmp_path: Path) -> None:
    out = make(tmp_path)
    data = TaskData.load(out)
    with pytest.raises(DataError, match=r"no such text; domains: .*; en, zh"):
        data.text("test", "sports", "en")
    (out / "text" / f"test.{data.domains[0]}.en").unlink()
    with pytest.raises(DamagedTask, match=r"cannot be read .*; remove the task's folder and start"):
        data.text("test", data.domains[0], "en")


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("joint", {"codes.bpe"}),
        ("side", {"codes.en.bpe", "codes.zh.bpe"}),
        ("domain", {"codes.law.bpe", "codes.news.bpe"}),
        ("none", set()),
    ],
)
def test_a_copy_of_the_segmentation_turns_text_into_the_task_s_numbers(
    tmp_path: Path, mode: str, names: set[str]
) -> None:
    segmentation = {"tokenizers": {"zh": "jieba"}, "bpe": mode, "bpe_merge_operations": 30}
    out = make(tmp_path, segmentation=segmentation, vocabulary={"joint": False})
    assert files(out) == names
    copy = tmp_path / "run"
    copy.mkdir()
    for name in segmentation_files(out, ("en", "zh")):
        shutil.copy(out / name, copy / name)
    data = TaskData.load(out)
    for split in ("train", "test"):
        for side, lang, vocab in (("source", "en", data.source_vocab), ("target", "zh", data.target_vocab)):
            sentences = iter(getattr(data.split(split), side))
            for domain in data.domains:
                segmenter = Segmenter.load(copy, lang, domain)
                for line in data.text(split, domain, lang):
                    numbers = next(sentences).tolist()
                    assert numbers == [*vocab.encode(segmenter.encode(line)), vocab.eos]
                    if split == "train":
                        tokenizer = Segmentation.load(copy).tokenizer(lang)
                        assert plain_text(vocab.decode(numbers), lang, tokenizer) == line


def test_codes_of_a_language_know_that_language_and_codes_of_a_domain_that_domain(tmp_path: Path) -> None:
    by_side = make(tmp_path, "side", segmentation={"bpe": "side"})
    assert not any("\u4e00" <= character <= "\u9fff" for character in (by_side / "codes.en.bpe").read_text())
    number = {"bpe": "domain", "bpe_merge_operations": 30, "merge_operations": {"news": 7}}
    by_domain = make(tmp_path, "domain", segmentation=number)
    counts = {name: (by_domain / name).read_text().count("\n") - 1 for name in sorted(files(by_domain))}
    assert counts == {"codes.law.bpe": 30, "codes.news.bpe": 7}
    assert "法" in (by_domain / "codes.law.bpe").read_text()
    assert "法" not in (by_domain / "codes.news.bpe").read_text()
    # One dictionary over the union: pieces of both domains have numbers in it.
    pieces = {piece for domain in ("law", "news") for piece in Segmenter.load(by_domain, "zh", domain).encode("法院")}
    assert pieces & set(TaskData.load(by_domain).target_vocab.tokens)


def test_text_of_no_domain_cannot_be_taken_apart_by_codes_of_domains(tmp_path: Path) -> None:
    out = make(tmp_path, segmentation={"bpe": "domain"})
    with pytest.raises(NoDomainError, match="codes of its domain"):
        Segmenter.load(out, "en")
    with pytest.raises(DataError, match=r"codes\.sport\.bpe: cannot be read"):
        Segmenter.load(out, "en", "sport")


def test_words_without_codes_and_a_bound_on_their_number(tmp_path: Path) -> None:
    out = make(tmp_path, segmentation={"bpe": "none"}, vocabulary={"joint": False, "max_size": 9})
    data = TaskData.load(out)
    assert len(data.source_vocab) == len(data.target_vocab) == 4 + 9
    assert {"The", "of", "court"} <= set(data.source_vocab.tokens)
    rare = Segmenter.load(out, "en").encode("The court sleeps")
    assert data.source_vocab.encode(rare)[-1] == data.source_vocab.unk
    assert json.loads((out / "stats.json").read_text())["domains"]["law"]["train"]["source"]["oov_rate"] > 0
    assert "subword-nmt" not in json.loads((out / "task.json").read_text())["tools"]


@pytest.mark.slow
def test_the_same_bytes_whatever_the_number_of_workers(tmp_path: Path) -> None:
    def contents(folder: Path) -> dict[str, bytes]:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}

    changes: dict[str, Any] = {"segmentation": {"bpe": "domain"}, "leakage": {"near_duplicates": 0.7}}
    assert contents(make(tmp_path, "one", 1, **changes)) == contents(make(tmp_path, "two", 2, **changes))


def test_a_domain_in_lower_case_is_so_in_every_split_and_when_it_is_translated(tmp_path: Path) -> None:
    domains = {
        "law": {"corpora": ["law"], "valid": 4, "test": 5},
        "news": {"corpora": ["news"], "valid": 4, "test": 5, "cleaning": {"lowercase": True, "max_length_ratio": 20}},
    }
    out = make(tmp_path, domains=domains)
    data = TaskData.load(out)
    for split in ("train", "valid", "test"):
        assert all(line.startswith("the bank") for line in data.text(split, "news", "en"))
        assert all(line.startswith("The court") for line in data.text(split, "law", "en"))
    assert Segmenter.load(out, "en", "news").encode("BANK") == Segmenter.load(out, "en").encode("bank")
    assert Segmenter.load(out, "en", "law").encode("BANK") == Segmenter.load(out, "en").encode("BANK")


def test_a_task_made_before_there_were_choices_is_moses_with_joint_codes(tmp_path: Path) -> None:
    out = make(tmp_path)
    (out / "segmentation.json").unlink()
    assert Segmentation.load(out) == Segmentation()
    assert segmentation_files(out, ("en", "zh")) == ["codes.bpe", "vocab.en.txt", "vocab.zh.txt"]


def test_a_damaged_segmentation_is_refused_by_name(tmp_path: Path) -> None:
    for text in ("", "[]", "{", '{"bpe": 1}', '{"bpe": "joint", "tokenizers": {}, "forms": {"a": 1}}'):
        (tmp_path / "segmentation.json").write_text(text)
        with pytest.raises(DataError, match=r"segmentation\.json: cannot be read"):
            Segmentation.load(tmp_path)


@pytest.mark.parametrize(
    ("segmentation", "said"),
    [
        ({"tokenizers": {"de": "moses"}}, "segmentation.tokenizers: 'de' is not one of the task's languages"),
        ({"tokenizers": {"zh": "jiba"}}, "expected one of moses, reversible, jieba, stanford, character, none"),
        ({"tokenizer": "jiebe"}, "did you mean 'jieba'"),
        ({"bpe": "domain", "merge_operations": {"sport": 3}}, "'sport' is not one of the task's domains"),
        ({"merge_operations": {"law": 3}}, "merge_operations is for bpe: domain"),
        ({"bpe": "both"}, "expected one of joint, side, domain, none"),
    ],
)
def test_mistakes_in_the_segmentation_are_told_in_one_line(segmentation: dict[str, Any], said: str) -> None:
    task = {
        "title": "t",
        "source_lang": "en",
        "target_lang": "zh",
        "domains": {"law": {"corpora": ["law"], "valid": 1, "test": 1}},
        "segmentation": segmentation,
    }
    with pytest.raises(ConfigError) as caught:
        validate_model(task, TaskConfig, "task.yaml")
    assert said in str(caught.value) and "\n" not in str(caught.value)
