"""The reversible tokenizer: text comes back exactly, whatever it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt.score.ceiling import ceiling
from mdnmt.tasks.segmentation.bpe import Bpe, join_pieces, learn
from mdnmt.tasks.segmentation.segmenter import round_trip
from mdnmt.tasks.text.normalisation import normalise
from mdnmt.tasks.text.reversible import JOINER, join_words, split_words, without_marks
from mdnmt.tasks.text.tokenise import detokenise, tokenise

_FILE = Path(__file__).resolve().parents[3] / "benchmarks/sentences.tsv"
SENTENCES = [tuple(line.split("\t")) for line in _FILE.read_text(encoding="utf-8").splitlines()]
LANGUAGES = sorted({lang for lang, _ in SENTENCES})
# Characters that tokenizers trip over: quotes, joiners, stacked letters, emoji, marks of ours, BPE's marker.
TRICKY = "a1é'’“”«.,@￭▁￮ \u200d\u200c\ufe0f\u0301👩💻👍🏽🇫🇷กัក្ញ漢か、한ي-_/&;İ"


def test_the_sample_has_forty_languages() -> None:
    assert len(LANGUAGES) >= 40


@settings(deadline=None)  # jieba loads its dictionary first
@given(st.sampled_from(SENTENCES), st.sampled_from(SENTENCES), st.integers(0, 80), st.integers(0, 80))
def test_sentences_of_forty_languages_come_back(one: list[str], other: list[str], end: int, start: int) -> None:
    line = normalise(f"{one[1][:end]} {other[1][start:]}")
    assert detokenise(" ".join(tokenise(line, one[0], "reversible")), one[0], "reversible") == line


@settings(deadline=None)
@given(st.one_of(st.text(), st.text(TRICKY, max_size=12)))
def test_any_text_comes_back(text: str) -> None:
    line = normalise(text)
    tokens = split_words(line)
    assert join_words(tokens) == line
    assert all(token and not token.endswith("@@") and " " not in token for token in tokens)


def test_pieces_of_bpe_come_back_as_well() -> None:
    lines = [normalise(sentence) for _, sentence in SENTENCES]
    words = [split_words(line) for line in lines]
    counts: dict[str, int] = {}
    for word in (word for line in words for word in line):
        counts[word] = counts.get(word, 0) + 1
    bpe = Bpe(learn(counts, 200))
    assert [join_words(join_pieces(bpe.segment(line)).split(" ")) for line in words] == lines


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("l'année (1999), 3.50 € !", "l'année (￭ 1999 ￭) ￭, 3.50 € !"),
        ("“Ça va ?” dit-il.", "“￭ Ça va ? ￭” dit ￭-￭ il ￭."),
        ("info@example.org", "info ￭@￭ example ￭.￭ org"),
        ("می‌خواهم کتاب‌ها را", "می‌خواهم کتاب‌ها را"),
        ("👩‍💻 🇫🇷 👍🏽!", "👩‍💻 🇫🇷 👍🏽 ￭!"),
        ("私はPython 3を使う。", "私 は Python 3 を 使 う 。"),
        ("ราคา 50 ครับ", "ร า ค า ▁ 50 ▁ ค รั บ"),
        ("ខ្ញុំ", "ខ្ញុំ"),
    ],
)
def test_what_the_tokens_are(text: str, tokens: str) -> None:
    assert " ".join(split_words(text)) == tokens
    assert JOINER not in " ".join(without_marks(tokens.split(" ")))


def test_chinese_has_words_and_every_code_of_it() -> None:
    assert tokenise("我今天去北京大学。", "zho", "reversible") == tokenise("我今天去北京大学。", "zh", "jieba")


def test_a_models_stray_marks_do_no_harm() -> None:
    assert join_words(["￭", "a", "￭￭", "b", "▁", "▁", "c", "￭"]) == "ab c"
    assert join_words([""]) == ""


def test_ceilings_say_what_moses_loses_and_nothing_is_lost_here() -> None:
    lines = tuple(sentence for lang, sentence in SENTENCES if lang == "fr")
    metrics = ("bleu", "ter", "perplexity")
    moses, ours = (ceiling(lines, "fr", name, metrics) for name in ("moses", "reversible"))
    assert moses["bleu"] < 99.5 and moses["ter"] > 0 and round_trip(lines, "fr", "moses") != list(lines)
    assert ours == {"bleu": 100.0, "ter": 0.0}


@pytest.mark.parametrize(("code", "same"), [("fra", "fr"), ("eng", "en"), ("pt-BR", "pt"), ("zho", "zh")])
def test_rules_of_moses_follow_the_language_not_its_spelling(code: str, same: str) -> None:
    for lang, sentence in SENTENCES:
        if lang == same:
            tokens = tokenise(sentence, code, "moses")
            assert tokens == tokenise(sentence, same, "moses")
            assert detokenise(" ".join(tokens), code) == detokenise(" ".join(tokens), same)
