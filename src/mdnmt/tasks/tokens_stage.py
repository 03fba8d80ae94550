"""The second stage of a task's data: its text as tokens, and how often each word occurs.

`<split>.<domain>.<lang>` has the tokens of each sentence, separated by spaces; `words/` has a line for each distinct
word of such a file, with its count.
"""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mdnmt.languages import language
from mdnmt.machine import require_space
from mdnmt.tasks.domain_text import sides_of
from mdnmt.tasks.stage_folder import read_stage
from mdnmt.tasks.task_data import SPLITS
from mdnmt.tasks.task_spec import TaskSpec
from mdnmt.tasks.text.clean import Sides
from mdnmt.tasks.text.pair_text import SIDES, Block, ChunkSelection, Tokenised, block_of, open_pairs, write_pairs
from mdnmt.tasks.text.tokenise import tokenise_lines
from mdnmt.tasks.workers import ParallelMap

_PACKAGES = {
    "moses": ("sacremoses",),
    "jieba": ("jieba", "sacremoses"),
    "stanford": ("sacremoses",),  # to detokenise translations; the segmenter itself is not a package
    "character": ("sacremoses",),
    "reversible": (),
    "none": (),
    "sentencepiece": (),
}


def make_tokens(spec: TaskSpec, text: Path, out: Path, part: Path, run: ParallelMap) -> dict[str, Any]:
    """Tokenise the text of all splits and domains, and count its words.

    Args:
        spec: the task.
        text: the folder of its text.
        out: the stage's folder.
        part: the temporary folder that is written.
        run: applies a function to jobs, in processes.

    Returns:
        The versions of the packages that were used.
    """
    names = [f"{split}.{domain.name}" for domain in spec.domains for split in SPLITS]
    files = read_stage(text)["files"]
    require_space(out, sum(files[f"{name}.{lang}"]["size_bytes"] for name in names for lang in spec.langs), "tokens")
    (part / "words").mkdir()
    sides = sides_of(spec)
    for name in names:
        counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        jobs = ((selection, sides) for selection in open_pairs(text / name, spec.langs).parts())
        with write_pairs(part / name, spec.langs) as tokens:
            for block, count_of_lines, words in run(_tokenise_part, jobs):
                tokens.add(block, count_of_lines)
                for count, more in zip(counts, words, strict=True):
                    count.update(more)
        for lang, count in zip(spec.langs, counts, strict=True):
            lines = (f"{number} {word}\n" for word, number in sorted(count.items(), key=lambda one: (-one[1], one[0])))
            (part / "words" / f"{name}.{lang}").write_bytes("".join(lines).encode())
    used = {package for side in sides for package in _PACKAGES[side.tokenizer]}
    if any(side.tokenizer == "reversible" and language(side.lang).base == "zh" for side in sides):
        used.add("jieba")
    return {"tools": {package: version(package) for package in sorted(used)}}


def _tokenise_part(job: tuple[ChunkSelection, Sides]) -> tuple[Block, int, list[dict[str, int]]]:
    """Tokenise a part; return its lines, their number, and the word counts of each side: one job of a process."""
    part, sides = job
    tokens = [tokenise_lines((*side, lines)) for side, lines in zip(sides, part.sides(), strict=True)]
    counts = [dict(Counter(" ".join(lines).split(" ") if lines else ())) for lines in tokens]
    return block_of(zip(*tokens, strict=True)), len(tokens[0]), counts


def read_words(folder: Path, spec: TaskSpec) -> dict[tuple[str, str, str], Counter[str]]:
    """Return (split, domain, side) -> how often each word occurs."""
    return {
        (split, domain.name, side): _read_counts(folder / "words" / f"{split}.{domain.name}.{lang}")
        for domain in spec.domains
        for split in SPLITS
        for side, lang in zip(SIDES, spec.langs, strict=True)
    }


def read_train_words(folder: Path, spec: TaskSpec) -> dict[str, set[str]]:
    """Return side -> the words of the training text of all domains."""
    return {
        side: {
            word for domain in spec.domains for word in _read_counts(folder / "words" / f"train.{domain.name}.{lang}")
        }
        for side, lang in zip(SIDES, spec.langs, strict=True)
    }


def read_tokens(folder: Path, spec: TaskSpec) -> Tokenised:
    """Return (split, domain) -> the tokenised text."""
    return {
        (split, domain.name): open_pairs(folder / f"{split}.{domain.name}", spec.langs)
        for domain in spec.domains
        for split in SPLITS
    }


def _read_counts(path: Path) -> Counter[str]:
    lines = (line.split(" ", 1) for line in path.read_bytes().decode().split("\n")[:-1])
    return Counter({word: int(count) for count, word in lines})
