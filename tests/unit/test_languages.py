"""Language codes: what people write maps to what the tools know."""

from __future__ import annotations

import re

import pytest

from mdnmt.languages import PATTERN, SCRIPTS, language, spaceless_script, unknown_code


@pytest.mark.parametrize(
    ("codes", "base", "script", "tokenization"),
    [
        ("en eng en-GB eng_Latn", "en", "Latin", "13a"),
        ("fr fra fre fr_CA", "fr", "Latin", "13a"),
        ("de deu ger", "de", "Latin", "13a"),
        ("pt pt-BR pt_br por", "pt", "Latin", "13a"),
        ("sr-Latn sr_Latn-RS srp-Latn", "sr", "Latin", "13a"),
        ("sr srp sr-Cyrl", "sr", "Cyrillic", "13a"),
        ("zh zho chi cmn zh-CN zh_TW zh-Hant zho_Hans yue", "zh", "Han", "zh"),
        ("th tha tha_Thai", "th", "Thai", "char"),
        ("km khm", "km", "Khmer", "char"),
        ("lo lao", "lo", "Lao", "char"),
        ("my mya bur", "my", "Burmese", "char"),
        ("bo bod tib", "bo", "Tibetan", "char"),
        ("he heb iw", "he", "Hebrew", "13a"),
        ("ko kor", "ko", "Hangul", "13a"),
        ("haw", "haw", "Latin", "13a"),
    ],
)
def test_all_codes_of_a_language_act_alike(codes: str, base: str, script: str, tokenization: str) -> None:
    for code in codes.split():
        found = language(code)
        assert re.fullmatch(PATTERN, code), code
        assert (found.base, found.scripts[0], found.bleu_tokenization) == (base, script, tokenization), code
        assert found.is_known and unknown_code([code]) is None


def test_japanese_words_are_counted_where_their_packages_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for installed, expected in ((set(), "char"), ({"MeCab"}, "char"), ({"MeCab", "ipadic"}, "ja-mecab")):
        monkeypatch.setattr("mdnmt.languages.find_spec", lambda name, there=installed: name in there or None)
        assert [language(code).bleu_tokenization for code in ("ja", "jpn")] == [expected] * 2


def test_what_is_unknown_says_what_follows() -> None:
    assert not language("qaa").is_known and language("qaa").base == "qaa"
    what, remedy = unknown_code(["en", "qaa"]) or ("", "")
    assert "'qaa'" in what and "'en'" not in what and "BLEU" in what and "ISO 639" in remedy


def test_scripts_without_spaces_are_seen_in_the_text() -> None:
    assert spaceless_script("私はPythonを使います。とても便利です") == "Japanese"
    assert spaceless_script("ฉันพูดภาษาไทยได้") == "Thai"
    assert spaceless_script("Python 3 是 a programming language") is None
    assert spaceless_script("한국어를 말합니다") is None and spaceless_script("") is None


def test_no_letter_is_of_two_scripts() -> None:
    every = [re.compile(f"[{ranges}]") for ranges in SCRIPTS.values()]
    letters = (chr(code) for code in (*range(0xD800), *range(0xE000, 0x30000)))
    assert [one for one in letters if sum(bool(script.match(one)) for script in every) > 1] == []
