"""What the scripts of the contestants share. Each toolkit's own interpreter runs it: it needs Python's library alone.

python peers/<name>.py train  --material DIR --size small --updates 30 --skip 8 --threads 2 --out found.json
python peers/<name>.py decode --material DIR --size small --model FOLDER --sentences 500 --threads 2 --out found.json
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

# The scripts have the names of packages, which must be found before them, in the processes of a loader as well.
HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [*(place for place in sys.path if place != HERE), HERE]

# By the names of mdnmt's architecture. All toolkits: one embedding for both languages and the output layer, sinusoidal
# positions, ReLU, dropout 0.1, label smoothing 0.1, Adam.
SIZES: dict[str, dict[str, int]] = {
    "small": {"model_dim": 256, "ffn_dim": 1024, "encoder_layers": 3, "decoder_layers": 3, "num_heads": 4},
    "papers": {"model_dim": 512, "ffn_dim": 1024, "encoder_layers": 6, "decoder_layers": 6, "num_heads": 4},
}
BATCH_TOKENS = 4096
MAX_LENGTH = 250  # longer pairs, in pieces, are not trained on
# Pieces of a translation: without it sentences that never end decide, and each toolkit cuts them elsewhere.
LONGEST = 60
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
Result = dict[str, Any]


class Enough(Exception):
    """The updates to be timed are done; raised out of a toolkit's own loop."""


class Updates:
    """Times the updates of a toolkit's loop, which says after each of them how many target words it had."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.skip, self.updates = options.skip, options.updates
        self.done = self.words = 0
        self.start = self.start_cpu = 0.0
        self.result: Result = {}

    def add(self, target_words: int) -> None:
        """Count an update that is over.

        Args:
            target_words: real ones, </s> counts, padding and <s> do not.

        Raises:
            Enough: it was the last one.
        """
        self.done += 1
        if self.done == self.skip:
            self.start, self.start_cpu = time.perf_counter(), time.process_time()
        if self.done <= self.skip:
            return
        self.words += target_words
        if self.done == self.skip + self.updates:
            self.result = {
                "target_words": self.words,
                "seconds": time.perf_counter() - self.start,
                "cpu_seconds": time.process_time() - self.start_cpu,
                "updates": self.updates,
                "peak_rss_mib": peak_rss_mib(),
            }
            raise Enough


def timed_translation(translate: Callable[[list[list[str]]], list[list[str]]], options: argparse.Namespace) -> Result:
    """Translate the first test sentences, after eight others that are not timed; pieces in, pieces out."""
    sentences = read_pieces(options.material / "test.src", options.sentences + 8)
    translate(sentences[options.sentences :])
    start, start_cpu = time.perf_counter(), time.process_time()
    found = translate(sentences[: options.sentences])
    return {
        "sentences": len(found),
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - start_cpu,
        "target_words": sum(map(len, found)),
        "peak_rss_mib": peak_rss_mib(),
        "hypotheses": [" ".join(pieces) for pieces in found],
    }


def peak_rss_mib() -> float:
    """Return the peak memory of this process and of its children, the living ones and the largest that has ended."""
    total = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
        except OSError:  # it ended meanwhile
            continue
        parents[int(fields["Pid"])] = int(fields["PPid"]), int(fields.get("VmHWM", "0 kB").split()[0])
    for process in parents:
        ancestor = process
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor][0]
        total += parents[process][1] * (ancestor == os.getpid())
    return float(total / 1024)


def read_pieces(file: Path, lines: int | None = None) -> list[list[str]]:
    """Return the pieces of a file's first lines (all: None)."""
    with file.open(encoding="utf-8", newline="\n") as text:
        return [line.rstrip("\n").split(" ") for line in islice(text, lines)]


def read_vocab(material: Path) -> list[str]:
    """Return the pieces in the order of their numbers, special ones first."""
    return (material / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")


def write_training_text(material: Path, folder: Path, splits: Iterable[str] = ("train", "valid")) -> None:
    """Write the pairs that a toolkit is given: those short enough for all of them, in the same order."""
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        pairs = [
            (source, target)
            for source, target in zip(*(read_pieces(material / f"{split}.{side}") for side in ("src", "tgt")))  # noqa: B905
            if max(len(source), len(target)) < MAX_LENGTH
        ]
        for place, side in enumerate(("src", "tgt")):
            lines = (" ".join(pair[place]) + "\n" for pair in pairs)
            (folder / f"{split}.{side}").write_text("".join(lines), encoding="utf-8")


def read_model(folder: Path) -> Result:
    """Return what model.json of a model of ours says: builder, architecture, vocab_size."""
    described: Result = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return described


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def main(package: str, **tasks: Callable[[argparse.Namespace], Result]) -> None:
    """Run the task, `train` or `decode`, that the command line asks for, and write what it returns.

    Args:
        package: the toolkit's name in the registry.
        tasks: by name, a function of the options.
    """
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="task", required=True)
    for name in tasks:
        command = commands.add_parser(name)
        command.add_argument("--material", type=Path, required=True, help="a folder of material.py")
        command.add_argument("--size", choices=sorted(SIZES), default="small")
        command.add_argument("--threads", type=int, default=2)
        command.add_argument("--precision", default="auto", help="as the toolkit comes, or one that the script knows")
        command.add_argument("--out", type=Path, required=True, help="a JSON file")
        if name == "train":
            command.add_argument("--updates", type=int, default=30, help="that are timed")
            command.add_argument("--skip", type=int, default=8, help="updates before them (1 or more)")
        else:
            command.add_argument("--model", type=Path, required=True, help="a folder of decoding.py train-model")
            command.add_argument("--beam", type=int, default=5)
            command.add_argument("--sentences", type=int, default=500)
            command.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: mdnmt and CTranslate2")
    options = parser.parse_args()
    found = tasks[options.task](options)
    told = {"toolkit": package, "version": package_version(package), "torch": package_version("torch")}
    options.out.write_text(json.dumps({**told, **found}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
