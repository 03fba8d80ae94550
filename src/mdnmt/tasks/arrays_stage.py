"""The last stage of a task's data: its own folder, with arrays of token ids, statistics, and the text that they encode.

Files that earlier stages wrote (text, codes, vocabularies) are hard links, so they take no more space.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt import fsio
from mdnmt.tasks.segmentation.binarise import encode_split
from mdnmt.tasks.segmentation.length_limits import drop_by_pieces
from mdnmt.tasks.segmentation.segmenter import segmentation_files
from mdnmt.tasks.segmentation.token_encoder import Encoder, WordTable
from mdnmt.tasks.stage_folder import Say, read_stage, stage_folder
from mdnmt.tasks.task_data import SPLITS
from mdnmt.tasks.task_lock import Splits
from mdnmt.tasks.task_spec import ARRAYS, TaskSpec
from mdnmt.tasks.text.pair_text import SIDES, Tokenised
from mdnmt.tasks.text_stage import find_leakage, read_splits, write_text
from mdnmt.tasks.tokens_stage import read_tokens, read_train_words
from mdnmt.tasks.workers import ParallelMap
from mdnmt.training_code import stage_code


def make_arrays(
    spec: TaskSpec,
    out: Path,
    part: Path,
    run: ParallelMap,
    say: Say,
    accept: Callable[[Splits], object],
) -> dict[str, Any]:
    """Write all files of a task's folder but its manifest, and return what that records.

    Args:
        spec: the task.
        out: the task's folder; the folders of the other stages are below the folder that it is in.
        part: the temporary folder that is written.
        run: applies a function to jobs, in processes.
        say: called with lines that report progress.
        accept: raises an error if the text is not the one that is expected.
    """
    text, tokens, codes = (stage_folder(out.parent, spec, stage) for stage in ("text", "tokens", "codes"))
    facts, split, learned = read_stage(text), read_stage(tokens), read_stage(codes)
    made = [found["code"] for found in (facts, split, learned) if "code" in found]
    tables = {
        (domain.name, side): learned["tables"][f"{domain.name} {side}"] for domain in spec.domains for side in SIDES
    }
    encoder = Encoder.load(codes / "tables", tables, read_train_words(tokens, spec))
    tokenised = read_tokens(tokens, spec)
    cleaning, identities = facts["cleaning"], facts["splits"]
    (part / "text").mkdir()
    if spec.drops_by_pieces:
        splits = read_splits(text, spec)
        given = facts["valid_is_given"]
        for name, dropped in drop_by_pieces(spec, splits, tokenised, encoder, given, run).items():
            cleaning[name]["dropped_by_pieces"] = dropped
            say(f"{name}: dropped from train and valid: " + ", ".join(f"{n} {why}" for why, n in dropped.items()))
        facts["leakage"] = find_leakage(spec, splits, run, say)
        identities = write_text(part / "text", spec, splits, run)
    accept(identities)
    sizes = {domain.name: [str(len(tokenised[split, domain.name])) for split in SPLITS] for domain in spec.domains}
    say("split: " + ", ".join(f"{name} {'/'.join(of)}" for name, of in sizes.items()))
    if not spec.drops_by_pieces:
        for name in (
            f"{split}.{domain.name}.{lang}" for split in SPLITS for domain in spec.domains for lang in spec.langs
        ):
            fsio.link_or_copy(text / name, part / "text" / name)
    for name in segmentation_files(codes, spec.langs):
        fsio.link_or_copy(codes / name, part / name)
    stats = {"source_lang": spec.source_lang, "target_lang": spec.target_lang, "cleaning": cleaning}
    stats["domains"] = _write_arrays(part, spec.langs, tokenised, encoder, run)
    fsio.write_sealed(part / "stats.json", stats, moves_to=out / "stats.json")
    fsio.write_sealed(part / "leakage.json", facts["leakage"], moves_to=out / "leakage.json")
    return {
        "name": spec.name,
        "fingerprint": spec.fingerprint,
        "source_lang": spec.source_lang,
        "target_lang": spec.target_lang,
        "domains": [domain.name for domain in spec.domains],
        "spec": spec.model_dump(mode="json"),
        "tools": {**split["tools"], **learned["tools"]},
        "code": {stage: code for one in made for stage, code in one.items()} | {ARRAYS: stage_code(ARRAYS)},
        "splits": identities,
    }


def _write_arrays(
    part: Path, langs: tuple[str, str], tokenised: Tokenised, encoder: Encoder, run: ParallelMap
) -> dict[str, dict[str, Any]]:
    """Write the arrays of all splits and return domain -> split -> statistics of the text."""
    stats: dict[str, dict[str, Any]] = {}
    for name in SPLITS:
        for (domain, side), counts in encode_split(part, name, langs, tokenised, encoder, run).items():
            row = stats.setdefault(domain, {}).setdefault(name, {"sentences": len(tokenised[name, domain])})
            row[side] = _side_stats(counts, encoder.tables[domain, side], encoder.train_words[side])
    return stats


def _side_stats(counts: NDArray[np.int64], table: WordTable, trained: Collection[str]) -> dict[str, Any]:
    """Return the statistics of one side of a text.

    `tokens` counts running words. `oov_rate` is the share of them with a piece that is <unk>; `unseen_word_rate` the
    share that is not in the training text of this side (of any domain).

    Args:
        counts: how often each word of the table occurs in it.
        table: words and their pieces.
        trained: the words of the training text.
    """
    tokens = int(counts.sum())
    pieces = int(counts @ table.lengths)
    return {
        "tokens": tokens,
        "types": int(np.count_nonzero(counts)),
        "pieces": pieces,
        "pieces_per_token": round(pieces / tokens, 4),
        "oov_rate": round(int(counts[table.unknown()].sum()) / tokens, 6),
        "unseen_word_rate": round(int(counts[~table.among(trained)].sum()) / tokens, 6),
    }
