"""Make the text that toolkits are timed on: a task of two files aligned by line, and its pieces as text.

    python benchmarks/material.py law.en law.fr --out benchmarks/work/law [--lines 100000] [--merges 8000]

FOLDER/task is a finished task with one joint vocabulary; FOLDER/{train,valid,test}.{src,tgt} are its sentences as BPE
pieces, in the order of its arrays; FOLDER/vocab.txt has the pieces in the order of their numbers, special ones first.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.task import TaskConfig
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import TaskSpec, task_spec

HELD_OUT = 2000


def make_spec(text: Path, langs: Sequence[str], work: Path, **task: Any) -> TaskSpec:
    """Fetch the text of a folder into `work`/fetched, and return what a task of it is made from; `task` has options."""
    corpus = CorpusConfig.model_validate(
        {
            "title": "text",
            "languages": [*langs],
            "source": {"provider": "local", "folder": str(text)},
            "reader": {"name": "plain"},
        }
    )
    cache = work / "hashes.json"
    fetch(fetch_spec("text", corpus, cache), work / "fetched" / "text")
    config = {
        "title": "text",
        "source_lang": langs[0],
        "target_lang": langs[1],
        "domains": {"text": {"corpora": ["text"], "valid": HELD_OUT, "test": HELD_OUT}},
        **task,
    }
    return task_spec("text", TaskConfig.model_validate(config), {"text": corpus}, cache)


def make_task(files: list[Path], lines: int, merges: int, folder: Path) -> None:
    """Make the task of the first lines of two files that are named by their language."""
    langs = [file.suffix.lstrip(".") for file in files]
    with tempfile.TemporaryDirectory() as work:
        text = Path(work) / "text"
        text.mkdir()
        for file, lang in zip(files, langs, strict=True):
            with file.open(encoding="utf-8", newline="\n") as given:
                fsio.write_lines(text / f"train.{lang}", (line.rstrip("\r\n") for line in islice(given, lines)))
        segmentation = {"bpe": "joint", "bpe_merge_operations": merges}
        options = {"vocabulary": {"joint": True}, "leakage": {"near_duplicates": None}}
        spec = make_spec(text, langs, Path(work), segmentation=segmentation, **options)
        build_task(spec, Path(work) / "fetched", folder, 2)


def write_pieces(task: TaskData, folder: Path) -> None:
    """Write the sentences of every split as pieces, and the vocabulary."""
    for split in ("train", "valid", "test"):
        data = task.split(split)
        for name, side, vocab in (("src", data.source, task.source_vocab), ("tgt", data.target, task.target_vocab)):
            lines = (" ".join(vocab.tokens[number] for number in sentence[:-1]) for sentence in side)
            fsio.write_lines(folder / f"{split}.{name}", lines)
    task.source_vocab.save(folder / "vocab.txt")


def main() -> None:
    """Make the material and say what it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=2, type=Path, help="source and target text, named by their language")
    parser.add_argument("--out", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--lines", type=int, default=104_000, help="of the files (default: %(default)s)")
    parser.add_argument("--merges", type=int, default=8000, help="BPE merges (default: %(default)s)")
    options = parser.parse_args()
    make_task(options.files, options.lines, options.merges, options.out / "task")
    task = TaskData.load(options.out / "task")
    write_pieces(task, options.out)
    train = task.split("train")
    words = train.target.lengths.mean()
    print(f"{len(train):,} training pairs, {words:.1f} target pieces each, {len(task.target_vocab):,} pieces")


if __name__ == "__main__":
    main()
