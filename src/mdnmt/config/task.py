"""What `config/tasks/<name>.yaml` may say: a language pair, its domains, and how text becomes token ids."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.cleaning import CleaningConfig, Count
from mdnmt.config.corpus import Language
from mdnmt.config.corpus_reader import FilesReader, TmxReader, TsvReader, XliffReader
from mdnmt.config.loader import NAME_PATTERN, READ_AS_MISSING, find_named, load_model
from mdnmt.languages import language

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN.pattern)]
Tokenizer = Literal["moses", "reversible", "jieba", "stanford", "character", "none"]
SENTENCEPIECE = "sentencepiece"
# What tables, curves and files of numbers call something else: name -> what it is there.
RESERVED = dict.fromkeys(("all", "avg", "average"), "the average") | dict.fromkeys(READ_AS_MISSING, "a missing value")


class SplitConfig(Frozen):
    """How held-out sentences are drawn: by a seed, one by one or in blocks, or as Jiang et al. (2020) did, by line."""

    seed: int = Field(1, ge=0, strict=True, description="seed of the random draw of held-out sentences")
    block: int | None = Field(
        None,
        ge=2,
        strict=True,
        description="n: draw blocks of n consecutive pairs, for text that runs in documents; null: single pairs",
    )
    every: int | None = Field(
        None, ge=2, strict=True, description="n: every n-th pair after cleaning is validation text"
    )
    modulo: int | None = Field(
        None,
        ge=10,
        strict=True,
        description="n, from line numbers modulo n: 0 is validation text, 1 test text, the last tenth training text",
    )

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if self.every is not None and self.modulo is not None:
            raise ValueError("every and modulo are two rules; give one of them")
        if self.modulo is not None and self.block is not None:
            raise ValueError("modulo takes lines by their number and draws no block; give one of modulo and block")
        return self

    @property
    def ruled(self) -> tuple[str, ...]:
        """Return the splits that are chosen by line number."""
        return ("valid",) if self.every else ("valid", "test") if self.modulo else ()


class DomainConfig(Frozen):
    """One labelled part of a task, where its text is, and how much of it is used.

    Its text is that of `corpora`, or the user's own: `folder` or `files`, to which `load_task` gives the name of a
    corpus. `train` is an upper bound (null: everything); `valid` and `test` are exact (null: all of the corpora's own
    files, or all that the rule of `split` gives).
    """

    corpora: tuple[Name, ...] = Field((), description="files of config/corpora/, concatenated")
    folder: str | None = Field(None, min_length=1, description="instead of corpora: a folder with your own text")
    files: str | None = Field(
        None, min_length=1, description="instead of corpora: `text/law` for text/law.en and text/law.fr, or one file"
    )
    reader: FilesReader | TsvReader | TmxReader | XliffReader | None = Field(
        None, discriminator="name", description="how folder or files are read; null: found by their names"
    )
    train: Count | None = Field(None, description="largest number of training pairs; null: all that remain")
    valid: Count | None = Field(description="exact number of pairs; null: all of the corpora's own valid files")
    test: Count | None = Field(description="exact number of pairs; null: all of the corpora's own test files")
    cleaning: CleaningConfig | None = Field(None, description="instead of the task's; null: the task's")
    split: SplitConfig | None = Field(None, description="instead of the task's; null: the task's")
    label: str | None = Field(None, min_length=1, description="as printed in tables; null: its name, capitalised")
    stands_for: Name | None = Field(
        None, description="the domain of the paper's own task that it replaces; null: it is that domain"
    )
    differs: str | None = Field(None, description="why its scores cannot be compared with the paper's")
    remark: str | None = Field(
        None,
        description="how its text differs from the paper's though its scores are compared; printed with each verdict",
    )

    @property
    def is_own(self) -> bool:
        """Say whether its text is the user's own, named here, and no file of config/corpora/."""
        return not (self.folder is None and self.files is None)

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.differs and self.remark:
            raise ValueError("remark is for scores that are compared, and differs says that they are not; give one")
        given = [key for key in ("corpora", "folder", "files") if getattr(self, key)]
        if len(given) != 1:
            raise ValueError(f"found {' and '.join(given) or 'none'} of corpora, folder and files; give one of them")
        if len(set(self.corpora)) != len(self.corpora):
            raise ValueError("a corpus is listed twice")
        if self.reader is not None and not self.is_own:
            raise ValueError("reader is for folder or files; a corpus has its own")
        if self.files is not None and (isinstance(self.reader, FilesReader) or getattr(self.reader, "file", None)):
            raise ValueError("files and reader both name files; with such a reader give the folder")
        return self


class LeakageConfig(Frozen):
    """How to handle training sentences that are also held out."""

    remove: bool = Field(True, strict=True, description="remove them from all training text; false: only count them")
    near_duplicates: float | None = Field(
        0.8, ge=0.5, le=0.95, description="count held-out sentences this similar to a training sentence; null: none"
    )
    remove_near: bool = Field(
        False, strict=True, description="remove training pairs this similar to a held-out sentence, on either side"
    )

    @model_validator(mode="after")
    def _removal_has_a_threshold(self) -> Self:
        if self.remove_near and (self.near_duplicates is None or not self.remove):
            raise ValueError("remove_near needs a number in near_duplicates, and remove: true")
        return self


class SegmentationConfig(Frozen):
    """How a sentence becomes pieces."""

    tokenizer: Tokenizer = Field("moses", description="how text is split into words")
    tokenizers: dict[Language, Tokenizer] = Field({}, description="language -> its tokenizer, where it differs")
    bpe: Literal["joint", "side", "domain", "none", "sentencepiece", "sentencepiece-side"] = Field(
        "joint",
        description="one set of merges for all text, per language or per domain; none: every word is one piece; "
        "sentencepiece: one unigram model for all text, which is not tokenised; sentencepiece-side: one per language",
    )
    bpe_merge_operations: int = Field(
        32000, ge=0, strict=True, description="number of merges; with sentencepiece the size of its model"
    )
    merge_operations: dict[Name, Annotated[int, Field(ge=0, strict=True)]] = Field(
        {}, description="with bpe: domain: domain -> its number of merges, where it differs"
    )

    @model_validator(mode="after")
    def _merges_of_domains(self) -> Self:
        if self.merge_operations and self.bpe != "domain":
            raise ValueError("merge_operations is for bpe: domain; otherwise there is bpe_merge_operations")
        if self.is_sentencepiece and (self.tokenizers or self.tokenizer != "moses"):
            raise ValueError(f"bpe: {self.bpe} reads text that is not tokenised; leave out tokenizer and tokenizers")
        return self

    @property
    def is_sentencepiece(self) -> bool:
        """Return whether pieces are learned by sentencepiece, on text that is not tokenised."""
        return self.bpe.startswith(SENTENCEPIECE)

    def tokenizer_of(self, lang: str) -> str:
        """Return the name of the tokenizer of a language; `sentencepiece` splits at spaces only."""
        return SENTENCEPIECE if self.is_sentencepiece else self.tokenizers.get(lang, self.tokenizer)


class VocabularyConfig(Frozen):
    """Which pieces get a number of their own."""

    joint: bool = Field(True, strict=True, description="one vocabulary for both languages")
    min_count: Count = Field(1, description="pieces rarer than this in training text become <unk>")
    max_size: Count | None = Field(
        None, description="number of most frequent pieces to keep, the others become <unk>; null: all"
    )


class TaskConfig(Frozen):
    """A language pair, its domains in label order, splits, segmentation and vocabulary."""

    title: str = Field(min_length=1, description="printed in the report")
    of: Name | None = Field(None, description="the paper whose task this is, or replaces")
    differs: str | None = Field(None, description="why no score can be compared with that paper's; null: same text")
    source_lang: Language = Field(description="translated from, a code of ISO 639 such as fr, fra or pt-BR")
    target_lang: Language = Field(description="translated into")
    domains: dict[Name, DomainConfig] = Field(min_length=1, description="name -> domain, in the order of the labels")
    cleaning: CleaningConfig = Field(CleaningConfig(), description="which pairs are kept")
    split: SplitConfig = Field(SplitConfig(), description="how held-out sentences are drawn")
    leakage: LeakageConfig = Field(
        LeakageConfig(), description="how to handle training sentences that are also held out"
    )
    segmentation: SegmentationConfig = Field(SegmentationConfig(), description="how a sentence is split into pieces")
    vocabulary: VocabularyConfig = Field(VocabularyConfig(), description="which pieces get an index")

    @property
    def pair(self) -> str:
        """Return the language pair as papers print it: `EN-FR`."""
        return f"{self.source_lang}-{self.target_lang}".upper()

    @field_validator("domains")
    @classmethod
    def _no_reserved_name(cls, domains: dict[str, DomainConfig]) -> dict[str, DomainConfig]:
        for name, meaning in RESERVED.items():
            if name in domains:
                raise ValueError(f"{name!r} is {meaning} in tables and curves; give the domain another name")
        return domains

    @model_validator(mode="after")
    def _two_languages(self) -> Self:
        if self.source_lang == self.target_lang:
            raise ValueError("source_lang and target_lang are the same")
        return self

    @model_validator(mode="after")
    def _options_of_what_is_there(self) -> Self:
        for lang in self.segmentation.tokenizers:
            if lang not in (self.source_lang, self.target_lang):
                raise ValueError(f"segmentation.tokenizers: {lang!r} is not one of the task's languages")
        self._check_stanford()
        if self.segmentation.is_sentencepiece and (self.vocabulary.min_count > 1 or self.vocabulary.max_size):
            raise ValueError(
                "vocabulary: with sentencepiece it has all pieces of the model; leave out min_count and max_size, and "
                "set bpe_merge_operations"
            )
        for name in self.segmentation.merge_operations:
            if name not in self.domains:
                raise ValueError(f"segmentation.merge_operations: {name!r} is not one of the task's domains")
        return self

    def _check_stanford(self) -> None:
        languages = [
            lang for lang in (self.source_lang, self.target_lang) if self.segmentation.tokenizer_of(lang) == "stanford"
        ]
        if any(language(lang).base != "zh" for lang in languages):
            raise ValueError("segmentation: stanford is for Chinese only; write `tokenizers: {zh: stanford}`")
        rules = [self.cleaning, *(domain.cleaning for domain in self.domains.values() if domain.cleaning)]
        if languages and any(rule.unit == "tokens" for rule in rules):
            raise ValueError("cleaning.unit: tokens is not counted with stanford; take words or pieces")


def load_task(config_dir: Path, name: str) -> TaskConfig:
    """Return the task of `config_dir/tasks/<name>.yaml`; text of the user's own is a corpus called `<task>--<domain>`.

    Raises:
        ConfigError: there is no such file, or something in it is not allowed.
    """
    task = load_model(find_named(config_dir / "tasks", name, "task"), TaskConfig)
    domains = {
        key: domain.model_copy(update={"corpora": (f"{name}--{key}",)}) if domain.is_own else domain
        for key, domain in task.domains.items()
    }
    return task.model_copy(update={"domains": domains})
