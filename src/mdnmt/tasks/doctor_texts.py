"""Open the text of a task's corpora for the doctor: users' files as they are, fetched archives by their readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.corpus_source import GeneratedSource, LocalSource
from mdnmt.config.task import TaskConfig
from mdnmt.corpora import generated
from mdnmt.corpora.archive import Archive
from mdnmt.corpora.folder import Folder
from mdnmt.corpora.manifest import files_folder, read_manifest
from mdnmt.corpora.own import check_own, corpora_of
from mdnmt.corpora.readers import HELD_OUT, folder_reader, reader
from mdnmt.corpora.union import open_files
from mdnmt.errors import ConfigError, DataError
from mdnmt.tasks.user_text import Segments, TwoFiles, UserText

Texts = dict[str, dict[str, list[UserText]]]


@contextmanager
def texts_of(task: TaskConfig, config_dir: Path, corpora: Path) -> Iterator[tuple[Texts, dict[str, list[str]]]]:
    """Yield domain -> split -> texts, and domain -> its corpora that were not fetched and so cannot be looked at.

    Raises:
        ConfigError: a corpus is not configured, or does not have the task's languages.
        DataError: the training files of a user's corpus are missing.
    """
    texts: Texts = {}
    missing: dict[str, list[str]] = {}
    check_own(task)
    configured = corpora_of(config_dir, task)
    with ExitStack() as opened:
        for domain, options in task.domains.items():
            texts[domain] = {"train": []}
            for name in options.corpora:
                corpus = configured[name]
                _check_languages(task, name, corpus)
                if isinstance(corpus.source, LocalSource):
                    found = _local(corpus, corpus.source, task)
                elif read_manifest(corpora / name) is None and not isinstance(corpus.source, GeneratedSource):
                    missing.setdefault(domain, []).append(name)
                    continue
                else:
                    found = _fetched(name, corpus, corpora / name, task, opened)
                for split, some in found.items():
                    texts[domain].setdefault(split, []).extend(some)
        yield texts, missing


def _check_languages(task: TaskConfig, name: str, corpus: CorpusConfig) -> None:
    for lang in (task.source_lang, task.target_lang):
        if lang not in corpus.languages:
            raise ConfigError(f"corpus {name!r} has no {lang!r}; it has {', '.join(corpus.languages)}")


def _local(corpus: CorpusConfig, source: LocalSource, task: TaskConfig) -> dict[str, list[UserText]]:
    """Return the splits of a user's folder; line-aligned files are read with their faults."""
    folder = Path(source.folder).expanduser()
    archive = Folder(folder, corpus.unpacked_bound)
    found = folder_reader(corpus.reader.name)
    if found is None:
        raise DataError(f"{folder}: the reader {corpus.reader.name!r} reads archives, no folder")
    languages = (task.source_lang, task.target_lang)
    texts: dict[str, list[UserText]] = {}
    for split in ("train", *HELD_OUT):
        files = found.split_files(archive, split, languages, corpus.reader)
        if not files:
            continue
        if corpus.reader.name in ("plain", "files"):
            texts[split] = [TwoFiles(archive, *sides) for sides in zip(files[::2], files[1::2], strict=True)]
        else:
            read = partial(_read, corpus.reader, archive, split, *languages)
            texts[split] = [Segments(f"{archive.label}/{files[0]}", read)]
    return texts


def _fetched(
    name: str, corpus: CorpusConfig, folder: Path, task: TaskConfig, opened: ExitStack
) -> dict[str, list[UserText]]:
    languages = (task.source_lang, task.target_lang)
    options: Any = corpus.reader
    if isinstance(corpus.source, GeneratedSource):
        return {"train": [Segments(name, partial(generated.pairs, options, *languages))]}
    manifest = read_manifest(folder)
    assert manifest is not None  # the caller has looked
    where = files_folder(folder)
    paths = [where / file["name"] for file in manifest["files"]]
    archive = opened.enter_context(open_files(paths, corpus.unpacked_bound))
    texts: dict[str, list[UserText]] = {
        "train": [Segments(name, partial(_read, options, archive, "train", *languages))]
    }
    held_out = getattr(reader(options.name), "held_out", None)
    for split in HELD_OUT if held_out is not None else ():
        if held_out is not None and held_out(archive, split, *languages, options) is not None:
            texts[split] = [Segments(f"{name}, {split}", partial(_read, options, archive, split, *languages))]
    return texts


def _read(options: Any, archive: Archive, split: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    found: Any = reader(options.name)
    if split == "train":
        yield from found.read(archive, source, target, options)
    else:
        yield from found.held_out(archive, split, source, target, options) or ()
