"""How the text of a corpus is read: one class a reader, with the reader's options."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen


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
