"""The first stage of a task's data, its text: cleaned, split, searched for leakage.

The files `<split>.<domain>.<lang>` are plain text, one sentence per line. If lengths are limited in BPE pieces, pairs
are dropped after BPE was learned (`mdnmt.tasks.arrays_stage`). Leakage is counted there as well, which needs the text
before the removal of leaks: `pool.<domain>.<lang>`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt import fsio
from mdnmt.errors import DataError
from mdnmt.machine import require_space
from mdnmt.tasks.domain_text import domain_texts
from mdnmt.tasks.splits.leakage import leakage
from mdnmt.tasks.splits.split import DomainSplit, split
from mdnmt.tasks.stage_folder import Say
from mdnmt.tasks.task_data import SPLITS
from mdnmt.tasks.task_spec import TaskSpec
from mdnmt.tasks.text.duplicates import DigestBuckets, Digests
from mdnmt.tasks.text.pair_text import ChunkSelection, PairText, open_pairs, side_paths
from mdnmt.tasks.workers import ParallelMap

# Text, arrays and temporary data of one pair; long sentences need more.
LEAST_BYTES_A_PAIR = 300
_DIGEST = np.dtype("S32")  # a sha256


def make_text(spec: TaskSpec, corpora: Path, out: Path, part: Path, run: ParallelMap, say: Say) -> dict[str, Any]:
    """Write the text of all splits and domains; return its cleaning, leakage and identities.

    Args:
        spec: the task.
        corpora: the folder with a subfolder for each fetched corpus.
        out: the stage's folder.
        part: the temporary folder that is written.
        run: applies a function to jobs, in processes.
        say: called with lines that report progress.

    Raises:
        TooLarge: there is not enough disk space for the pairs.
        DataError: a corpus is damaged or has too little text; the message says where and what to do.
    """
    _check_corpora(spec, corpora)
    pairs = sum((domain.train or 0) + (domain.valid or 0) + (domain.test or 0) for domain in spec.domains)
    require_space(out, pairs * LEAST_BYTES_A_PAIR, f"data of {pairs:,} pairs")
    scratch = part / "scratch"
    texts, cleaning = domain_texts(spec, corpora, scratch, run, say)
    # Validation text taken by a split rule is cleaned like training text; the corpora's own files are not.
    given = [
        domain.name
        for domain, text in zip(spec.domains, texts, strict=True)
        if "valid" in text.own and "valid" not in spec.split_of(domain).ruled
    ]
    near = spec.leakage.near_duplicates if spec.leakage.remove_near else None
    splits = split(texts, scratch / "held", spec.leakage.remove, run, near)
    del texts
    facts: dict[str, Any] = {"cleaning": cleaning, "valid_is_given": given}
    if spec.drops_by_pieces:
        _write_pools(part, spec, splits, run)
    else:
        facts["leakage"] = find_leakage(spec, splits, run, say)
    facts["splits"] = write_text(part, spec, splits, run)
    fsio.remove_tree(scratch)
    return facts


def find_leakage(spec: TaskSpec, splits: Sequence[DomainSplit], run: ParallelMap, say: Say) -> dict[str, Any]:
    """Return the leakage table of the final text, and report validation sentences that are also in a test set."""
    found = leakage(splits, spec.leakage.remove, spec.leakage.near_duplicates, run)
    for name, count in found["valid_in_test"].items():
        if count:
            say(f"warning: domain {name!r}: {count} valid sentences are also in a test set; its BLEU is too high")
    return found


def write_text(
    folder: Path, spec: TaskSpec, splits: Sequence[DomainSplit], run: ParallelMap
) -> dict[str, dict[str, str]]:
    """Write the text of all splits and return split -> domain -> identity of the text."""
    hashes: dict[str, dict[str, str]] = {name: {} for name in SPLITS}
    for domain in splits:
        for name, text in domain.splits.items():
            files = side_paths(folder / f"{name}.{domain.name}", spec.langs)
            hashes[name][domain.name] = write_sides(text, files, folder / "hashes", run)
    return hashes


def write_sides(text: PairText, paths: tuple[Path, Path], scratch: Path, run: ParallelMap) -> str:
    """Write the sources and targets of a text, one per line, and return its identity.

    That is a hash over the sorted hashes of its pairs, so that their order does not matter.

    Args:
        text: the pairs.
        paths: the files of the two sides.
        scratch: a folder for hashes.
        run: applies a function to jobs, in processes.
    """
    digests = DigestBuckets(scratch, _DIGEST)
    with fsio.atomic_open(paths[0], "wb") as sources, fsio.atomic_open(paths[1], "wb") as targets:
        for source, target, found in run(_sides, text.parts()):
            sources.write(source)
            targets.write(target)
            digests.add(found)
    identity = hashlib.sha256()
    for group in digests:  # groups come in sorted order: each has one first byte, or there is only one
        identity.update(np.sort(group).tobytes())
    digests.remove()
    return identity.hexdigest()[:16]


def _sides(part: ChunkSelection) -> tuple[bytes, bytes, Digests]:
    """Return the lines of both sides and the hashes of the pairs: one job of a worker process."""
    halves = part.halves()
    source, target = (b"".join(b"%s\n" % line for line in half) for half in halves)
    hashes = (hashlib.sha256(b"%s\t%s" % pair).digest() for pair in zip(*halves, strict=True))
    return source, target, np.frombuffer(b"".join(hashes), dtype=_DIGEST)


def _write_pools(folder: Path, spec: TaskSpec, splits: Sequence[DomainSplit], run: ParallelMap) -> None:
    """Write the training text before the removal of leaks, and which of its lines are left, where any was removed."""
    for domain in splits:
        pool, train = domain.pool, domain.splits["train"]
        if len(pool) > len(train):
            write_sides(pool, side_paths(folder / f"pool.{domain.name}", spec.langs), folder / "hashes", run)
            np.save(folder / f"pool.{domain.name}.train.npy", train.kept[pool.kept], allow_pickle=False)


def read_splits(folder: Path, spec: TaskSpec) -> list[DomainSplit]:
    """Return the text of all domains, as `make_text` wrote it."""
    found = []
    for domain in (domain.name for domain in spec.domains):
        texts = {name: open_pairs(folder / f"{name}.{domain}", spec.langs) for name in SPLITS}
        pool, mask = texts["train"], folder / f"pool.{domain}.train.npy"
        if mask.is_file():
            pool = open_pairs(folder / f"pool.{domain}", spec.langs)
            texts["train"] = PairText(pool.chunks, np.load(mask, allow_pickle=False))
        found.append(DomainSplit(domain, pool, texts))
    return found


def _check_corpora(spec: TaskSpec, corpora: Path) -> None:
    """Check that every corpus was fetched, before anything is read.

    Raises:
        DataError: a corpus has no folder.
    """
    for domain in spec.domains:
        for corpus in domain.corpora:
            if not (corpora / corpus.name).is_dir():
                raise DataError(f"{corpora / corpus.name}: no such folder; fetch the corpus {corpus.name!r} first")
