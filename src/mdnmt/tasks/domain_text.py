"""Read and clean the text of every domain of a task, including its corpora's own held-out sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mdnmt import fsio
from mdnmt.config.cleaning import CleaningConfig
from mdnmt.corpora.corpus_spec import CorpusSpec
from mdnmt.corpora.read import read_corpus
from mdnmt.tasks.splits.split import HELD_OUT, DomainText, by_modulo
from mdnmt.tasks.task_spec import DomainSpec, TaskSpec
from mdnmt.tasks.text.clean import Pair, Side, Sides, as_pair, held_out, lengths_of, make_pair, why_dropped
from mdnmt.tasks.text.duplicates import Digests, DuplicateIndex, pair_digests
from mdnmt.tasks.text.normalisation import Normaliser
from mdnmt.tasks.text.pair_text import (
    Block,
    ChunkSelection,
    PairText,
    block_of,
    save_pairs,
    write_pairs,
)
from mdnmt.tasks.workers import ParallelMap

# Split -> text; `valid` and `test` only if the corpus has its own.
RawText = dict[str, PairText]


class _Job(NamedTuple):
    spec: CorpusSpec
    folder: Path
    langs: tuple[str, str]
    out: Path


def raw_texts(
    specs: Sequence[CorpusSpec],
    corpora: Path,
    langs: tuple[str, str],
    out: Path,
    run: ParallelMap,
) -> Iterator[RawText]:
    """Yield the text of each corpus; several are read at a time.

    Args:
        specs: the corpora.
        corpora: the folder with a subfolder for each corpus.
        langs: source and target language.
        out: a folder for the files.
        run: applies a function to jobs, in processes.

    Raises:
        DataError: a corpus is missing or damaged.
    """
    jobs = (_Job(spec, corpora / spec.name, langs, out / f"{number:03d}") for number, spec in enumerate(specs))
    return run(_read, jobs)


def _read(job: _Job) -> RawText:
    with read_corpus(job.spec, job.folder, *job.langs) as text:
        return {split: save_pairs(job.out / split, pairs) for split, pairs in text.items()}


@dataclass
class CleanedText:
    """Cleaned pairs on disk.

    Attributes:
        text: the pairs that are kept, in order.
        repeats: which of them are equal; None: no two are.
        read: number of pairs before cleaning.
        dropped: number of dropped pairs by reason.
    """

    text: PairText
    repeats: DuplicateIndex | None
    read: int
    dropped: Counter[str]


def clean_text(
    raw: PairText,
    rules: CleaningConfig,
    sides: Sides,
    run: ParallelMap,
    path: Path,
) -> CleanedText:
    """Return the pairs that pass `rules`, without repeated pairs unless the rules keep them.

    Args:
        raw: the unchanged segments.
        rules: the cleaning rules.
        sides: languages and tokenizers.
        run: applies a function to jobs, in processes.
        path: the files that are written, without their suffixes.
    """
    repeats = DuplicateIndex(path.with_name(f"{path.name}.digests"))
    dropped: Counter[str] = Counter()
    with write_pairs(path) as out:
        for block, digests, reasons in run(_clean_part, ((part, rules, sides) for part in raw.parts())):
            out.add(block, len(digests))
            repeats.add(digests)
            dropped.update(reasons)
    text = out.text()
    if rules.deduplicate:
        unique = text.only(repeats.first())
        repeats.remove()
        if len(unique) < len(text):
            dropped["duplicate"] = len(text) - len(unique)
        return CleanedText(unique, None, len(raw), dropped)
    return CleanedText(text, repeats, len(raw), dropped)


def _clean_part(job: tuple[ChunkSelection, CleaningConfig, Sides]) -> tuple[Block, Digests, Counter[str]]:
    """Return the kept lines, their digests, and the number of dropped lines by reason: one job of a worker process."""
    part, rules, sides = job
    form, kept = Normaliser.from_config(rules), []
    dropped: Counter[str] = Counter()
    pairs = [make_pair(source, target, form, sides) for source, target in part.pairs()]
    lengths = [None] * len(pairs) if rules.unit == "pieces" else lengths_of(pairs, rules.unit, sides)
    for pair, known in zip(pairs, lengths, strict=True):
        reason = why_dropped(pair, rules, sides, known)
        if reason is None:
            kept.append(pair)
        else:
            dropped[reason] += 1
    # With deduplication, pairs are equal if their comparison forms are; without it, only if their text is.
    digests = pair_digests(pair.forms if rules.deduplicate else pair[:2] for pair in kept)
    return block_of(pair[:2] for pair in kept), digests, dropped


Say = Callable[[str], None]


def sides_of(spec: TaskSpec) -> Sides:
    """Return languages and tokenizers of both sides."""
    source, target = (Side(lang, spec.segmentation.tokenizer_of(lang)) for lang in (spec.source_lang, spec.target_lang))
    return source, target


def domain_texts(
    spec: TaskSpec, corpora: Path, scratch: Path, run: ParallelMap, say: Say
) -> tuple[list[DomainText], dict[str, Any]]:
    """Read and clean the corpora; what is dropped is counted by reason.

    Args:
        spec: the task.
        corpora: the folder with a subfolder for each fetched corpus.
        scratch: a folder for files that are needed only while the task is made.
        run: applies a function to jobs, in processes.
        say: called with lines that report progress.

    Raises:
        DataError: a corpus is missing or damaged.
    """
    specs = [corpus for domain in spec.domains for corpus in domain.corpora]
    langs = spec.source_lang, spec.target_lang
    # Read all of them first, so that a damaged one is reported before any cleaning.
    read = iter(list(raw_texts(specs, corpora, langs, scratch / "raw", run)))
    texts, report = [], {}
    for number, domain in enumerate(spec.domains):
        clean = _DomainCleaner(domain, spec, scratch / f"pool-{number:03d}", run)
        text, pool = clean.domain_text([next(read) for _ in domain.corpora], say)
        texts.append(text)
        report[domain.name] = {"read": pool.read, "kept": len(pool.text), "dropped": dict(pool.dropped)}
        reasons = ", ".join(f"{count} {reason}" for reason, count in pool.dropped.most_common())
        say(f"{domain.name}: {pool.read} pairs read, {len(pool.text)} kept" + (f" ({reasons})" if reasons else ""))
    fsio.remove_tree(scratch / "raw")
    return texts, report


class _DomainCleaner:
    """Cleans the text of one domain, and takes out the held-out sets that a split rule defines."""

    def __init__(self, domain: DomainSpec, spec: TaskSpec, path: Path, run: ParallelMap) -> None:
        self.domain, self.rules, self.rule = domain, spec.cleaning_of(domain), spec.split_of(domain)
        self.sides, self.form = sides_of(spec), Normaliser.from_config(self.rules)
        self.path, self.run = path, run

    def domain_text(self, texts: Sequence[RawText], say: Say) -> tuple[DomainText, CleanedText]:
        """Return the domain's text with the held-out sets that a rule or the corpora define, and its cleaning."""
        own = self.own_sets(texts, say)
        raw = PairText.of(chunk for text in texts for chunk in text["train"].chunks)
        if self.rule.modulo:
            # As in the script of Jiang et al.: split the raw lines, then clean training and validation text.
            lines = by_modulo(len(raw), self.rule.modulo)
            own["valid"] = [as_pair(*pair) for pair in self.cleaned(raw.only(lines["valid"]), "valid").text]
            own["test"] = held_out(raw.only(lines["test"]), self.form, self.sides)
            raw = raw.only(lines["train"])
        pool = self.cleaned(raw, "train")
        text = pool.text
        if self.rule.every:
            taken = np.flatnonzero(text.kept)[self.rule.every - 1 :: self.rule.every]
            own["valid"] = [as_pair(*pair) for pair in text.take(taken)]
            text = text.without(taken)
        wanted = {"train": self.domain.train, "valid": self.domain.valid, "test": self.domain.test}
        return DomainText(self.domain.name, text, wanted, own, pool.repeats, self.rule.block), pool

    def own_sets(self, texts: Sequence[RawText], say: Say) -> dict[str, list[Pair] | None]:
        """Return the corpora's own held-out sets, without those that a split rule takes instead."""
        own: dict[str, list[Pair] | None] = {}
        for name in HELD_OUT:
            sets = [text[name] for text in texts if name in text]
            if sets and name in self.rule.ruled:
                name_of = self.domain.name
                say(f"{name_of}: the corpora's own {name} files are not used: {name} text is taken by line numbers")
            elif sets:
                own[name] = held_out((pair for text in sets for pair in text), self.form, self.sides)
        return own

    def cleaned(self, raw: PairText, split: str) -> CleanedText:
        path = self.path.with_name(f"{self.path.name}.{split}")
        return clean_text(raw, self.rules, self.sides, self.run, path)
