"""The cleaned text of every domain of a task, with the held-out sets that are settled before any is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import fsio
from mdnmt.tasks.clean import Pair, Side, Sides, as_pair, held_out
from mdnmt.tasks.form import Form
from mdnmt.tasks.pair_text import LINES_PER_CHUNK, PairText
from mdnmt.tasks.pool import Pool, clean_text
from mdnmt.tasks.raw_text import RawText, raw_texts
from mdnmt.tasks.spec import DomainSpec, TaskSpec
from mdnmt.tasks.split import HELD_OUT, DomainText, by_modulo
from mdnmt.tasks.workers import Map

Say = Callable[[str], None]


def sides_of(spec: TaskSpec) -> Sides:
    """Return languages and tokenizers of both sides."""
    source, target = (Side(lang, spec.segmentation.tokenizer_of(lang)) for lang in (spec.source_lang, spec.target_lang))
    return source, target


def domain_texts(
    spec: TaskSpec, corpora: Path, scratch: Path, run: Map, say: Say, lines_per_chunk: int = LINES_PER_CHUNK
) -> tuple[list[DomainText], dict[str, Any]]:
    """Read and clean the corpora; what is dropped is counted by reason.

    Args:
        spec: the task.
        corpora: the folder in which each fetched corpus has one of its own.
        scratch: a folder for files that are needed while the task is made.
        run: applies a function to jobs, in processes.
        say: takes lines that tell how far it is.
        lines_per_chunk: how much text a process takes at a time; it changes nothing of the result.

    Raises:
        DataError: a corpus is missing or damaged.
    """
    specs = [corpus for domain in spec.domains for corpus in domain.corpora]
    langs = spec.source_lang, spec.target_lang
    # All of them first: a damaged one is told before others are cleaned.
    read = iter(list(raw_texts(specs, corpora, langs, scratch / "raw", run, lines_per_chunk)))
    texts, report = [], {}
    for number, domain in enumerate(spec.domains):
        clean = _Cleaning(domain, spec, scratch / f"pool-{number:03d}", run, lines_per_chunk)
        text, pool = clean.domain_text([next(read) for _ in domain.corpora], say)
        texts.append(text)
        report[domain.name] = {"read": pool.read, "kept": len(pool.text), "dropped": dict(pool.dropped)}
        reasons = ", ".join(f"{count} {reason}" for reason, count in pool.dropped.most_common())
        say(f"{domain.name}: {pool.read} pairs read, {len(pool.text)} kept" + (f" ({reasons})" if reasons else ""))
    fsio.remove_tree(scratch / "raw")
    return texts, report


class _Cleaning:
    """How the text of one domain is cleaned, and by what rule it is divided."""

    def __init__(self, domain: DomainSpec, spec: TaskSpec, path: Path, run: Map, lines_per_chunk: int) -> None:
        self.domain, self.rules, self.rule = domain, spec.cleaning_of(domain), spec.split_of(domain)
        self.sides, self.form = sides_of(spec), Form.by(self.rules)
        self.path, self.run, self.lines_per_chunk = path, run, lines_per_chunk

    def domain_text(self, texts: Sequence[RawText], say: Say) -> tuple[DomainText, Pool]:
        own = self.own_sets(texts, say)
        raw = PairText.of(chunk for text in texts for chunk in text["train"].chunks)
        if self.rule.modulo:
            # The order of the script: the raw lines are divided, then training and validation text is cleaned.
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
        return DomainText(self.domain.name, text, wanted, own, pool.repeats), pool

    def own_sets(self, texts: Sequence[RawText], say: Say) -> dict[str, list[Pair] | None]:
        own: dict[str, list[Pair] | None] = {}
        for name in HELD_OUT:
            sets = [text[name] for text in texts if name in text]
            if sets and name in self.rule.ruled:
                name_of = self.domain.name
                say(f"{name_of}: the corpora's own {name} files are not used: {name} text is taken by line numbers")
            elif sets:
                own[name] = held_out((pair for text in sets for pair in text), self.form, self.sides)
        return own

    def cleaned(self, raw: PairText, split: str) -> Pool:
        path = self.path.with_name(f"{self.path.name}.{split}")
        return clean_text(raw, self.rules, self.sides, self.run, path, self.lines_per_chunk)
