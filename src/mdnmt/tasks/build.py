"""Build a task's data: run every stage in a temporary folder, then move the files, with `task.json` last."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.languages import language
from mdnmt.machine import require_space
from mdnmt.tasks.domain_text import Say, domain_texts, sides_of
from mdnmt.tasks.segmentation.binarise import encode_split
from mdnmt.tasks.segmentation.length_limits import drop_by_pieces
from mdnmt.tasks.segmentation.segmenter import Segmentation
from mdnmt.tasks.segmentation.token_encoder import Encoder, learn_encoder
from mdnmt.tasks.segmentation.tokenised_text import SIDES, Tokenised, tokenise_splits
from mdnmt.tasks.split_files import write_sides
from mdnmt.tasks.splits.leakage import leakage
from mdnmt.tasks.splits.split import SPLITS, DomainSplit, split
from mdnmt.tasks.statistics import split_stats
from mdnmt.tasks.task_spec import TaskSpec
from mdnmt.tasks.text.normalisation import Normaliser
from mdnmt.tasks.text.pair_text import LINES_PER_CHUNK
from mdnmt.tasks.workers import ParallelMap, workers

MANIFEST = "task.json"
# Text, arrays and temporary data of one pair; long sentences need more.
LEAST_BYTES_A_PAIR = 300
_PACKAGES = {
    "moses": ("sacremoses",),
    "jieba": ("jieba", "sacremoses"),
    "stanford": ("sacremoses",),  # to detokenise translations; the segmenter itself is not a package
    "character": ("sacremoses",),
    "reversible": (),
    "none": (),
}


def build_task(
    spec: TaskSpec,
    corpora: Path,
    out: Path,
    jobs: int = 1,
    say: Say = lambda line: None,
    lines_per_chunk: int = LINES_PER_CHUNK,
) -> None:
    """Make the data of a task from fetched corpora; `jobs` does not change the result by a byte.

    Worker processes handle the text chunk by chunk; between stages it is on disk.

    Args:
        spec: the task.
        corpora: the folder with a subfolder for each fetched corpus.
        out: the task's folder; existing files in it stay until everything is made.
        jobs: number of processes.
        say: called with lines that report progress.
        lines_per_chunk: how much text a process takes at a time; it does not change the result.

    Raises:
        TooLarge: there is not enough disk space for the pairs.
        DataError: a corpus is damaged or has too little text; the message says where and what to do.
    """
    _check_corpora(spec, corpora)
    pairs = sum((domain.train or 0) + (domain.valid or 0) + (domain.test or 0) for domain in spec.domains)
    require_space(out, pairs * LEAST_BYTES_A_PAIR, f"data of {pairs:,} pairs")
    with partial_folder(out) as part, workers(jobs) as run:
        scratch = part / "scratch"
        texts, cleaning = domain_texts(spec, corpora, scratch, run, say, lines_per_chunk)
        # Validation text taken by a split rule is cleaned like training text; the corpora's own files are not.
        given = {
            domain.name
            for domain, text in zip(spec.domains, texts, strict=True)
            if text.own.get("valid") is not None and "valid" not in spec.split_of(domain).ruled
        }
        seeds = {domain.name: spec.split_of(domain).seed for domain in spec.domains}
        near = spec.leakage.near_duplicates if spec.leakage.remove_near else None
        splits = split(texts, seeds, scratch / "held", spec.leakage.remove, run, lines_per_chunk, near)
        del texts
        langs = spec.source_lang, spec.target_lang
        tokenised = tokenise_splits(splits, sides_of(spec), run, scratch / "tokens", lines_per_chunk)
        encoder = learn_encoder(tokenised.counts, langs, spec.segmentation, spec.vocabulary, scratch / "words", run)
        tokenised.counts.clear()
        for name, dropped in drop_by_pieces(spec, splits, tokenised, encoder, given, run).items():
            cleaning[name]["dropped_by_pieces"] = dropped
            say(f"{name}: dropped from train and valid: " + ", ".join(f"{n} {why}" for why, n in dropped.items()))
        leaks = leakage(splits, spec.leakage.remove, spec.leakage.near_duplicates, run)
        _report_build(splits, leaks, encoder, say)
        _write_segmentation(part, spec, encoder)
        stats = {"source_lang": langs[0], "target_lang": langs[1], "cleaning": cleaning}
        stats["domains"] = _write_arrays(part, langs, tokenised, encoder, run)
        fsio.write_sealed(part / "stats.json", stats, moves_to=out / "stats.json")
        fsio.write_sealed(part / "leakage.json", leaks, moves_to=out / "leakage.json")
        hashes = _write_text(part, langs, splits, scratch / "hashes", run)
        fsio.remove_tree(scratch)
        _publish(part, out, spec, {"splits": hashes})


def _report_build(splits: Sequence[DomainSplit], leaks: dict[str, Any], encoder: Encoder, say: Say) -> None:
    for name, count in leaks["valid_in_test"].items():
        if count:
            say(f"warning: domain {name!r}: {count} valid sentences are also in a test set; its BLEU is too high")
    say("split: " + ", ".join(f"{d.name} {'/'.join(str(len(d.splits[name])) for name in SPLITS)}" for d in splits))
    merges = ", ".join(str(codes.count("\n") - 1) for codes in encoder.codes.values()) or "no"
    say(f"{merges} merges, vocabulary of {len(encoder.vocabs['target'])}")


def _write_text(
    part: Path, langs: tuple[str, str], splits: Sequence[DomainSplit], scratch: Path, run: ParallelMap
) -> dict[str, dict[str, str]]:
    """Write all text and return split -> domain -> identity of the text."""
    hashes: dict[str, dict[str, str]] = {name: {} for name in SPLITS}
    for domain in splits:
        for name, text in domain.splits.items():
            source, target = (part / "text" / f"{name}.{domain.name}.{lang}" for lang in langs)
            hashes[name][domain.name] = write_sides(text, (source, target), scratch, run)
    return hashes


def _write_segmentation(part: Path, spec: TaskSpec, encoder: Encoder) -> None:
    """Write the BPE codes and vocabularies, which a run copies so that it can translate."""
    forms = {domain.name: Normaliser.from_config(spec.cleaning_of(domain)) for domain in spec.domains}
    tokenizers = {side.lang: side.tokenizer for side in sides_of(spec)}
    plain = {name: form for name, form in forms.items() if form != Normaliser()}
    Segmentation(spec.segmentation.bpe, tokenizers, plain).save(part)
    for name, codes in encoder.codes.items():
        fsio.write_text(part / name, codes)
    for side, lang in zip(SIDES, (spec.source_lang, spec.target_lang), strict=True):
        encoder.vocabs[side].save(part / f"vocab.{lang}.txt")


def _write_arrays(
    part: Path, langs: tuple[str, str], tokenised: Tokenised, encoder: Encoder, run: ParallelMap
) -> dict[str, dict[str, Any]]:
    """Write the arrays of all splits and return domain -> split -> statistics of the text."""
    stats: dict[str, dict[str, Any]] = {}
    for name in SPLITS:
        counts = encode_split(part, name, langs, tokenised, encoder, run)
        for (domain, side), found in split_stats(counts, encoder).items():
            row = stats.setdefault(domain, {}).setdefault(name, {"sentences": len(tokenised.texts[name, domain])})
            row[side] = found
    return stats


def _publish(part: Path, out: Path, spec: TaskSpec, facts: dict[str, Any]) -> None:
    """Move the files to their final place, one by one; `task.json` is written last and marks the task as complete."""
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
    fsio.write_sealed(out / MANIFEST, manifest)


def _tools(spec: TaskSpec) -> list[str]:
    used = {tool for side in sides_of(spec) for tool in _PACKAGES[side.tokenizer]}
    if any(side.tokenizer == "reversible" and language(side.lang).base == "zh" for side in sides_of(spec)):
        used.add("jieba")
    return sorted(used | ({"subword-nmt"} if spec.segmentation.bpe != "none" else set()))


def _check_corpora(spec: TaskSpec, corpora: Path) -> None:
    """Check that every corpus was fetched, before anything is read.

    Raises:
        DataError: a corpus has no folder.
    """
    for domain in spec.domains:
        for corpus in domain.corpora:
            if not (corpora / corpus.name).is_dir():
                raise DataError(f"{corpora / corpus.name}: no such folder; fetch the corpus {corpus.name!r} first")
