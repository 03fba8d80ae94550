"""Build a task's data: every stage in order, into a temporary folder, renamed at the end with `task.json` last."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import fsio
from mdnmt.corpora.part import part_folder
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.tasks.binarise import flatten, save_array
from mdnmt.tasks.clean import LINES_PER_JOB
from mdnmt.tasks.encode import SIDES, Encoder, learn_encoder
from mdnmt.tasks.form import Form
from mdnmt.tasks.identity import split_hashes
from mdnmt.tasks.leakage import leakage
from mdnmt.tasks.pieces_bound import drop_by_pieces
from mdnmt.tasks.segment import Segmentation
from mdnmt.tasks.spec import TaskSpec
from mdnmt.tasks.split import SPLITS, DomainSplit, split
from mdnmt.tasks.stats import task_stats
from mdnmt.tasks.texts import Say, domain_texts, sides_of
from mdnmt.tasks.tokenise import tokenise_lines
from mdnmt.tasks.workers import Map, workers

MANIFEST = "task.json"
_PACKAGES = {"moses": ("sacremoses",), "jieba": ("jieba", "sacremoses"), "character": ("sacremoses",), "none": ()}


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
        texts, cleaning = domain_texts(spec, corpora, run, say)
        # What a rule took from the corpora's text is cleaned like the rest of it; their own files are not.
        given = {
            domain.name
            for domain, text in zip(spec.domains, texts, strict=True)
            if text.own.get("valid") is not None and "valid" not in spec.split_of(domain).ruled
        }
        seeds = {domain.name: spec.split_of(domain).seed for domain in spec.domains}
        splits = split(texts, seeds, spec.leakage.remove)
        del texts
        tokenised = _tokenised(spec, splits, run)
        langs = spec.source_lang, spec.target_lang
        encoder = learn_encoder(tokenised, langs, spec.segmentation, spec.vocabulary, run)
        for name, dropped in drop_by_pieces(spec, splits, tokenised, encoder, given).items():
            cleaning[name]["dropped_by_pieces"] = dropped
            say(f"{name}: of training and validation text, " + ", ".join(f"{n} {why}" for why, n in dropped.items()))
        leaks = leakage(splits, spec.leakage.remove, spec.leakage.near_duplicates, run)
    for name, count in leaks["valid_in_test"].items():
        if count:
            say(f"warning: domain {name!r}: {count} valid sentences are also in a test set; its BLEU flatters")
    say("split: " + ", ".join(f"{d.name} {'/'.join(str(len(d.splits[name])) for name in SPLITS)}" for d in splits))
    merges = ", ".join(str(codes.count("\n") - 1) for codes in encoder.codes.values()) or "no"
    say(f"{merges} merges, vocabulary of {len(encoder.vocabs['target'])}")
    names = [domain.name for domain in splits]
    stats = {
        "source_lang": spec.source_lang,
        "target_lang": spec.target_lang,
        "domains": task_stats(tokenised, names, SPLITS, encoder),
        "cleaning": cleaning,
    }
    with part_folder(out) as part:
        _write_text(part, spec, splits)
        _write_segmentation(part, spec, encoder)
        _write_arrays(part, spec, tokenised, names, encoder)
        fsio.write_json(part / "stats.json", stats)
        fsio.write_json(part / "leakage.json", leaks)
        _publish(part, out, spec, {"splits": split_hashes(splits)})


def _tokenised(spec: TaskSpec, splits: Sequence[DomainSplit], run: Map) -> dict[tuple[str, str, str], list[str]]:
    """Tokenise every split of every domain on both sides, by chunks of a fixed size."""
    keys, jobs = [], []
    for domain in splits:
        for name in SPLITS:
            for number, (side, (lang, tokenizer)) in enumerate(zip(SIDES, sides_of(spec), strict=True)):
                lines = [pair[number] for pair in domain.splits[name]]
                for start in range(0, len(lines), LINES_PER_JOB):
                    keys.append((name, domain.name, side))
                    jobs.append((lang, tokenizer, lines[start : start + LINES_PER_JOB]))
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


def _write_segmentation(part: Path, spec: TaskSpec, encoder: Encoder) -> None:
    """Write all that turns text into pieces: copied to a run's folder, it is what translating needs."""
    forms = {domain.name: Form.by(spec.cleaning_of(domain)) for domain in spec.domains}
    tokenizers = {side.lang: side.tokenizer for side in sides_of(spec)}
    plain = {name: form for name, form in forms.items() if form != Form()}
    Segmentation(spec.segmentation.bpe, tokenizers, plain).save(part)
    for name, codes in encoder.codes.items():
        fsio.write_text(part / name, codes)


def _write_arrays(
    part: Path,
    spec: TaskSpec,
    tokenised: dict[tuple[str, str, str], list[str]],
    names: Sequence[str],
    encoder: Encoder,
) -> None:
    for side, lang in zip(SIDES, (spec.source_lang, spec.target_lang), strict=True):
        encoder.vocabs[side].save(part / f"vocab.{lang}.txt")
        for name in SPLITS:
            sentences = (
                encoder.encode(line, domain, side) for domain in names for line in tokenised[name, domain, side]
            )
            tokens, offsets = flatten(sentences)
            save_array(part / f"{name}.{lang}.tokens.npy", tokens)
            save_array(part / f"{name}.{lang}.offsets.npy", offsets)
    for name in SPLITS:
        counts = [len(tokenised[name, domain, "source"]) for domain in names]
        save_array(part / f"{name}.domains.npy", np.repeat(np.arange(len(names), dtype=np.int16), counts))


def _publish(part: Path, out: Path, spec: TaskSpec, facts: dict[str, Any]) -> None:
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
        "tools": {tool: version(tool) for tool in _tools(spec)},
        "files": files,
        **facts,
    }
    fsio.write_json(out / MANIFEST, manifest)


def _tools(spec: TaskSpec) -> list[str]:
    used = {tool for side in sides_of(spec) for tool in _PACKAGES[side.tokenizer]}
    return sorted(used | ({"subword-nmt"} if spec.segmentation.bpe != "none" else set()))


def _check_corpora(spec: TaskSpec, corpora: Path) -> None:
    """Say at once, before anything is read, which corpus was not fetched.

    Raises:
        DataError: a corpus has no folder.
    """
    for domain in spec.domains:
        for corpus in domain.corpora:
            if not (corpora / corpus.name).is_dir():
                raise DataError(f"{corpora / corpus.name}: no such folder; fetch the corpus {corpus.name!r} first")
