"""Generated text: a pure function of its configuration, with the ambiguities that it promises; Chinese toys of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from reader_archives import read_whole

from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.corpus_reader import GeneratedReader
from mdnmt.config.loader import validate_model
from mdnmt.config.task import load_task
from mdnmt.corpora.availability import why_lost, why_missing
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_spec import corpus_spec, fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.generated import KINDS, kinds, pairs
from mdnmt.errors import ConfigError
from mdnmt.fsio import read_json
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import task_spec
from mdnmt.tasks.text.tokenise import detokenise, split_characters, tokenise

CONFIG = Path(__file__).resolve().parents[3] / "config"
DOMAINS = (0, 1, 2, 3)


def grammar(domain: int = 0, **options: Any) -> GeneratedReader:
    return GeneratedReader(name="generated", domain=domain, **{"sentences": 1500, **options})


@pytest.fixture(scope="module")
def text() -> dict[int, list[tuple[list[str], list[str]]]]:
    return {d: [(s.split(), t.split()) for s, t in pairs(grammar(d), "en", "fr")] for d in DOMAINS}


@pytest.fixture(scope="module")
def kind_of() -> dict[str, str]:
    return {word: kind for domain in DOMAINS for word, kind in kinds(grammar(domain), "en").items()}


def test_the_same_configuration_gives_the_same_text_for_ever() -> None:
    first = list(pairs(grammar(1, sentences=2), "en", "fr"))
    assert first == list(pairs(grammar(1), "en", "fr"))[:2]
    assert first == [
        ("huzeku mekeno tehapi rohoro hekahe bukofe kofali", "tigosa zopovu nehazi gapebu sopipi nerami valiso"),
        (
            "lofina kebeda repaha bubeti bevima gisuvu koraha sovapu mevele",
            "zaluve tohole lepapa nehufo mufute sadiha vazipe hefoba zufosi",
        ),
    ]
    assert first != list(pairs(grammar(1, sentences=2, seed=2), "en", "fr"))


def test_a_word_has_one_translation_in_a_domain_and_its_kind_says_whether_in_all(
    text: dict[int, Any], kind_of: dict[str, str]
) -> None:
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for domain, sentences in text.items():
        for source, target in sentences:
            for word, translation in zip(source, target, strict=True):
                found[word][domain].add(translation)
    assert set(found) <= set(kind_of)
    for word, by_domain in found.items():
        assert all(len(translations) == 1 for translations in by_domain.values())
        different = {translation for translations in by_domain.values() for translation in translations}
        kind = kind_of[word]
        assert len(by_domain) == (1 if kind == "cue" else len(DOMAINS))
        assert len(different) == (len(DOMAINS) if kind in ("context", "label") else 1)
    translations = [t for by_domain in found.values() for t in {t for ts in by_domain.values() for t in ts}]
    assert len(set(translations)) == len(translations), "no two words share a translation"
    assert not set(translations) & set(found), "no word is spelt the same in both languages"


def test_context_words_have_a_cue_beside_them_and_label_words_have_none(
    text: dict[int, Any], kind_of: dict[str, str]
) -> None:
    for sentences in text.values():
        for source, _ in sentences:
            there = Counter(kind_of[word] for word in source)
            assert bool(there["cue"]) == bool(there["context"]) != bool(there["label"])
            assert 5 <= len(source) <= 9


def test_the_frequency_of_common_and_ambiguous_words_does_not_tell_the_domain(
    text: dict[int, Any], kind_of: dict[str, str]
) -> None:
    for kind in ("common", "context", "label"):
        counts = {d: Counter(w for s, _ in t for w in s if kind_of[w] == kind) for d, t in text.items()}
        for word in counts[0]:
            # 1,500 sentences: no word's count is further from another domain's than chance makes it.
            numbers = [counts[domain][word] for domain in DOMAINS]
            assert max(numbers) - min(numbers) < 7 * max(1, min(numbers)) ** 0.5, (word, numbers)


def test_shares_and_numbers_of_words_are_those_asked_for() -> None:
    options: dict[str, int] = {"common_words": 7, "cue_words": 2, "context_words": 3, "label_words": 4}
    made = grammar(2, context_share=0.2, min_words=6, max_words=6, **options)
    assert Counter(kinds(made, "en").values()) == {kind: options[f"{kind}_words"] for kind in KINDS}
    sentences = [source.split() for source, _ in pairs(made, "en", "fr")]
    kind_of = kinds(made, "en")
    cued = sum(any(kind_of[word] == "cue" for word in sentence) for sentence in sentences)
    assert 0.15 < cued / len(sentences) < 0.25
    assert {len(sentence) for sentence in sentences} == {6}
    assert set(kind_of) == {word for sentence in sentences for word in sentence}


def test_any_two_languages_will_do() -> None:
    source, target = next(pairs(grammar(), "zh", "de"))
    assert source != target and source != next(pairs(grammar(), "en", "de"))[0]


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_moses_leaves_the_words_alone(lang: str) -> None:
    for line, _ in list(pairs(grammar(), lang, "de"))[:200]:
        assert tokenise(line, lang) == line.split() and detokenise(line, lang) == line


def test_it_is_fetched_without_a_network_and_read_like_any_corpus(tmp_path: Path) -> None:
    corpus = load_corpus(CONFIG, "synthetic-south")
    assert why_missing(corpus, tmp_path) is None
    spec = fetch_spec("synthetic-south", corpus, tmp_path / "hashes.json")
    assert main(["fetch", "--spec", spec.model_dump_json(), "--out", str(tmp_path / "south")]) == 0
    assert why_lost(spec, tmp_path / "south") == ""
    read = read_whole(spec.corpus, tmp_path / "south", "en", "fr")
    assert read == {"train": list(pairs(corpus.reader, "en", "fr"))}  # type: ignore[arg-type]
    fetch(spec, tmp_path / "south")


@pytest.mark.parametrize("option", ["domain", "seed", "sentences", "label_words"])
def test_every_option_of_the_grammar_is_part_of_the_tasks_identity(option: str, tmp_path: Path) -> None:
    task = load_task(CONFIG, "synthetic-2")
    corpora = {name: load_corpus(CONFIG, f"synthetic-{name.split('-')[1]}") for name in _corpora(task)}
    before = task_spec("t", task, corpora, tmp_path / "hashes.json")
    reader = corpora["synthetic-north"].reader
    changed = reader.model_copy(update={option: getattr(reader, option) + 2})
    corpora["synthetic-north"] = corpora["synthetic-north"].model_copy(update={"reader": changed})
    assert task_spec("t", task, corpora, tmp_path / "hashes.json").fingerprint != before.fingerprint


def _corpora(task: Any) -> list[str]:
    return [name for domain in task.domains.values() for name in domain.corpora]


def test_mistakes_are_refused() -> None:
    right = {"name": "generated", "domain": 0, "sentences": 3}
    for source, reader, said in (
        ({"provider": "generated"}, {"name": "plain"}, "go together"),
        ({"provider": "local", "folder": "x"}, right, "plain"),
        ({"provider": "generated"}, {**right, "min_words": 8, "max_words": 7}, "min_words is above"),
        ({"provider": "generated"}, {"name": "generated", "sentences": 3}, "domain"),
        ({"provider": "generated"}, {**right, "label_words": 0}, "label_words"),
    ):
        corpus = {"title": "G", "languages": ["en", "fr"], "source": source, "reader": reader}
        with pytest.raises(ConfigError, match=said):
            validate_model(corpus, CorpusConfig, "corpus")


def test_the_corpora_of_a_task_differ_in_their_domain_alone(tmp_path: Path) -> None:
    two, four = load_task(CONFIG, "synthetic-2"), load_task(CONFIG, "synthetic-4")
    assert list(four.domains)[:2] == list(two.domains) and len(four.domains) == 4
    assert [four.domains[name] for name in two.domains] == list(two.domains.values())
    for names in (_corpora(four), NAMES):
        corpora = {name: load_corpus(CONFIG, name) for name in names}
        found = [corpus_spec(name, one, ChecksumCache(tmp_path / "h")).identity() for name, one in corpora.items()]
        assert [identity["reader"].pop("domain") for identity in found] == [0, 1, 2, 3]
        assert all(identity == found[0] for identity in found)
        assert len({one.languages for one in corpora.values()}) == 1


CHINESE_FIRST = ("剥坐埋踢削数捆贴躲追画抹抱喂笑捆画游喂削晒", "mekeno hazozi nubive rohoro vamero gapuzu puzosu")
NAMES = ["toy-0", "toy-1", "toy-2", "toy-3"]


def toy(name: str = "toy-0") -> GeneratedReader:
    found = load_corpus(CONFIG, name).reader
    assert isinstance(found, GeneratedReader)
    return found


def test_chinese_text_is_the_same_for_ever() -> None:
    assert next(pairs(toy(), "zh", "en")) == CHINESE_FIRST
    assert next(pairs(toy(), "en", "zh"))[1] != CHINESE_FIRST[0]  # its ambiguous words are those of a target


@pytest.mark.parametrize("name", NAMES)
def test_a_chinese_side_is_characters_without_blanks_and_says_what_another_side_says(name: str) -> None:
    for (chinese, english), (german, same) in zip(
        pairs(toy(name), "zh", "en"), pairs(toy(name), "de", "en"), strict=True
    ):
        assert english == same
        assert split_characters(chinese) == list(chinese)
        assert len(chinese) == 3 * len(german.split()) == 3 * len(english.split())


def test_no_two_chinese_words_are_alike() -> None:
    words = [word for name in NAMES for word in kinds(toy(name), "zh")]
    assert len(set(words)) == 40 + 10 + 10 + 4 * 6
    assert {len(word) for word in words} == {3}
    cues = [toy().model_copy(update={"cue_words": 1000, "domain": domain}) for domain in range(63)]
    assert len({word for one in cues for word in kinds(one, "zh")}) == 40 + 10 + 10 + 63 * 1000


@pytest.mark.slow
def test_jieba_finds_words_in_it_and_they_close_up_again() -> None:
    lines = [chinese for chinese, _ in pairs(toy(), "zh", "en")][:200]
    tokens = [tokenise(line, "zh", "jieba") for line in lines]
    assert [detokenise(" ".join(found), "zh", "jieba") for found in tokens] == lines
    sizes = [len(token) for found in tokens for token in found]
    assert len(set(sizes)) > 1, "characters alone need no segmenter"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toy-song-en-zh", "toy-zhang-zh-en"])
def test_a_toy_task_is_made(name: str, tmp_path: Path) -> None:
    task = load_task(CONFIG, name)
    corpora = {one: load_corpus(CONFIG, one) for domain in task.domains.values() for one in domain.corpora}
    for one, corpus in corpora.items():
        fetch(fetch_spec(one, corpus, tmp_path / "hashes.json"), tmp_path / "corpora" / one)
    spec = task_spec(name, task, corpora, tmp_path / "hashes.json")
    build_task(spec, tmp_path / "corpora", tmp_path / "task")
    stats = read_json(tmp_path / "task" / "stats.json")["domains"]
    data = TaskData.load(tmp_path / "task")
    assert tuple(data.domains) == tuple(task.domains)
    for domain in task.domains:
        sizes = {split: stats[domain][split]["sentences"] for split in ("train", "valid", "test")}
        assert 300 <= sizes["train"] <= 600 and sizes["valid"] == sizes["test"] == 20
        references = (tmp_path / "task" / "text" / f"test.{domain}.{task.target_lang}").read_text(encoding="utf-8")
        blanks = task.target_lang != "zh"
        assert all((" " in line) == blanks for line in references.splitlines())
