"""Generate parallel text from a small grammar: which words are ambiguous, and what decides them, is known.

A sentence is words in any order, translated one by one. There are four kinds of words:

- `common`: one translation in all domains, and equally frequent in all of them;
- `cue`: occurs in the text of one domain only, so it reveals the domain;
- `context`: one translation per domain, always with a cue in the sentence: the context decides;
- `label`: one translation per domain, never with a cue in the sentence: only the domain's label decides.

Ambiguous words are equally frequent in all domains, so they do not reveal the domain themselves. The text is a pure
function of the configuration: corpora that differ only in `domain` make a task.

Any two languages will do. Words of a Chinese side (`zh`) consist of Chinese characters and have no spaces between them,
so a segmenter has to find them, and may make mistakes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, get_args

from mdnmt.config.corpus_reader import GeneratedReader

Kind = Literal["common", "cue", "context", "label"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Word = tuple[Kind, int]  # the kind, and the number of the word within it

_SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]
_CHARACTERS = list(  # also 75: verbs, which seldom form a word with their neighbours
    "坐跑唱写读买卖送借找停睡醒笑哭饮切煮洗挂缝织扫擦锁搬推拉抱背踢跳爬飞游钓砍劈挖填埋烧烤炸煎蒸剥削磨涂抹贴绑捆叠铺晒晾浇喂牵赶追躲藏抢偷骗猜数量称画刻染"
)
_NUM_FORMS = len(_SYLLABLES) ** 3
_STEP = 260_737  # coprime to _NUM_FORMS, so that different numbers give different forms
_MAX_WORDS, _MAX_VARIANTS = 1000, 64  # bounds of GeneratedReader


def pairs(grammar: GeneratedReader, source_lang: str, target_lang: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target) sentences."""
    for words in _sentences(grammar):
        source = [_form(grammar, source_lang, word, _source_variant(grammar, word)) for word in words]
        target = [_form(grammar, target_lang, word, _target_variant(grammar, word)) for word in words]
        yield _blank(source_lang).join(source), _blank(target_lang).join(target)


def kinds(grammar: GeneratedReader, source_lang: str) -> dict[str, Kind]:
    """Return the kind of every word of the source language, as it is written."""
    counts = _counts(grammar)
    words: list[Word] = [(kind, number) for kind in KINDS for number in range(counts[kind])]
    return {_form(grammar, source_lang, word, _source_variant(grammar, word)): word[0] for word in words}


def _counts(grammar: GeneratedReader) -> dict[Kind, int]:
    return {kind: getattr(grammar, f"{kind}_words") for kind in KINDS}


def _sentences(grammar: GeneratedReader) -> Iterator[list[Word]]:
    # Only `random()` is guaranteed to give the same sequence for a seed in all versions of Python.
    generator, counts = random.Random(f"{grammar.seed} {grammar.domain}"), _counts(grammar)

    def draw(kind: Kind, number: int) -> list[Word]:
        return [(kind, int(generator.random() * counts[kind])) for _ in range(number)]

    for _ in range(grammar.sentences):
        length = _between(generator, grammar.min_words, grammar.max_words)
        if generator.random() < grammar.context_share:
            words = draw("cue", _between(generator, 1, 2)) + draw("context", _between(generator, 1, 2))
        else:
            words = draw("label", _between(generator, 1, 2))
        words += draw("common", max(0, length - len(words)))
        yield sorted(words, key=lambda _: generator.random())


def _between(generator: random.Random, low: int, high: int) -> int:
    return low + int(generator.random() * (high - low + 1))


def _source_variant(grammar: GeneratedReader, word: Word) -> int:
    """Return the form of a source word: a cue has one form per domain, all other words have a single form."""
    return grammar.domain + 1 if word[0] == "cue" else 0


def _target_variant(grammar: GeneratedReader, word: Word) -> int:
    return 0 if word[0] == "common" else grammar.domain + 1


def _form(grammar: GeneratedReader, lang: str, word: Word, variant: int) -> str:
    """Return three syllables, or Chinese characters, different for each word and variant of a language."""
    kind, number = word
    place = (KINDS.index(kind) * _MAX_WORDS + number) * _MAX_VARIANTS + variant
    code = (place * _STEP + _start(grammar.seed, lang)) % _NUM_FORMS
    return "".join(_digits(code, _CHARACTERS if lang == "zh" else _SYLLABLES))


def _blank(lang: str) -> str:
    return "" if lang == "zh" else " "


@lru_cache(maxsize=16)
def _start(seed: int, lang: str) -> int:
    return int(random.Random(f"{seed} {lang}").random() * _NUM_FORMS)


def _digits(code: int, signs: Sequence[str]) -> Sequence[str]:
    size = len(signs)
    return signs[code // size**2], signs[code // size % size], signs[code % size]
