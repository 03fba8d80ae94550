"""Read and clean the text of every domain of a task, including its corpora's own held-out sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import fsio
from mdnmt.config.cleaning import CleaningConfig
from mdnmt.corpora.corpus_spec import CorpusSpec
from mdnmt.corpora.read import read_corpus
from mdnmt.tasks.splits.split import HELD_OUT, DomainText, by_modulo
from mdnmt.tasks.stage_folder import Say
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


def _read(job: tuple[CorpusSpec, Path, tuple[str, str], Path]) -> RawText:
    """Write the text of (corpus, its folder, languages) into a folder and return it: one job of a worker process."""
    spec, folder, langs, out = job
    with read_corpus(spec, folder, *langs) as text:
        return {split: save_pairs(out / split, pairs) for split, pairs in text.items()}


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


def clean_text(raw: PairText, rules: CleaningConfig, sides: Sides, run: ParallelMap, path: Path) -> CleanedText:
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
    if not rules.deduplicate:
        return CleanedText(text, repeats, len(raw), dropped)
    unique = text.only(repeats.first())
    repeats.remove()
    if len(unique) < len(text):
        dropped["duplicate"] = len(text) - len(unique)
    return CleanedText(unique, None, len(raw), dropped)


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
    all_corpora = enumerate(corpus for domain in spec.domains for corpus in domain.corpora)
    jobs = (
        (corpus, corpora / corpus.name, spec.langs, scratch / "raw" / f"{number:03d}") for number, corpus in all_corpora
    )
    # Read all of them first, so that a damaged one is reported before any cleaning.
    read = iter(list(run(_read, jobs)))
    texts, report = [], {}
    for number, domain in enumerate(spec.domains):
        own = [next(read) for _ in domain.corpora]
        text, pool = _domain_text(domain, spec, own, scratch / f"pool-{number:03d}", run, say)
        texts.append(text)
        report[domain.name] = {"read": pool.read, "kept": len(pool.text), "dropped": dict(pool.dropped)}
        reasons = ", ".join(f"{count} {reason}" for reason, count in pool.dropped.most_common())
        say(f"{domain.name}: {pool.read} pairs read, {len(pool.text)} kept" + (f" ({reasons})" if reasons else ""))
    fsio.remove_tree(scratch / "raw")
    return texts, report


def _domain_text(
    domain: DomainSpec, spec: TaskSpec, texts: Sequence[RawText], path: Path, run: ParallelMap, say: Say
) -> tuple[DomainText, CleanedText]:
    """Clean a domain's text, take out the held-out sets that the corpora or a split rule define, and return both."""
    rules, rule, sides = spec.cleaning_of(domain), spec.split_of(domain), sides_of(spec)
    form = Normaliser.from_config(rules)

    def cleaned(raw: PairText, split: str) -> CleanedText:
        return clean_text(raw, rules, sides, run, path.with_name(f"{path.name}.{split}"))

    own: dict[str, list[Pair]] = {}
    for name in HELD_OUT:
        sets = [text[name] for text in texts if name in text]
        if sets and name in rule.ruled:
            say(f"{domain.name}: the corpora's own {name} files are not used: {name} text is taken by line numbers")
        elif sets:
            own[name] = held_out((pair for text in sets for pair in text), form, sides)
    raw = PairText.of(chunk for text in texts for chunk in text["train"].chunks)
    if rule.modulo:
        # As in the script of Jiang et al.: split the raw lines, then clean training and validation text.
        lines = by_modulo(len(raw), rule.modulo)
        own["valid"] = [as_pair(*pair) for pair in cleaned(raw.only(lines["valid"]), "valid").text]
        own["test"] = held_out(raw.only(lines["test"]), form, sides)
        raw = raw.only(lines["train"])
    pool = cleaned(raw, "train")
    text = pool.text
    if rule.every:
        taken = np.flatnonzero(text.kept)[rule.every - 1 :: rule.every]
        own["valid"] = [as_pair(*pair) for pair in text.take(taken)]
        text = text.without(taken)
    wanted = {"train": domain.train, "valid": domain.valid, "test": domain.test}
    return DomainText(domain.name, text, wanted, rule.seed, own, pool.repeats, rule.block), pool
