"""Text of two made-up systems, and a task with its test sets on disk."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

# The command line of sacreBLEU, which hands json the float32 that numpy 2 leaves it, which json cannot write.
SACREBLEU = (
    sys.executable,
    "-c",
    "import functools, json; from sacrebleu import sacrebleu; "
    "json.dumps = functools.partial(json.dumps, default=float); sacrebleu.main()",
)
TEXT = "the cat sat on a mat dog house economy rose fell . , quickly 3.5 %"
WORDS = TEXT.split()
REFERENCES = [" ".join(random.Random(seed).choices(WORDS, k=4 + seed % 8)) for seed in range(40)]


def noisy(seed: int, rate: float, references: list[str] = REFERENCES) -> list[str]:
    """Return the references with a share of their words replaced by others."""
    chance = random.Random(seed)
    return [
        " ".join(word if chance.random() > rate else chance.choice(WORDS) for word in line.split())
        for line in references
    ]


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def make_task(folder: Path, domains: tuple[str, ...] = ("economy", "trade")) -> Path:
    write(folder / "task.json", [json.dumps({"source_lang": "fr", "target_lang": "en", "domains": domains})])
    for domain in domains:
        write(folder / "text" / f"test.{domain}.en", REFERENCES)
    return folder
