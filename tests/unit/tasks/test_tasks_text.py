"""Normalise, clean, tokenise, segment, number: the steps that a single sentence goes through."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts_on_disk import cleaned

from mdnmt.config.task import CleaningConfig
from mdnmt.errors import DataError
from mdnmt.tasks.segmentation import bpe
from mdnmt.tasks.segmentation.bpe import join_pieces
from mdnmt.tasks.segmentation.segmenter import Segmenter, plain_text
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.text.clean import copied_share, held_out, make_pair, why_dropped
from mdnmt.tasks.text.normalisation import Normaliser, comparison_form, normalise
from mdnmt.tasks.text.tokenise import detokenise, tokenise

SENTENCE = "L'enquête de 2005 (EDM) couvre-t-elle 30 % des ménages ?"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("  a \t b\r\n", "a b"),
        ("e\u0301te\u0301", "\u00e9t\u00e9"),
        ("30\u00a0% de\u202fgras", "30 % de gras"),
        ("a\u2028b\u0085c", "a b c"),
        ("soft\u00adhyphen\ufeff\u200b", "softhyphen"),
        ("bell\x07 null\x00 high\ud800", "bell null high"),
        ("\u200e\u202aright\u202c", "right"),
        ("\u0646\u200c\u0627", "\u0646\u200c\u0627"),
        ("\x01", ""),
    ],
)
def test_normalise(raw: str, expected: str) -> None:
    assert normalise(raw) == expected


@pytest.mark.parametrize(
    ("lang", "tokens", "text"),
    [
        (
            "en",
            "I ca n't go , I wo n't . He 'd say : `` Yes , '' twice .",
            "I can't go, I won't. He'd say: \"Yes,\" twice.",
        ),
        ("en", "It 's a well @-@ known case , isn 't it ?", "It's a well-known case, isn't it?"),
        ("en", "Nothing here was tokenised: it's 3.5.", "Nothing here was tokenised: it's 3.5."),
        ("fr", "Aujourd&apos; hui c&apos; était &quot; très @-@ loin &quot; .", "Aujourd'hui c'était \"très-loin\"."),
        ("fr", "« Oui » , dit @-@ il .", "« Oui », dit-il."),
        ("es", "« Hola » , dijo . “ Hola ” , dijo él .", "«Hola», dijo. “Hola”, dijo él."),
        ("de", "„ Guten Tag “ , sagte er .", "„Guten Tag“, sagte er."),
        ("ar", "قال : &quot; نعم &quot; ، هل تتكلم ؟", 'قال: "نعم"، هل تتكلم؟'),
        ("ur", "آپ کیسے ہیں ؟ ٹھیک ہوں ۔", "آپ کیسے ہیں؟ ٹھیک ہوں۔"),
        ("hi", "बैठक , आज हुई ।", "बैठक, आज हुई।"),
        ("am", "ሄድኩ ። እሱ ፤ መጣ ።", "ሄድኩ። እሱ፤ መጣ።"),
        ("th", "ฉัน พูด ภาษา ไทย ได้ ดี", "ฉันพูดภาษาไทยได้ดี"),
        ("th", "ฉันพูดภาษาไทย ราคา 50 บาท", "ฉันพูดภาษาไทย ราคา 50 บาท"),
    ],
)
def test_tokenised_text_is_joined(lang: str, tokens: str, text: str) -> None:
    form = Normaliser(detokenise=True)
    assert form.apply(tokens, lang) == text
    assert form.apply(text, lang) == text, "plain text stays as it is"


@given(st.text())
def test_normalised_text_is_one_line_of_utf8_and_stays_as_it_is(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert len(once.splitlines()) <= 1
    assert once.encode("utf-8").decode("utf-8") == once


def test_the_comparison_form_does_not_see_case() -> None:
    assert comparison_form("STRASSE \u00c9t\u00e9") == comparison_form("stra\u00dfe \u00e9T\u00c9")


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("one two", "un deux", None),
        ("", "un", "empty"),
        ("one", "\u00a0 \x00", "empty"),
        ("one", "un deux", "too short"),
        ("a b c d e f", "a b c", "too long"),
        ("a b", "a b c d e", "length ratio"),
        ("The Same", "the  same", "identical"),
        ("12 34", "un deux", "no letter"),
    ],
)
def test_each_rule_drops_what_it_is_for(source: str, target: str, reason: str | None) -> None:
    rules = CleaningConfig(min_tokens=2, max_tokens=5, max_length_ratio=2.0)
    assert why_dropped(make_pair(source, target), rules) == reason


def test_rules_can_be_switched_off() -> None:
    rules = CleaningConfig(drop_identical=False, require_letters=False)
    assert why_dropped(make_pair("12", "12"), rules) is None


def test_duplicates_are_dropped_and_everything_is_counted() -> None:
    raw = [("A b", "C"), ("a  B", "c"), ("A b", "D"), ("", "x")]
    pool = cleaned(raw, CleaningConfig())
    assert list(pool.text) == [("A b", "C"), ("A b", "D")]
    assert (pool.read, dict(pool.dropped)) == (4, {"duplicate": 1, "empty": 1})


def test_own_held_out_sets_lose_only_blank_pairs() -> None:
    kept = held_out([("same", "same"), ("same", "same"), (" ", "x"), ("1", "2")])
    assert [pair.source for pair in kept] == ["same", "same", "1"]


def test_moses_tokens_are_not_escaped_and_come_back() -> None:
    tokens = tokenise('Say "a & b" <now>.', "en")
    assert tokens == ["Say", '"', "a", "&", "b", '"', "<", "now", ">", "."]
    assert detokenise(" ".join(tokenise("It's one, two (three).", "en")), "en") == "It's one, two (three)."


def test_merges_are_learned_by_count_and_words_go_apart_and_together() -> None:
    codes = bpe.learn({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 10)
    assert codes.splitlines()[:2] == ["#version: 0.2", "s t</w>"]
    segmenter = bpe.Bpe(codes)
    assert segmenter.pieces("lowest") == ["lo@@", "west"]
    assert join_pieces(segmenter.segment(["lowest", "new"])) == "lowest new"


def test_no_merges_gives_characters() -> None:
    assert bpe.Bpe(bpe.learn({"ab": 3}, 0)).pieces("ab") == ["a@@", "b"]


def test_codes_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"codes\.bpe: does not begin"):
        bpe.Bpe("e s\n")
    with pytest.raises(DataError, match=r"codes\.bpe:3: 'e' are not two pieces"):
        bpe.Bpe("#version: 0.2\ne s\ne\n")
    with pytest.raises(DataError, match=r"codes\.bpe: cannot be read"):
        Segmenter.load(tmp_path, "en")


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.sampled_from("abcé @&'<>-.,%/|\u4e2d\u200c"), max_size=30))
def test_pieces_always_join_to_the_tokens_they_were_made_of(text: str) -> None:
    segmenter = Segmenter(bpe.Bpe(bpe.learn({"ab": 5, "abc": 3, "cab": 2}, 5)), "fr")
    pieces = segmenter.encode(text)
    line = normalise(text)
    assert join_pieces(pieces) == (" ".join(tokenise(line, "fr")) if line else "")
    assert "".join(join_pieces(pieces).split()) == "".join(line.split())


def test_the_segmenter_goes_there_and_back() -> None:
    segmenter = Segmenter(bpe.Bpe(bpe.learn({"ménages": 4}, 5)), "fr")
    assert plain_text(segmenter.encode("Les ménages, ici."), "fr") == "Les ménages, ici."
    assert segmenter.encode(" \x00 ") == []
    assert plain_text([], "fr") == ""


def test_join_pieces_drops_the_marker_of_a_cut_off_hypothesis() -> None:
    assert join_pieces(["a@@", "b", "c@@"]) == "ab c"
    assert join_pieces([]) == ""


def test_the_vocabulary_numbers_by_count_then_by_spelling(tmp_path: Path) -> None:
    vocab = Vocab.from_counts({"b": 2, "a": 2, "c": 9, "rare": 1, "<s>": 50}, min_count=2)
    assert vocab.tokens == ["<pad>", "<s>", "</s>", "<unk>", "c", "a", "b"]
    assert vocab.encode(["a", "rare", "<s>", "</s>", "<pad>"]) == [5, 3, 3, 3, 3]
    assert vocab.decode([1, 5, 0, 4, 2, 6]) == ["a", "c"]
    vocab.save(tmp_path / "v.txt")
    assert Vocab.load(tmp_path / "v.txt").tokens == vocab.tokens
    assert len(vocab) == 7


def test_what_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    for text, message in (
        ("<s>\n<pad>\n</s>\n<unk>\n", "begins with"),
        ("", "begins with"),
        ("<pad>\n<s>\n</s>\n<unk>\na\na\n", "occurs twice"),
    ):
        (tmp_path / "vocab.en.txt").write_text(text)
        with pytest.raises(DataError, match=rf"vocab\.en\.txt: .*{message}"):
            Vocab.load(tmp_path / "vocab.en.txt")
    with pytest.raises(DataError, match="cannot be read"):
        Vocab.load(tmp_path / "none.txt")


def test_task_data_can_be_read_on_a_machine_with_numpy_alone() -> None:
    code = (
        "import sys, mdnmt.tasks.task_data, mdnmt.tasks.segmentation.vocabulary, mdnmt.tasks.segmentation.bpe; "
        "print([m for m in ('sacremoses', 'subword_nmt', 'pydantic', 'yaml', 'openpyxl', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("source", "target", "share"),
    [
        ("urea resin N-1", "urea résine N-1", 0.75),
        ("Tomato juice", "Jus de tomate", 0.0),
        ("a a b", "a c d e", 1 / 3),
        ("...", "!", 0.0),
    ],
)
def test_copied_share_counts_words_of_the_shorter_side(source: str, target: str, share: float) -> None:
    pair = make_pair(source, target)
    assert copied_share(pair) == pytest.approx(share)
    assert (why_dropped(pair, CleaningConfig(max_copied_share=0.3, require_letters=False)) is None) == (share <= 0.3)


@pytest.mark.parametrize("text", ["l’année dernière", "l'année dernière", "aujourd’hui, c’est « fini »"])
def test_both_apostrophes_survive_tokenising_and_detokenising(text: str) -> None:
    assert detokenise(" ".join(tokenise(text, "fr")), "fr") == text
