"""How fast text becomes numbers: lines per second by stage and peak memory, beside the packages called plainly.

    python benchmarks/preprocess.py text.en text.fr [--lines 100000 1000000 3000000] [--jobs 2]

The two files are aligned by line, and named by their language. When they have fewer lines than are asked for, they are
read again and again; lines of a further reading end with its number, so that none is dropped as a duplicate. At the
first size sacremoses and subword-nmt do the same in one process, line by line, and must come to the same codes,
vocabulary and arrays. Each measurement has a process of its own, whose memory, with all its children's, is looked at
ten times a second (pages that processes share count for each).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.config.task import SegmentationConfig, VocabularyConfig
from mdnmt.tasks.binarise import flatten
from mdnmt.tasks.bpe import learn_job
from mdnmt.tasks.clean import LINES_PER_JOB, Side, clean
from mdnmt.tasks.encode import SIDES, learn_encoder
from mdnmt.tasks.leakage import leakage
from mdnmt.tasks.split import SPLITS, DomainSplit, DomainText, split
from mdnmt.tasks.tokenise import tokenise_lines
from mdnmt.tasks.workers import Map, in_this_process, workers

HELD_OUT = 2000
DOMAIN = "text"
COMPARED = ("tokenise", "learn BPE", "apply BPE", "binarise")


class Clock:
    """Seconds by stage: those that pass, and those of processors, which other programs on the machine change less."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.cpu: Counter[str] = Counter()

    @contextlib.contextmanager
    def stage(self, name: str, within: str | None = None) -> Iterator[None]:
        """Book the block under a name; `within` is the stage around it, which is booked without it."""
        start, start_cpu = time.perf_counter(), cpu_seconds()
        yield
        for booked, spent in ((self.seconds, time.perf_counter() - start), (self.cpu, cpu_seconds() - start_cpu)):
            booked[name] += spent
            if within:
                booked[within] -= spent

    def learning(self, run: Map) -> Map:
        """Return the same map, which books the learning of codes apart from applying them."""

        def booked(function: Callable[[Any], Any], jobs: Sequence[Any]) -> list[Any]:
            learns = function is learn_job
            with self.stage("learn BPE", "apply BPE") if learns else contextlib.nullcontext():
                return run(function, jobs)

        return booked


def cpu_seconds() -> float:
    """Return what this process and its children have used of processors."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in [own, *own.children(recursive=True)])


def read(files: Sequence[Path], lines: int) -> Iterator[tuple[str, str]]:
    """Yield so many raw pairs."""

    def endless() -> Iterator[tuple[str, str]]:
        for copy in count(1):
            with files[0].open(encoding="utf-8") as sources, files[1].open(encoding="utf-8") as targets:
                for pair in zip(sources, targets, strict=True):
                    end = f" {copy}" if copy > 1 else ""
                    yield pair[0].rstrip("\n") + end, pair[1].rstrip("\n") + end

    return islice(endless(), lines)


def cleaned_splits(files: Sequence[Path], lines: int, clock: Clock, run: Map) -> list[DomainSplit]:
    """Read, clean and split."""
    langs = [file.suffix[1:] for file in files]
    with clock.stage("clean"):
        pairs = clean(read(files, lines), CleaningConfig(), (Side(langs[0], "moses"), Side(langs[1], "moses")), run)
    with clock.stage("split"):
        wanted = {"train": None, "valid": HELD_OUT, "test": HELD_OUT}
        return split([DomainText(DOMAIN, pairs.pairs, wanted)], 1)


def ours(files: Sequence[Path], lines: int, merges: int, jobs: int) -> dict[str, Any]:
    """Measure the stages of `mdnmt task`."""
    clock = Clock()
    langs = files[0].suffix[1:], files[1].suffix[1:]
    with workers(jobs) as run:
        splits = cleaned_splits(files, lines, clock, run)
        tokenised = {}
        with clock.stage("tokenise"):
            for name in SPLITS:
                for number, side in enumerate(SIDES):
                    text = [pair[number] for pair in splits[0].splits[name]]
                    chunks = [text[start : start + LINES_PER_JOB] for start in range(0, len(text), LINES_PER_JOB)]
                    found = run(tokenise_lines, [(langs[number], "moses", chunk) for chunk in chunks])
                    tokenised[name, DOMAIN, side] = [line for chunk in found for line in chunk]
        with clock.stage("apply BPE"):
            settings = SegmentationConfig(bpe_merge_operations=merges), VocabularyConfig()
            encoder = learn_encoder(tokenised, langs, *settings, clock.learning(run))
        arrays = []
        with clock.stage("binarise"):
            for name in SPLITS:
                for side in SIDES:
                    found = (encoder.encode(line, DOMAIN, side) for line in tokenised[name, DOMAIN, side])
                    arrays += flatten(found)
        with clock.stage("leakage, exact"):
            leakage(splits, True, None, run)
        with clock.stage("leakage with near-duplicates"):
            leakage(splits, True, 0.8, run)
    codes = next(iter(encoder.codes.values()))
    return {
        "seconds": clock.seconds,
        "cpu": clock.cpu,
        "made": digests(tokenised, codes, encoder.vocabs["source"].tokens, arrays),
    }


def plainly(files: Sequence[Path], lines: int, merges: int, _jobs: int) -> dict[str, Any]:
    """Measure sacremoses and subword-nmt, called for one line after the other in this process."""
    from sacremoses import MosesTokenizer
    from subword_nmt.apply_bpe import BPE
    from subword_nmt.learn_bpe import learn_bpe

    clock = Clock()
    splits = cleaned_splits(files, lines, clock, in_this_process)
    tokenised = {}
    with clock.stage("tokenise"):
        for number, side in enumerate(SIDES):
            tokenizer = MosesTokenizer(lang=files[number].suffix[1:])
            for name in SPLITS:
                text = (pair[number] for pair in splits[0].splits[name])
                tokens = [tokenizer.tokenize(line, escape=False, return_str=True) for line in text]
                tokenised[name, DOMAIN, side] = tokens
    with clock.stage("learn BPE"), contextlib.redirect_stderr(io.StringIO()):
        codes = io.StringIO()
        learn_bpe([line for side in SIDES for line in tokenised["train", DOMAIN, side]], codes, merges)
    with clock.stage("apply BPE"):
        bpe = BPE(codes)
        pieces = {key: [bpe.process_line(line) for line in tokenised[key]] for key in tokenised}
    with clock.stage("binarise"):
        counts: Counter[str] = Counter()
        for side in SIDES:
            for line in pieces["train", DOMAIN, side]:
                counts.update(line.split())
        tokens = ["<pad>", "<s>", "</s>", "<unk>", *sorted(counts, key=lambda piece: (-counts[piece], piece))]
        numbers = {token: number for number, token in enumerate(tokens)}
        arrays = []
        for name in SPLITS:
            for side in SIDES:
                sentences = [[*(numbers.get(p, 3) for p in line.split()), 2] for line in pieces[name, DOMAIN, side]]
                arrays.append(np.array([number for one in sentences for number in one], dtype=np.int32))
                arrays.append(np.cumsum([0, *map(len, sentences)], dtype=np.int64))
    return {"seconds": clock.seconds, "cpu": clock.cpu, "made": digests(tokenised, codes.getvalue(), tokens, arrays)}


def digests(
    tokenised: dict[tuple[str, str, str], list[str]], codes: str, vocab: Sequence[str], arrays: Sequence[Any]
) -> dict[str, str]:
    """Return what was made, as checksums."""
    text = json.dumps([tokenised[name, DOMAIN, side] for name in SPLITS for side in SIDES])
    raw = b"".join(array.tobytes() for array in arrays)
    found = {"tokens": text.encode(), "codes": codes.encode(), "vocabulary": "\n".join(vocab).encode(), "arrays": raw}
    return {name: hashlib.sha256(value).hexdigest() for name, value in found.items()}


def measured(how: str, options: argparse.Namespace, lines: int) -> dict[str, Any]:
    """Measure in a process of its own; its memory and that of its children is looked at from here."""
    command = [sys.executable, __file__, *map(str, options.files), "--lines", str(lines), "--only", how]
    command += ["--jobs", str(options.jobs), "--merges", str(options.merges)]
    done, peak = threading.Event(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        root = psutil.Process(child.pid)

        def watch() -> None:
            nonlocal peak
            while not done.wait(0.1):
                total = 0
                with contextlib.suppress(psutil.Error):
                    for process in [root, *root.children(recursive=True)]:
                        with contextlib.suppress(psutil.Error):
                            total += process.memory_info().rss
                peak = max(peak, total)

        watcher = threading.Thread(target=watch)
        watcher.start()
        out, _ = child.communicate()
        done.set()
        watcher.join()
    if child.returncode:
        sys.exit(f"{how}, {lines} lines: failed")
    return {**json.loads(out), "peak_mib": peak / 2**20}


def report(how: str, lines: int, result: dict[str, Any]) -> None:
    print(f"{how}, {lines} lines: peak memory {result['peak_mib']:.0f} MiB")
    for stage, seconds in result["seconds"].items():
        rate = lines / max(seconds, 1e-9)
        print(f"  {stage:<30}{seconds:9.2f} s{rate:12.0f} lines/s{result['cpu'][stage]:9.2f} CPU s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=2, type=Path, help="two files aligned by line, ending in .<language>")
    parser.add_argument("--lines", nargs="+", type=int, default=[100_000], help="sizes; the first is compared")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--merges", type=int, default=32000)
    parser.add_argument("--only", choices=("ours", "plainly"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        measure = {"ours": ours, "plainly": plainly}[options.only]
        print(json.dumps(measure(options.files, options.lines[0], options.merges, options.jobs)))
        return
    results = {}
    for lines in options.lines:
        results[lines] = measured("ours", options, lines)
        report(f"mdnmt, {options.jobs} processes", lines, results[lines])
    first = options.lines[0]
    plain = measured("plainly", options, first)
    report("sacremoses and subword-nmt plainly, 1 process", first, plain)
    mine = results[first]
    same = {name: mine["made"][name] == plain["made"][name] for name in plain["made"]}
    print("identical: " + ", ".join(f"{name} {'yes' if equal else 'NO'}" for name, equal in same.items()))
    for stages in (*((stage,) for stage in COMPARED), COMPARED, ("clean", *COMPARED)):
        ratio, work = (
            sum(plain[key][s] for s in stages) / max(sum(mine[key][s] for s in stages), 1e-9)
            for key in ("seconds", "cpu")
        )
        print(f"{' + '.join(stages)}: {ratio:.2f} times as fast, {work:.2f} times as little work")
    for smaller, larger in zip(options.lines, options.lines[1:], strict=False):
        grown = results[larger]["peak_mib"] / results[smaller]["peak_mib"]
        print(f"memory from {smaller} to {larger} lines: {grown:.2f} times")
    sys.exit(0 if all(same.values()) else 1)


if __name__ == "__main__":
    main()
