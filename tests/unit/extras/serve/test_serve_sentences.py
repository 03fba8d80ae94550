"""Text becomes sentences without losing a word, or is refused with a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdnmt.errors import DataError
from mdnmt.extras.serve.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("He said “No.” Then he left.", ["He said “No.”", "Then he left."]),
        ("Dr. Smith met J. Doe, i.e. Art. 5. It ended.", ["Dr. Smith met J. Doe, i.e. Art. 5.", "It ended."]),
        ("It rose by 3.5 per cent. then fell", ["It rose by 3.5 per cent. then fell"]),
        ("first line\n\n  second line\r\nthird", ["first line", "second line", "third"]),
        ("银行提高利率。他说：“不。”然后走了。", ["银行提高利率。", "他说：“不。”", "然后走了。"]),
        ("a\u2028b\x85c", ["a", "b", "c"]),
        ("", []),
        (" \n\t", []),
    ],
)  # fmt: skip
def test_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(text, 1000)] == expected


def test_paragraphs_can_be_put_together_again() -> None:
    found = split_sentences("One. Two.\nThree.", 1000)
    assert "".join(sentence.text + sentence.after for sentence in found) == "One. Two.\nThree.\n"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200))
def test_no_character_is_lost(text: str) -> None:
    found = "".join(sentence.text for sentence in split_sentences(text, 1000))
    assert "".join(found.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\0b", "NUL"),
        ("a\ud800b", "not valid Unicode"),
        ("Short. " + "X" * 11, "sentence 2 has 11 characters, the limit is 10; split it"),
    ],
)
def test_what_is_no_text_is_refused(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        split_sentences(text, 10)
