"""UM-Corpus: alternating lines, and a test file in sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import corpus_of, gives_pairs_or_says_why, grows, pairs_of, reads, zipped

from mdnmt.config.corpus_reader import UmCorpusReader
from mdnmt.errors import DataError

LAWS, TESTING = "UM-Corpus/data/Bilingual/Laws/Bi-Laws.txt", "UM-Corpus/data/Testing/Testing-Data.txt"
TEST_TEXT = """(1) Education test data
（1）教育测试数据
School.
学校。
(2) Laws test data
（2）法律测试数据
(1) The court shall test the data of the case at hand and decide.
（一）法院应当检验数据。
(2) Whoever is told to, in whatever form and by whomever it is that the law of the land names, keeps the test data.
（二）数据应当保存。
Article 2
第二条
(3) Thesis test data:
（3）论文测试数据
An abstract.
摘要。
"""
ARCHIVE = {
    "UM-Corpus/readme.txt": b"x",
    LAWS: "\ufeffArticle 1\r\n第一条\r\nThe law.\r\n法律。\r\n\r\n\r\n".encode(),
    "UM-Corpus/data/Bilingual/News/Bi-News.txt": "Rain\n雨\n".encode(),
    TESTING: TEST_TEXT.encode(),
}


def options(domain: str = "Laws", **changes: Any) -> UmCorpusReader:
    return UmCorpusReader(name="um-corpus", domain=domain, **changes)


def test_lines_alternate_and_either_direction_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "umcorpus.zip", ARCHIVE)
    assert pairs_of(path, options(), "en", "zh") == [("Article 1\r", "第一条\r"), ("The law.\r", "法律。\r")]
    assert pairs_of(path, options("News"), "zh", "en") == [("雨", "Rain")]


def test_the_test_section_is_found_by_its_header_and_headers_are_no_text(tmp_path: Path) -> None:
    path = zipped(tmp_path / "umcorpus.zip", ARCHIVE)
    laws = pairs_of(path, options(), "en", "zh", "test")
    assert [chinese for _, chinese in laws] == ["（一）法院应当检验数据。", "（二）数据应当保存。", "第二条"]
    assert pairs_of(path, options("Thesis"), "zh", "en", "test") == [("摘要。", "An abstract.")]
    assert pairs_of(path, options("Science", section=1), "en", "zh", "test") == [("School.", "学校。")]
    assert (
        pairs_of(path, options(), "en", "zh", "valid") == pairs_of(path, options(test=False), "en", "zh", "test") == []
    )


def test_a_corpus_is_read_with_its_test_section(tmp_path: Path) -> None:
    text = corpus_of(zipped(tmp_path / "umcorpus.zip", ARCHIVE), options(), "en", "zh")
    assert {split: len(pairs) for split, pairs in text.items()} == {"train": 2, "test": 3}


@pytest.mark.parametrize(
    ("name", "data", "chosen", "said"),
    [
        (LAWS, "a\n甲\nb\n".encode(), options(), r"Bi-Laws\.txt:3: has no Chinese line after it"),
        (LAWS, "a\n甲\n".encode("gb18030"), options(), r"Bi-Laws\.txt:2: the byte 0xbc is not UTF-8"),
        (LAWS, b"", options(), r"Bi-Laws\.txt: is empty"),
        (LAWS, ("x\n" + "甲\nb\n" * 40).encode(), options(), r"Bi-Laws\.txt:81: has no Chinese line"),
        (LAWS, ("x\n" + "甲\nb\n" * 40 + "甲\n").encode(), options(), None),
        (LAWS, ("b 甲\n甲\n" * 41).encode(), options(), None),
        (LAWS, ("甲\nb\n" * 40).encode(), options(), r"txt:39: the Chinese lines come first in 20 pairs"),
        ("x", b"", options("Spoken"), r"has no member data/Bilingual/Spoken/Bi-Spoken\.txt"),
        (TESTING, b"a\nb\n", options(), r"Testing-Data\.txt:1: expected the header of a section"),
        (TESTING, b"(1) News test data\nx\n", options(), r"has no section of 'Laws', only \(1\) News test data"),
        (TESTING, b"(1) News and Laws test data\nx\n", options(), r"txt:1: 'News and Laws' names Laws and News; give"),
        (TESTING, TEST_TEXT.encode(), options(section=9), r"has no section \(9\)"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, name: str, data: bytes, chosen: UmCorpusReader, said: str | None
) -> None:
    path = zipped(tmp_path / "umcorpus.zip", {**ARCHIVE, name: data})
    if said is None:  # nothing is lost
        assert len(pairs_of(path, chosen, "en", "zh")) == 41
        return
    with pytest.raises(DataError, match=said) as caught:
        for split in ("train", "test"):
            pairs_of(path, chosen, "en", "zh", split)
    assert "\n" not in str(caught.value)


def test_other_languages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has English and Chinese, not en-fr"):
        pairs_of(zipped(tmp_path / "a.zip", ARCHIVE), options(), "en", "fr")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    def made(count: int):
        text = "".join(f"line {number} {'x' * 80}\n第{number}条{'法' * 30}\n" for number in range(count))
        return reads(zipped(tmp_path / str(count), {LAWS: text.encode()}), options(), "en", "zh")

    assert grows(made) < 1.3


PIECES = ["(1) ", "Laws", " test data", "News", "\n", "a", "甲", "\r", "\ufeff"]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    *[st.lists(st.sampled_from(PIECES).map(str.encode) | st.binary(max_size=3)).map(b"".join)] * 2, st.integers(1, 9)
)
def test_any_bytes_give_pairs_or_a_clear_line(text: bytes, testing: bytes, block: int) -> None:
    gives_pairs_or_says_why({LAWS: text, TESTING: testing}, block, options(), "en", "zh")
