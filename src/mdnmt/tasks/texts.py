"""The cleaned text of every domain of a task, with the held-out sets that are settled before any is drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mdnmt.corpora.read import CorpusText, read_corpus
from mdnmt.corpora.spec import CorpusSpec
from mdnmt.tasks.clean import Cleaned, Pair, Raw, Side, Sides, clean, held_out
from mdnmt.tasks.form import Form
from mdnmt.tasks.spec import DomainSpec, TaskSpec
from mdnmt.tasks.split import HELD_OUT, DomainText, by_modulo
from mdnmt.tasks.workers import Map

Say = Callable[[str], None]


def sides_of(spec: TaskSpec) -> Sides:
    """Return languages and tokenizers of both sides."""
    source, target = (Side(lang, spec.segmentation.tokenizer_of(lang)) for lang in (spec.source_lang, spec.target_lang))
    return source, target


def domain_texts(spec: TaskSpec, corpora: Path, run: Map, say: Say) -> tuple[list[DomainText], dict[str, Any]]:
    """Read and clean the corpora; what is dropped is counted by reason."""
    langs = spec.source_lang, spec.target_lang
    jobs = [(corpus, corpora / corpus.name, *langs) for domain in spec.domains for corpus in domain.corpora]
    read = deque(run(_read, jobs))  # all of them first: a damaged one is told before others are cleaned
    texts, report = [], {}
    for domain in spec.domains:
        text, cleaned = _domain_text(domain, spec, [read.popleft() for _ in domain.corpora], run, say)
        texts.append(text)
        report[domain.name] = {"read": cleaned.read, "kept": len(cleaned.pairs), "dropped": dict(cleaned.dropped)}
        reasons = ", ".join(f"{count} {reason}" for reason, count in cleaned.dropped.most_common())
        say(
            f"{domain.name}: {cleaned.read} pairs read, {len(cleaned.pairs)} kept"
            + (f" ({reasons})" if reasons else "")
        )
    return texts, report


def _read(job: tuple[CorpusSpec, Path, str, str]) -> CorpusText:
    return read_corpus(*job)


def _domain_text(
    domain: DomainSpec, spec: TaskSpec, texts: Sequence[CorpusText], run: Map, say: Say
) -> tuple[DomainText, Cleaned]:
    rules, rule, sides = spec.cleaning_of(domain), spec.split_of(domain), sides_of(spec)
    own: dict[str, list[Pair] | None] = {}
    for name in HELD_OUT:
        sets: list[list[Raw]] = [pairs for text in texts if (pairs := getattr(text, name)) is not None]
        if sets and name in rule.ruled:
            say(f"{domain.name}: the corpora's own {name} files are not used: {name} text is taken by line numbers")
        elif sets:
            own[name] = held_out((pair for pairs in sets for pair in pairs), Form.by(rules), sides)
    raw: list[Raw] = [pair for text in texts for pair in text.train]
    if rule.modulo:
        # The order of the script: the raw lines are divided, then training and validation text is cleaned.
        lines = by_modulo(raw, rule.modulo)
        own["valid"] = clean(lines["valid"], rules, sides, run).pairs
        own["test"] = held_out(lines["test"], Form.by(rules), sides)
        raw = lines["train"]
    cleaned = clean(raw, rules, sides, run)
    pool = cleaned.pairs
    if rule.every:
        own["valid"] = pool[rule.every - 1 :: rule.every]
        pool = [pair for number, pair in enumerate(pool, start=1) if number % rule.every]
    wanted = {"train": domain.train, "valid": domain.valid, "test": domain.test}
    return DomainText(domain.name, pool, wanted, own), cleaned
