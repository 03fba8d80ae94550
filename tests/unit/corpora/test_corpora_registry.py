"""The corpora of the package registries and the tasks on them: their files agree with each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.task import load_task

CONFIG = Path(__file__).parents[3] / "config"
REGISTRIES = ("pip", "npm", "apt", "apt-list")
CORPORA = {path.stem: load_corpus(CONFIG, path.stem) for path in sorted((CONFIG / "corpora").glob("*.yaml"))}
TASKS = sorted(path.stem for path in (CONFIG / "tasks").glob("*registry*.yaml"))


def files(corpus: CorpusConfig) -> list[str]:
    return [source.file for source in (corpus.source, *corpus.more_sources)]


@pytest.mark.parametrize("name", [name for name, corpus in CORPORA.items() if corpus.source.provider in REGISTRIES])
def test_readers_name_files_that_the_corpus_has(name: str) -> None:
    corpus = CORPORA[name]
    named = dict(getattr(corpus.reader, "packages", {}))
    if named:
        assert set(named) == set(corpus.languages)
    if corpus.reader.name == "bibletk":
        named["en"] = corpus.reader.english
    for start in named.values():
        assert sum(file.startswith(f"{start}-") for file in files(corpus)) == 1, start
    if corpus.reader.name == "bible-json":
        assert set(corpus.reader.members) == set(corpus.languages)
    if corpus.reader.name == "ddtp":
        assert files(corpus) == [f"Translation-{lang}" for lang in corpus.languages]


@pytest.mark.parametrize("name", TASKS)
def test_tasks_ask_for_languages_that_their_corpora_have(name: str) -> None:
    task = load_task(CONFIG, name)
    for domain in task.domains.values():
        for corpus in domain.corpora:
            assert {task.source_lang, task.target_lang} <= set(CORPORA[corpus].languages), corpus
            assert CORPORA[corpus].source.provider in REGISTRIES
    chinese = "zh" in (task.source_lang, task.target_lang)
    # Without words of its own a Chinese sentence has one, and the bound on the ratio would drop most of them.
    split = "character" if name.startswith("song-en-zh-characters") else "jieba"
    assert not chinese or (task.cleaning.unit, task.segmentation.tokenizer_of("zh")) == ("tokens", split)


def test_a_task_without_apt_needs_none() -> None:
    for name in (name for name in TASKS if name.endswith("-no-apt")):
        for domain in load_task(CONFIG, name).domains.values():
            for corpus in domain.corpora:
                sources = (CORPORA[corpus].source, *CORPORA[corpus].more_sources)
                assert {source.provider for source in sources} <= {"pip", "npm"}, corpus
