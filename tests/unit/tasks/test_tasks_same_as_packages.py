"""What is remembered or searched more quickly gives what sacremoses and subword-nmt give, to the last character."""

from __future__ import annotations

import contextlib
import io
import random
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer
from subword_nmt import learn_bpe

from mdnmt.tasks.segmentation import bpe
from mdnmt.tasks.text.tokenise import tokenise

VISIBLE = """
a the No no. No. Art. Art 5 5. 1,000 3,5, e.g. U.S. etc. l'an d' 's dogs' 1990's ' '' ,, , . .. ... .... a.' .' ). (EC)
x-y - -- `b` «à» été. Ünï, 中文 中文。 ก็ क्ष DOT MULTI DOTMULTI a@@ @ & <b>
"""
CHUNKS = [*VISIBLE.split(), "", "\t", "\x01", "\x1c'", "5\x02,", "\u200d", "\xa0", "\x1f"]


@lru_cache
def moses(lang: str) -> Any:
    return MosesTokenizer(lang=lang)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "fr", "de", "zh", "fi"])
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(CHUNKS) | st.text("aZé5.,'-`@(« \u0301²", max_size=6), max_size=12))
@example(["'", "tis", "No.", "5", "Art.", "a", "Art.", "A", "x,"])
@example(["", ""])
def test_tokens_are_those_of_sacremoses(lang: str, chunks: list[str]) -> None:
    line = " ".join(chunks)
    expected = moses(lang).tokenize(line, escape=False)
    for _ in range(2):  # found, then remembered
        assert tokenise(line, lang) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("words", "merges"), [(40, 10), (400, 2000), (3000, 1500)])
def test_codes_are_those_of_subword_nmt(words: int, merges: int) -> None:
    generator = random.Random(words)
    counts: dict[str, int] = {}
    for rank in range(1, words + 1):
        word = "".join(generator.choices("abcdeé", [8, 5, 3, 2, 1, 1], k=generator.randint(1, 9)))
        counts[word] = counts.get(word, 0) + 1 + words // rank
    expected = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe.learn_bpe([f"{word} {count}" for word, count in counts.items()], expected, merges, is_dict=True)
    assert bpe.learn(counts, merges) == expected.getvalue()
    assert "max" not in vars(learn_bpe)  # the package is as it was
