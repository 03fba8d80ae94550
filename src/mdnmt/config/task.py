"""What `config/tasks/<name>.yaml` may say: a language pair, its domains, and how text becomes numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.corpus import Language
from mdnmt.config.loader import NAME_PATTERN, find_named, load_model

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN.pattern)]
Count = Annotated[int, Field(gt=0, strict=True)]
AVERAGES = ("all", "avg")


class DomainConfig(Frozen):
    """One labelled part of a task and how much of it is used.

    `train` is an upper bound (null: everything); `valid` and `test` are exact (null: all of the corpora's own files).
    """

    corpora: tuple[Name, ...] = Field(min_length=1, description="files of config/corpora/, joined")
    train: Count | None = Field(None, description="at most so many training pairs; null: all that are left")
    valid: Count | None = Field(description="exactly so many; null: all of the corpora's own valid files")
    test: Count | None = Field(description="exactly so many; null: all of the corpora's own test files")

    @model_validator(mode="after")
    def _each_corpus_once(self) -> Self:
        if len(set(self.corpora)) != len(self.corpora):
            raise ValueError("a corpus is listed twice")
        return self


class CleaningConfig(Frozen):
    """Which sentence pairs are kept, before held-out ones are drawn from them; tokens stand between blanks."""

    min_tokens: Count = Field(1, description="on each side")
    max_tokens: Count = Field(100, description="on each side")
    max_length_ratio: float = Field(4.0, ge=1.0, allow_inf_nan=False, description="tokens of the longer side a token")
    drop_identical: bool = Field(True, strict=True, description="drop a pair whose sides are the same")
    require_letters: bool = Field(True, strict=True, description="drop a pair with a side that has no letter")
    max_copied_share: float = Field(
        1.0, ge=0.0, le=1.0, allow_inf_nan=False, description="of the shorter side's words, those the other has too"
    )

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.min_tokens > self.max_tokens:
            raise ValueError("min_tokens is above max_tokens")
        return self


class SplitConfig(Frozen):
    """How held-out sentences are drawn."""

    seed: int = Field(1, ge=0, strict=True, description="another one draws other held-out sentences")


class SegmentationConfig(Frozen):
    """How a sentence becomes pieces."""

    tokenizer: Literal["moses"] = Field("moses", description="how text is split into words")
    bpe: Literal["joint"] = Field("joint", description="joint: one set of merges for both languages and all domains")
    bpe_merge_operations: int = Field(32000, ge=0, strict=True, description="number of merges")


class VocabularyConfig(Frozen):
    """Which pieces get a number of their own."""

    joint: bool = Field(True, strict=True, description="one vocabulary for both languages")
    min_count: Count = Field(1, description="pieces rarer than this in training text become <unk>")


class TaskConfig(Frozen):
    """A language pair, its domains in label order, splits, segmentation and vocabulary."""

    title: str = Field(min_length=1, description="printed in the report")
    source_lang: Language = Field(description="translated from, as two or three letters")
    target_lang: Language = Field(description="translated into")
    domains: dict[Name, DomainConfig] = Field(min_length=1, description="name -> domain, in the order of the labels")
    cleaning: CleaningConfig = Field(CleaningConfig(), description="which pairs are kept")
    split: SplitConfig = Field(SplitConfig(), description="how held-out sentences are drawn")
    segmentation: SegmentationConfig = Field(SegmentationConfig(), description="how a sentence becomes pieces")
    vocabulary: VocabularyConfig = Field(VocabularyConfig(), description="which pieces get a number")

    @field_validator("domains")
    @classmethod
    def _no_name_of_an_average(cls, domains: dict[str, DomainConfig]) -> dict[str, DomainConfig]:
        for name in AVERAGES:
            if name in domains:
                raise ValueError(f"{name!r} is what tables and curves call the average; give the domain another name")
        return domains

    @model_validator(mode="after")
    def _two_languages(self) -> Self:
        if self.source_lang == self.target_lang:
            raise ValueError("source_lang and target_lang are the same")
        return self


def load_task(config_dir: Path, name: str) -> TaskConfig:
    """Return the task of `config_dir/tasks/<name>.yaml`.

    Raises:
        ConfigError: there is no such file, or something in it is not allowed.
    """
    return load_model(find_named(config_dir / "tasks", name, "task"), TaskConfig)
