"""What `config/corpora/<name>.yaml` may say: where a corpus comes from and how its text is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.corpus_reader import ReaderConfig
from mdnmt.config.corpus_source import (
    FileSource,
    FileSourceConfig,
    GeneratedSource,
    LocalSource,
    ManualSource,
    SourceConfig,
)
from mdnmt.config.loader import find_named, load_model
from mdnmt.languages import PATTERN

Language = Annotated[str, StringConstraints(pattern=PATTERN)]

GIBIBYTE = 1 << 30
# Defaults of `unpacked_bytes_max`: a pinned archive has no reason to be larger, but a user's own text may be.
UNPACKED_BYTES_MAX = dict.fromkeys(("http", "opus", "hf", "git", "manual"), 8 * GIBIBYTE) | {"local": 16 * GIBIBYTE}


class CorpusConfig(Frozen):
    """One source of parallel text."""

    title: str = Field(min_length=1, description="printed in the report")
    licence: str = Field("", description="of the package and of its text; printed")
    redistributable: bool = Field(
        False, description="the licence lets anybody pass the text on; only such text enters a bundle of evidence"
    )
    homepage: str = Field("", description="printed")
    citation: str = Field("", description="printed")
    languages: tuple[Language, ...] = Field(min_length=2, description="those that it has, as codes of ISO 639")
    source: SourceConfig = Field(description="where it comes from")
    more_sources: tuple[FileSourceConfig, ...] = Field(
        default=(), description="further files of the same corpus; a reader then sees <file>/<member>"
    )
    reader: ReaderConfig = Field(
        description="how its text is read; a local corpus: plain, files, tsv, tmx or xliff; a generated one: generated"
    )
    pairs: int | None = Field(
        None, gt=0, strict=True, description="of segments, where it is known: a download that holds others is refused"
    )
    unpacked_bytes_max: int | None = Field(
        None,
        gt=0,
        strict=True,
        description="what unpacks to more is refused: the archives, or one packed file of your own; "
        "null: 1 GiB from a registry, 8 from the web or by hand, 16 of your own",
    )

    @property
    def sources(self) -> tuple[SourceConfig, ...]:
        """Return where all of its files come from."""
        return (self.source, *self.more_sources)

    @property
    def downloads(self) -> tuple[FileSource, ...]:
        """Return the files that are downloaded; empty for text that the user has, or that is generated."""
        own = LocalSource | ManualSource | GeneratedSource
        return tuple(source for source in self.sources if not isinstance(source, own))

    @property
    def unpacked_bound(self) -> int:
        """Return how many bytes the archive, or one .gz file of a local corpus, may unpack to."""
        return self.unpacked_bytes_max or UNPACKED_BYTES_MAX.get(self.source.provider, GIBIBYTE)

    @model_validator(mode="after")
    def _reader_fits_source(self) -> Self:
        if self.source.provider == "local" and self.reader.name not in ("plain", "files", "tsv", "tmx", "xliff"):
            raise ValueError("a local corpus is read by the reader 'plain', 'files', 'tsv', 'tmx' or 'xliff'")
        if (self.source.provider == "generated") != (self.reader.name == "generated"):
            raise ValueError("the provider 'generated' and the reader 'generated' go together")
        if self.more_sources:
            if self.source not in self.downloads:
                raise ValueError(f"more_sources: the provider {self.source.provider!r} allows none")
            files = [source.file for source in self.downloads]
            if len(set(files)) < len(files):
                raise ValueError("more_sources: two files have one name; give each another")
        return self


def load_corpus(config_dir: Path, name: str) -> CorpusConfig:
    """Return the corpus of `config_dir/corpora/<name>.yaml`.

    Raises:
        ConfigError: there is no such file, or something in it is not allowed.
    """
    return load_model(find_named(config_dir / "corpora", name, "corpus"), CorpusConfig)
