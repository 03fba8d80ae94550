"""What is no text is told from text, language by language."""

from __future__ import annotations

import pytest

from mdnmt.tasks.doctor.not_text import is_header, oddities
from mdnmt.tasks.text.normalisation import normalise


def test_plain_french_and_code_are_no_markup() -> None:
    lines = [
        "Est-ce vrai ? Oui : non ; « bien » !",
        "AT&T & Co, a < b > c, <option> <name@example.org>",
        "n° 5, 3,5 % …",
    ]
    for line in lines:
        assert not list(oddities("source", line, line, "fr")), line
    for header in (("English", "French"), ("source", "target"), ("EN", "fr-FR")):
        assert is_header(*header, ("eng", "fr"))
    assert not is_header("French", "français bien sûr", ("en", "fr"))
    assert not is_header("No", "Si", ("en", "it")), "codes of other languages"


@pytest.mark.parametrize(
    ("lang", "line", "what"),
    [
        ("ar", "قال : &quot; نعم &quot; ، هل تتكلم", "tokenised"),  # mozilla/translations#1063
        ("hi", "उसने पूछा , और किसी को", "tokenised"),
        ("th", "ฉัน พูด ภาษา ไทย ได้ ดี", "tokenised"),
        ("fr", "la fen\\u00eatre est ouverte", "escaped characters"),
        ("fr", "le gar?on est ici", "question marks within words"),
        ("fr", "17\tla fenêtre", "a tab"),
        # None of these is odd.
        ("hi", "संयुक्त राष्ट्र की बैठक आज हुई ।", ""),
        ("th", "ฉันพูดภาษาไทยได้ ราคา 50 บาท ครับ ขอบคุณมากครับ", ""),
        ("my", "ကျွန်တော် မြန်မာစကား ပြောတတ်ပါတယ်။", ""),
        ("zh", "你好?我很好.", ""),
        ("en", "Really?Yes, see a.org/b?c=d and C:\\users\\x", ""),
        ("fr", "une unité\n\t\tde mémoire", ""),
    ],
)
def test_text_that_a_program_changed(lang: str, line: str, what: str) -> None:
    said = [oddity.what for oddity in oddities("target", line, normalise(line), lang)]
    assert any(what in one for one in said) if what else not said, said
