"""Build a task's data: every stage in order, into a temporary folder, renamed at the end with `task.json` last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import fsio
from mdnmt.corpora.part import part_folder
from mdnmt.corpora.read import CorpusText, read_corpus
from mdnmt.corpora.spec import CorpusSpec
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.tasks.binarise import flatten, save_array
from mdnmt.tasks.clean import Cleaned, clean, held_out
from mdnmt.tasks.encode import SIDES, Encoder, learn_encoder
from mdnmt.tasks.leakage import leakage
from mdnmt.tasks.segment import CODES
from mdnmt.tasks.spec import DomainSpec, TaskSpec
from mdnmt.tasks.split import HELD_OUT, SPLITS, DomainSplit, DomainText, split
from mdnmt.tasks.stats import task_stats
from mdnmt.tasks.tokenise import tokenise_lines
from mdnmt.tasks.workers import Map, workers

MANIFEST = "task.json"
_LINES_PER_JOB = 2000
Say = Callable[[str], None]


def build_task(spec: TaskSpec, corpora: Path, out: Path, jobs: int = 1, say: Say = lambda line: None) -> None:
    """Make the data of a task from fetched corpora; the same bytes come out whatever `jobs` is.

    Args:
        spec: the task.
        corpora: the folder in which each fetched corpus has one of its own.
        out: the task's folder; what is in it stays as it is until everything is made.
        jobs: number of processes.
        say: takes lines that tell how far it is.

    Raises:
        DataError: a corpus is not what it should be, or has too little text; where, and what to do.
    """
    _check_corpora(spec, corpora)
    with workers(jobs) as run:
        texts, cleaning = _domain_texts(spec, corpora, run, say)
        splits = split(texts, spec.split.seed)
        leaks = leakage(splits)
        for name, count in leaks["valid_in_test"].items():
            if count:
                say(f"warning: domain {name!r}: {count} valid sentences are also in a test set; its BLEU flatters")
        say("split: " + ", ".join(f"{d.name} {'/'.join(str(len(d.splits[name])) for name in SPLITS)}" for d in splits))
        tokenised = _tokenised(spec, splits, run)
    encoder = learn_encoder(tokenised, spec.segmentation, spec.vocabulary)
    say(f"{encoder.codes.count(chr(10)) - 1} merges, vocabulary of {len(encoder.vocabs['target'])}")
    names = [domain.name for domain in splits]
    stats = {
        "source_lang": spec.source_lang,
        "target_lang": spec.target_lang,
        "domains": task_stats(tokenised, names, SPLITS, encoder),
        "cleaning": cleaning,
    }
    with part_folder(out) as part:
        _write_text(part, spec, splits)
        _write_arrays(part, spec, tokenised, names, encoder)
        fsio.write_json(part / "stats.json", stats)
        fsio.write_json(part / "leakage.json", leaks)
        _publish(part, out, spec)


def _read(job: tuple[CorpusSpec, Path, str, str]) -> CorpusText:
    return read_corpus(*job)


def _clean(job: tuple[DomainSpec, TaskSpec, list[CorpusText]]) -> tuple[DomainText, Cleaned]:
    domain, spec, texts = job
    cleaned = clean((pair for text in texts for pair in text.train), spec.cleaning)
    own: dict[str, Any] = {}
    for name in HELD_OUT:
        sets = [pairs for text in texts if (pairs := getattr(text, name)) is not None]
        own[name] = held_out(pair for pairs in sets for pair in pairs) if sets else None
    wanted = {"train": domain.train, "valid": domain.valid, "test": domain.test}
    return DomainText(domain.name, cleaned.pairs, wanted, own), cleaned


def _domain_texts(spec: TaskSpec, corpora: Path, run: Map, say: Say) -> tuple[list[DomainText], dict[str, Any]]:
    """Read and clean the corpora; what is dropped is counted by reason."""
    jobs = [
        (corpus, corpora / corpus.name, spec.source_lang, spec.target_lang)
        for domain in spec.domains
        for corpus in domain.corpora
    ]
    read = iter(run(_read, jobs))
    texts, report = [], {}
    for domain in spec.domains:
        text, cleaned = _clean((domain, spec, [next(read) for _ in domain.corpora]))
        texts.append(text)
        report[domain.name] = {"read": cleaned.read, "kept": len(cleaned.pairs), "dropped": dict(cleaned.dropped)}
        reasons = ", ".join(f"{count} {reason}" for reason, count in cleaned.dropped.most_common())
        say(
            f"{domain.name}: {cleaned.read} pairs read, {len(cleaned.pairs)} kept"
            + (f" ({reasons})" if reasons else "")
        )
    return texts, report


def _tokenised(spec: TaskSpec, splits: Sequence[DomainSplit], run: Map) -> dict[tuple[str, str, str], list[str]]:
    """Tokenise every split of every domain on both sides, by chunks of a fixed size."""
    keys, jobs = [], []
    for domain in splits:
        for name in SPLITS:
            for side, lang in zip(SIDES, (spec.source_lang, spec.target_lang), strict=True):
                lines = [getattr(pair, side) for pair in domain.splits[name]]
                for start in range(0, len(lines), _LINES_PER_JOB):
                    keys.append((name, domain.name, side))
                    jobs.append((lang, lines[start : start + _LINES_PER_JOB]))
    tokenised: dict[tuple[str, str, str], list[str]] = {}
    for key, lines in zip(keys, run(tokenise_lines, jobs), strict=True):
        tokenised.setdefault(key, []).extend(lines)
    return tokenised


def _write_text(part: Path, spec: TaskSpec, splits: Sequence[DomainSplit]) -> None:
    for domain in splits:
        for name, pairs in domain.splits.items():
            for side, lang in zip(SIDES, (spec.source_lang, spec.target_lang), strict=True):
                lines = [getattr(pair, side) for pair in pairs]
                fsio.write_lines(part / "text" / f"{name}.{domain.name}.{lang}", lines)


def _write_arrays(
    part: Path,
    spec: TaskSpec,
    tokenised: dict[tuple[str, str, str], list[str]],
    names: Sequence[str],
    encoder: Encoder,
) -> None:
    fsio.write_text(part / CODES, encoder.codes)
    for side, lang in zip(SIDES, (spec.source_lang, spec.target_lang), strict=True):
        encoder.vocabs[side].save(part / f"vocab.{lang}.txt")
        for name in SPLITS:
            lines = (line for domain in names for line in tokenised[name, domain, side])
            tokens, offsets = flatten(encoder.encode(line, side) for line in lines)
            save_array(part / f"{name}.{lang}.tokens.npy", tokens)
            save_array(part / f"{name}.{lang}.offsets.npy", offsets)
    for name in SPLITS:
        counts = [len(tokenised[name, domain, "source"]) for domain in names]
        save_array(part / f"{name}.domains.npy", np.repeat(np.arange(len(names), dtype=np.int16), counts))


def _publish(part: Path, out: Path, spec: TaskSpec) -> None:
    """Move what was made to its place, file by file; `task.json`, written last, says that all of it is there."""
    paths = sorted(path.relative_to(part) for path in part.rglob("*") if path.is_file())
    files = {
        path.as_posix(): {"sha256": sha256_file(part / path), "size_bytes": (part / path).stat().st_size}
        for path in paths
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / MANIFEST).unlink(missing_ok=True)
    for path in paths:
        (out / path).parent.mkdir(exist_ok=True)
        (part / path).replace(out / path)
    for folder in sorted({(out / path).parent for path in paths}):
        fsio.sync_directory(folder)
    manifest = {
        "name": spec.name,
        "fingerprint": spec.fingerprint,
        "source_lang": spec.source_lang,
        "target_lang": spec.target_lang,
        "domains": [domain.name for domain in spec.domains],
        "spec": spec.model_dump(mode="json"),
        "tools": {tool: version(tool) for tool in ("sacremoses", "subword-nmt")},
        "files": files,
    }
    fsio.write_json(out / MANIFEST, manifest)


def _check_corpora(spec: TaskSpec, corpora: Path) -> None:
    """Say at once, before anything is read, which corpus was not fetched.

    Raises:
        DataError: a corpus has no folder.
    """
    for domain in spec.domains:
        for corpus in domain.corpora:
            if not (corpora / corpus.name).is_dir():
                raise DataError(f"{corpora / corpus.name}: no such folder; fetch the corpus {corpus.name!r} first")
