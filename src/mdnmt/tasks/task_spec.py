"""A task as `mdnmt task` needs it: only what changes its data, plus the names that its files carry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.cleaning import CleaningConfig, Count
from mdnmt.config.corpus import CorpusConfig, Language
from mdnmt.config.corpus_source import Sha256
from mdnmt.config.task import (
    SENTENCEPIECE,
    LeakageConfig,
    Name,
    SegmentationConfig,
    SplitConfig,
    TaskConfig,
    VocabularyConfig,
)
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_lock import NO_LOCK, Lock
from mdnmt.corpora.corpus_spec import CorpusSpec, corpus_spec
from mdnmt.corpora.formats.text_names import stem_and_language
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import fingerprint
from mdnmt.languages import language
from mdnmt.tasks.text import stanford_segmenter

# Keys that were added later: at their default they are left out, so that older fingerprints stay the same.
_LATER = {
    "TaskSpec": ("leakage", "segmenter"),
    "DomainSpec": ("cleaning", "split"),
    "LeakageConfig": ("remove_near",),
    "CleaningConfig": (
        *("unit", "deduplicate", "lowercase", "normalise_punctuation"),
        *("max_characters", "max_pieces", "unescape", "detokenise"),
    ),
    "SplitConfig": ("block", "every", "modulo"),
    "SegmentationConfig": ("tokenizers", "merge_operations"),
    "VocabularyConfig": ("max_size",),
}
# Keys that are only names; a recipe is a name for the values of other keys.
_NAMES = {"TaskSpec": ("name",), "CleaningConfig": ("recipe",)}
# Keys that are those of the task's and the domain's configuration.
_OF_TASK = ("source_lang", "target_lang", "cleaning", "split", "leakage", "segmentation", "vocabulary")
_OF_DOMAIN = ("train", "valid", "test", "cleaning", "split")

# The stages of a task's data, each with an address of its own. A key of a task belongs to the first stage, unless it is
# one of these, so a key that is added later changes the address of everything.
STAGES = ("text", "tokens", "codes")
ARRAYS = "arrays"  # the last one, whose address is the task's
_OF_BPE = ("bpe", "bpe_merge_operations", "merge_operations")  # of segmentation: of the codes
_LATER_STAGES = ("segmentation", "segmenter", "vocabulary")


class DomainSpec(Frozen):
    """A domain: its corpora and how many pairs are asked for."""

    name: Name
    corpora: tuple[CorpusSpec, ...] = Field(min_length=1)
    train: Count | None
    valid: Count | None
    test: Count | None
    cleaning: CleaningConfig | None = None
    split: SplitConfig | None = None


class TaskSpec(Frozen):
    """A task; its JSON (`.model_dump_json()`) travels on the command line."""

    name: Name
    source_lang: Language
    target_lang: Language
    # A list, not a mapping: the order of the domains is the order of their labels, and a fingerprint must see it.
    domains: tuple[DomainSpec, ...] = Field(min_length=1)
    cleaning: CleaningConfig
    split: SplitConfig
    leakage: LeakageConfig = LeakageConfig()
    segmentation: SegmentationConfig
    vocabulary: VocabularyConfig
    segmenter: Sha256 | None = None  # of the Stanford segmenter, if it is used

    @property
    def fingerprint(self) -> str:
        """Return the 8 digits that name this task's data; names of task and corpora do not enter it."""
        return fingerprint("task", self.identity())

    def identity(self) -> dict[str, Any]:
        """Return everything that changes the data, and nothing else."""
        domains = [
            {**_identity(domain), "corpora": [corpus.identity() for corpus in domain.corpora]}
            for domain in self.domains
        ]
        # The rules for a three-letter code were once no rules at all; a code of two letters stands for itself.
        rules = {lang: base for lang in (self.source_lang, self.target_lang) if (base := language(lang).base) != lang}
        return {**_identity(self), "domains": domains, **({"rules": rules} if rules else {})}

    @property
    def stages(self) -> dict[str, str]:
        """Return the address of each of `STAGES`, which does not change with what only later ones read."""
        whole = self.identity()
        how = whole["segmentation"]
        tokens = {"tokens": {key: value for key, value in how.items() if key not in _OF_BPE}}
        if self.segmentation.is_sentencepiece:
            tokens = {"tokens": {"tokenizer": SENTENCEPIECE}}
        tokens |= {key: whole[key] for key in ("segmenter",) if key in whole}
        codes = {key: how[key] for key in _OF_BPE if key in how} | {"vocabulary": whole["vocabulary"]}
        text = {key: value for key, value in whole.items() if key not in _LATER_STAGES}
        if any(self.cleaning_of(domain).unit == "tokens" for domain in self.domains):
            text |= tokens
        found, before = {}, ""
        for stage, own in zip(STAGES, (text, tokens, codes), strict=True):
            found[stage] = before = fingerprint("task", {"stage": stage, "of": before, **own})
        return found

    @property
    def langs(self) -> tuple[str, str]:
        """Return source and target language."""
        return self.source_lang, self.target_lang

    @property
    def drops_by_pieces(self) -> bool:
        """Say whether a domain's lengths are limited in BPE pieces, so that its text depends on the codes."""
        return any(self.cleaning_of(domain).limits_pieces for domain in self.domains)

    def cleaning_of(self, domain: DomainSpec) -> CleaningConfig:
        """Return the cleaning rules of a domain."""
        return domain.cleaning or self.cleaning

    def split_of(self, domain: DomainSpec) -> SplitConfig:
        """Return how the held-out sentences of a domain are chosen."""
        return domain.split or self.split


def _identity(model: Frozen) -> dict[str, Any]:
    """Return a model's keys and values, without names and without newer keys that have their default."""
    kind = type(model)
    later, names = _LATER.get(kind.__name__, ()), _NAMES.get(kind.__name__, ())
    value: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        found = getattr(model, name)
        if name not in names and not (name in later and found == field.default):
            value[name] = _identity(found) if isinstance(found, Frozen) else found
    return value


def task_spec(
    task_name: str, task: TaskConfig, corpora: Mapping[str, CorpusConfig], hash_cache: Path, lock: Lock = NO_LOCK
) -> TaskSpec:
    """Return the spec of a task.

    Args:
        task_name: its name.
        task: its configuration.
        corpora: the configuration of (at least) each corpus that the task names.
        hash_cache: JSON file that caches checksums of local files.
        lock: checksums of earlier downloads.

    Raises:
        ConfigError: a corpus is not given, lacks a language of the task, or differs from the lock.
        DataError: a local corpus' files are missing or unreadable.
    """
    cache = ChecksumCache(hash_cache)
    domains = []
    for domain_name, domain in task.domains.items():
        specs = []
        for name in domain.corpora:
            corpus = corpora.get(name)
            if corpus is None:
                raise ConfigError(f"task {task_name!r}, domain {domain_name!r}: no corpus {name!r} is configured")
            for lang in (task.source_lang, task.target_lang):
                if lang not in corpus.languages:
                    there = ", ".join(corpus.languages)
                    raise ConfigError(
                        f"task {task_name!r}, domain {domain_name!r}: corpus {name!r} has no {lang!r}; it has {there}"
                    )
            specs.append(_needed(corpus_spec(name, corpus, cache, lock), task))
        domains.append(
            DomainSpec(name=domain_name, corpora=tuple(specs), **{key: getattr(domain, key) for key in _OF_DOMAIN})
        )
    langs = (task.source_lang, task.target_lang)
    uses_stanford = any(task.segmentation.tokenizer_of(lang) == stanford_segmenter.NAME for lang in langs)
    segmenter = stanford_segmenter.identity(cache) if uses_stanford else None
    cache.save()
    return TaskSpec(
        name=task_name, domains=tuple(domains), segmenter=segmenter, **{key: getattr(task, key) for key in _OF_TASK}
    )


def _needed(spec: CorpusSpec, task: TaskConfig) -> CorpusSpec:
    """Leave out a local corpus' files of other languages: a change in them changes nothing here."""
    if spec.reader.name not in ("plain", "files") or len(spec.files) == 1:
        return spec
    wanted = (task.source_lang, task.target_lang)
    said = [(file, stem_and_language(file.name, wanted)) for file in spec.files]
    return spec.model_copy(update={"files": tuple(file for file, one in said if one is not None and one[1] in wanted)})
