"""Tokenise reversibly, with Moses (sacremoses, no escaping), jieba, the Stanford segmenter, characters, or spaces."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mdnmt.languages import language
from mdnmt.tasks.text import reversible, stanford_segmenter

# Radicals to Yi (with ideographs, kana and CJK punctuation, but not Hangul, which is written with spaces),
# compatibility forms, full-width forms, and the planes of rarer ideographs.
_SCRIPT = "\u2e80-\u312f\u3190-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef\U00020000-\U0003ffff"
# Shared with other scripts, but never next to a space in Chinese.
_QUOTES = "\u2018\u2019\u201c\u201d\u2026\u2014\u00b7"
_CHARACTER = re.compile(f"([{_SCRIPT}])")
_BLANK = re.compile(f" (?=[{_SCRIPT}{_QUOTES}])|(?<=[{_SCRIPT}{_QUOTES}]) ")


def split_characters(text: str) -> list[str]:
    """Return each CJK character as a token; the text between them is split at spaces."""
    return _CHARACTER.sub(r" \1 ", text).split()


def close_up(text: str) -> str:
    """Return text without the spaces next to CJK characters and their quotation marks."""
    return _BLANK.sub("", text)


_LONE_APOSTROPHE = re.compile(r"(?<=\w) ’ (?=\w)")
_MARKERS_AT_END = re.compile(r"(?<!@)@{2,}+(?= |$)")  # possessive, so that a line of markers takes linear time
_WITHOUT_BLANKS = ("zh", "ja")  # whose sentences sacremoses joins with spaces


@lru_cache(maxsize=16)
def _tokenizer(lang: str) -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang=language(lang).base)


@lru_cache(maxsize=16)
def _alphanumeric(lang: str) -> frozenset[str]:
    """Return the letters and digits of Moses' rules; words of only these characters are not changed."""
    return frozenset(_tokenizer(lang).IsAlnum)


@lru_cache(maxsize=1 << 16)
def _stretch_tokens(lang: str, stretch: str, at_start: bool, following: str | None) -> tuple[str, ...]:
    """Return the tokens of the part of a line before the word `following`, or before the end of the line (None)."""
    # The word before does not matter: the rules look back by one character only, which is the space.
    tokens = _tokenizer(lang).tokenize(
        ("" if at_start else "a ") + stretch + ("" if following is None else f" {following}"), escape=False
    )
    return tuple(tokens[0 if at_start else 1 : None if following is None else -1])


def _moses(line: str, lang: str) -> list[str]:
    """Return the tokens that sacremoses gives for a line, caching the parts between alphanumeric words.

    Alphanumeric words are not changed, and no rule looks past one, with a single exception: how a full stop is
    treated depends on the word after it.
    """
    if "MULTI" in line:  # sacremoses uses this word as a placeholder for dots
        return list(_tokenizer(lang).tokenize(line, escape=False))
    all_alphanumeric = _alphanumeric(lang).issuperset
    tokens: list[str] = []
    stretch: list[str] = []
    for chunk in line.split(" "):
        if not chunk or not all_alphanumeric(chunk):
            stretch.append(chunk)
            continue
        if stretch:
            between = " ".join(stretch)
            tokens += _stretch_tokens(lang, between, not tokens, chunk if "." in between else "a")
            stretch.clear()
        tokens.append(chunk)
    if stretch:
        tokens += _stretch_tokens(lang, " ".join(stretch), not tokens, None)
    return tokens


@lru_cache(maxsize=16)
def _detokenizer(lang: str) -> Any:
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang=language(lang).base)


@lru_cache(maxsize=16)
def _punctuation(lang: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language(lang).base)


@lru_cache(maxsize=1)
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that pkg_resources, which jieba imports, is deprecated
        import jieba

    words = jieba.Tokenizer()
    # Like `initialize`, but without its cache in the shared temporary folder, which any user can write.
    words.FREQ, words.total = words.gen_pfdict(words.get_dict_file())
    words.initialized = True
    return words


def normalise_punctuation(text: str, lang: str) -> str:
    """Return text normalised by Moses' normalize-punctuation."""
    return str(_punctuation(lang).normalize(text))


def tokenise(line: str, lang: str, tokenizer: str = "moses") -> list[str]:
    """Return the tokens of a normalised line; none ends in the BPE marker `@@`, except for sentencepiece."""
    if tokenizer == "sentencepiece":
        return line.split(" ")  # a normalised line has no other white space between its words
    if tokenizer == "reversible":
        return reversible.split_words(line, _cut_by_jieba if language(lang).base == "zh" else list)
    if tokenizer == "moses":
        return _moses(line, lang)  # every `@` becomes a token of its own
    if tokenizer == stanford_segmenter.NAME:
        return _as_tokens(stanford_segmenter.segment([line])[0])
    if tokenizer == "jieba":
        words = list(_jieba().cut(line))
    else:
        words = split_characters(line) if tokenizer == "character" else [line]
    return _as_tokens(" ".join(words))


def _cut_by_jieba(text: str) -> list[str]:
    return list(_jieba().cut(text))


def _as_tokens(words: str) -> list[str]:
    return _MARKERS_AT_END.sub(lambda found: " ".join(found[0]), words).split()


def splits_spaceless(tokenizer: str, scripts: Sequence[str]) -> bool:
    """Return whether a tokenizer splits text of scripts without spaces; `none` gets text that is split already."""
    if tokenizer == "character":
        return scripts[0] in ("Han", "Japanese", "Yi")
    return tokenizer != "moses"


def detokenise(text: str, lang: str, tokenizer: str = "moses") -> str:
    """Return the plain text of tokens that are separated by spaces."""
    if tokenizer in ("none", "sentencepiece"):
        return text
    if tokenizer == "reversible":
        return reversible.join_words(text.split(" "))
    plain = str(_detokenizer(lang).detokenize(text.split(" "), unescape=False)).strip()
    # Moses' rules join only the ASCII apostrophe, not the typographic one: l ’ année.
    plain = _LONE_APOSTROPHE.sub("’", plain)
    return close_up(plain) if tokenizer != "moses" or language(lang).base in _WITHOUT_BLANKS else plain


def tokenise_lines(job: tuple[str, str, Sequence[str]]) -> list[str]:
    """Return each line of (language, tokenizer, lines) as tokens separated by spaces: one job of a worker process."""
    lang, tokenizer, lines = job
    if tokenizer == "sentencepiece":
        return list(lines)
    if tokenizer == stanford_segmenter.NAME:  # one Java process for all lines
        return [" ".join(_as_tokens(words)) for words in stanford_segmenter.segment(lines)]
    return [" ".join(tokenise(line, lang, tokenizer)) for line in lines]
