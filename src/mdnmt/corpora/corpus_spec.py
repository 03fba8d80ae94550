"""What the commands take as JSON about a corpus, and the part of it that identifies its text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.corpus import CorpusConfig, Language
from mdnmt.config.corpus_reader import FilesReader, ReaderConfig
from mdnmt.config.corpus_source import (
    AptSource,
    FileName,
    FileSource,
    GeneratedSource,
    LocalSource,
    ManualSource,
    Sha256,
    SourceConfig,
)
from mdnmt.config.task import Name
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_lock import LOCK, NO_LOCK, OWN_LOCK, Lock
from mdnmt.corpora.formats.text_names import stem_and_language, without_role
from mdnmt.corpora.local_files import local_files
from mdnmt.errors import ConfigError, DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.plugin_kinds import READER
from mdnmt.plugins import code_of

# Options that readers did not have at first: while they are empty, the text is what it was.
_LATER_OPTIONS = {"parallel": ("valid", "test"), "tsv": ("where",)}
_PACKED = re.compile(r"\.(gz|xz|zst)$")


class FileSpec(Frozen):
    """One file of a corpus, with checksum and size; both may be null until the first download."""

    name: FileName
    sha256: Sha256 | None = None
    size_bytes: int | None = Field(None, ge=0)

    def difference(self, path: Path) -> str | None:
        """Say how the file at `path` differs from what is known of this one; None if it does not."""
        if not path.is_file():
            return "is not there"
        size = path.stat().st_size
        if self.size_bytes is not None and size != self.size_bytes:
            return f"has {size} bytes, expected {self.size_bytes}"
        if self.sha256 is None:
            return None
        digest = sha256_file(path)
        return None if digest == self.sha256 else f"has sha256 {digest}, expected {self.sha256}"


class CorpusSpec(Frozen):
    """A corpus as a task needs it: its files and how they are read."""

    name: Name
    files: tuple[FileSpec, ...]  # empty for a generated corpus: its reader's options define it
    reader: ReaderConfig
    unpacked_bytes_max: int = Field(gt=0)

    def identity(self) -> dict[str, Any]:
        """Return what determines the text: the files, the reader and its options; not the corpus' name or size limit.

        Raises:
            DataError: a file was never downloaded, so its contents are unknown.
        """
        files = sorted([_PACKED.sub("", file.name), _known(file)] for file in self.files)
        if isinstance(self.reader, FilesReader):
            return {"files": _renamed(files, self.reader), "reader": {"name": "plain"}}
        later = _LATER_OPTIONS.get(self.reader.name, ())
        reader = {key: value for key, value in self.reader.model_dump(mode="json").items() if value or key not in later}
        if code := code_of(READER, self.reader.name.replace("-", "_")):
            reader["code"] = dict(code)
        # Memories whose codes were removed without a blank between words are another text.
        return {"files": files, "reader": {**reader, "version": 2} if reader["name"] == "tmx" else reader}


class FetchSpec(Frozen):
    """A corpus as `mdnmt fetch` needs it."""

    sources: tuple[SourceConfig, ...]  # one per file; exactly one for a local or generated corpus
    languages: tuple[Language, ...]
    pairs: int | None = None
    corpus: CorpusSpec

    @property
    def folder(self) -> str | None:
        """Return the user's folder with the files; None if they are downloaded or generated."""
        source = self.sources[0]
        return source.folder if isinstance(source, LocalSource | ManualSource) else None


def _renamed(files: list[list[str]], reader: FilesReader) -> list[list[str]]:
    """Name files as the reader `plain` does: the user's names do not count, but their order does."""
    names = {}
    for split in ("train", "valid", "test"):
        for number, name in enumerate(getattr(reader, split), start=1):
            names[name] = split if number == 1 else f"{split}.{number}"
    found = []
    for file, digest in files:
        stem, lang = stem_and_language(file) or file.rsplit(".", 1)
        found.append([f"{names[stem if stem in names else without_role(stem)]}.{lang}", digest])
    return sorted(found)


def _known(file: FileSpec) -> str:
    if file.sha256 is None:
        raise DataError(f"{file.name}: was never downloaded, so its content is unknown; run `mdnmt fetch`")
    return file.sha256


def corpus_spec(name: str, corpus: CorpusConfig, cache: ChecksumCache, lock: Lock = NO_LOCK) -> CorpusSpec:
    """Return what a task needs of a corpus; files that the user has are hashed (through `cache`).

    Raises:
        DataError: files of a local corpus are missing or unreadable.
        ConfigError: the lock and the corpus' YAML file differ.
    """
    source = corpus.source
    if isinstance(source, LocalSource):
        folder = Path(source.folder).expanduser()
        files = [_hashed(folder / file, cache) for file in local_files(folder, corpus.languages, corpus.reader)]
    else:
        files = [
            _with_content(one, locked_file(name, one, lock), cache)
            for one in corpus.sources
            if not isinstance(one, LocalSource | GeneratedSource)
        ]
    return CorpusSpec(name=name, files=tuple(files), reader=corpus.reader, unpacked_bytes_max=corpus.unpacked_bound)


def locked_file(corpus: str, source: FileSource | ManualSource, lock: Lock) -> FileSpec:
    """Return what is known of a file: the pinned values, else those of the lock.

    Raises:
        ConfigError: the two differ.
    """
    row = lock.row(corpus, source.file)
    size, digest = source.size_bytes, source.sha256
    if row is not None:
        for pinned, locked, what in ((size, row.size_bytes, "size_bytes"), (digest, row.sha256, "sha256")):
            if pinned is not None and pinned != locked:
                raise ConfigError(
                    f"{LOCK} or {OWN_LOCK}: {corpus}: {source.file} has {what} {locked}, but "
                    f"corpora/{corpus}.yaml says {pinned}; correct that, or remove {corpus} from the lock and "
                    "fetch it again"
                )
        size, digest = row.size_bytes, row.sha256
    return FileSpec(name=source.file, sha256=digest, size_bytes=size)


def _with_content(source: SourceConfig, file: FileSpec, cache: ChecksumCache) -> FileSpec:
    """Hash a file that the user fetched by hand if its checksum is not known yet."""
    if not isinstance(source, ManualSource) or file.sha256 is not None:
        return file
    path = Path(source.folder).expanduser() / source.file
    return _hashed(path, cache) if path.is_file() else file


def _hashed(path: Path, cache: ChecksumCache) -> FileSpec:
    return FileSpec(name=path.name, sha256=cache.sha256(path), size_bytes=path.stat().st_size)


def fetch_spec(name: str, corpus: CorpusConfig, hash_cache: Path, lock: Lock = NO_LOCK) -> FetchSpec:
    """Return what `mdnmt fetch --spec` takes (as JSON: `.model_dump_json()`).

    Raises:
        DataError, ConfigError: as `corpus_spec`.
    """
    cache = ChecksumCache(hash_cache)
    spec = corpus_spec(name, corpus, cache, lock)
    cache.save()
    sources = tuple(_as_locked(name, source, lock) for source in corpus.sources)
    return FetchSpec(sources=sources, languages=corpus.languages, pairs=corpus.pairs, corpus=spec)


def _as_locked(corpus: str, source: SourceConfig, lock: Lock) -> SourceConfig:
    """Ask apt for the locked version, not for a newer one, whose file would differ."""
    row = lock.row(corpus, source.file) if isinstance(source, AptSource) else None
    if row is None or not isinstance(source, AptSource) or source.version is not None:
        return source
    return source.model_copy(update={"version": row.origin.partition("=")[2] or None})
