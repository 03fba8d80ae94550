"""What `config/tasks/<name>.yaml` may say: a language pair, its domains, and how text becomes numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.corpus import Language
from mdnmt.config.loader import NAME_PATTERN, find_named, load_model

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN.pattern)]
Count = Annotated[int, Field(gt=0, strict=True)]


class DomainConfig(Frozen):
    """One labelled part of a task and how much of it is used.

    `train` is an upper bound (null: everything); `valid` and `test` are exact (null: all of the corpora's own files).
    """

    corpora: tuple[Name, ...] = Field(min_length=1)
    train: Count | None = None
    valid: Count | None
    test: Count | None

    @model_validator(mode="after")
    def _each_corpus_once(self) -> Self:
        if len(set(self.corpora)) != len(self.corpora):
            raise ValueError("a corpus is listed twice")
        return self


class CleaningConfig(Frozen):
    """Which sentence pairs are kept; tokens are what stands between blanks."""

    min_tokens: Count = 1
    max_tokens: Count = 100
    max_length_ratio: float = Field(default=4.0, ge=1.0, allow_inf_nan=False)
    drop_identical: bool = Field(default=True, strict=True)
    require_letters: bool = Field(default=True, strict=True)
    max_copied_share: float = Field(
        default=1.0, ge=0.0, le=1.0, allow_inf_nan=False, description="words of the shorter side that the other has too"
    )

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.min_tokens > self.max_tokens:
            raise ValueError("min_tokens is above max_tokens")
        return self


class SplitConfig(Frozen):
    """How held-out sentences are drawn."""

    seed: int = Field(default=1, ge=0, strict=True)


class SegmentationConfig(Frozen):
    """How a sentence becomes pieces."""

    tokenizer: Literal["moses"] = "moses"
    bpe: Literal["joint"] = "joint"
    bpe_merge_operations: int = Field(default=32000, ge=0, strict=True)


class VocabularyConfig(Frozen):
    """Which pieces get a number of their own."""

    joint: bool = Field(default=True, strict=True)
    min_count: Count = 1


class TaskConfig(Frozen):
    """A language pair, its domains in label order, splits, segmentation and vocabulary."""

    title: str = Field(min_length=1)
    source_lang: Language
    target_lang: Language
    domains: dict[Name, DomainConfig] = Field(min_length=1)
    cleaning: CleaningConfig = CleaningConfig()
    split: SplitConfig = SplitConfig()
    segmentation: SegmentationConfig = SegmentationConfig()
    vocabulary: VocabularyConfig = VocabularyConfig()

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
