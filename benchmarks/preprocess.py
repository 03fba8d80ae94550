"""How fast text becomes numbers, and in how much memory: `mdnmt task` by stage, beside the packages called plainly.

    python benchmarks/preprocess.py text.en text.fr [--lines 100000 1000000 3000000] [--jobs 2] [--json found.json]

The two files are aligned by line, and named by their language. When they have fewer lines than are asked for, they are
repeated; lines of a further repetition end with its number, so that none is dropped as a duplicate. Of each size a task
is made as `mdnmt task` makes it, from files to files. At the first size sacremoses and subword-nmt then do the same in
one process, line by line, with the cleaned text: codes, vocabulary and arrays must be the same files, byte by byte. The
two take turns, `--repeats` times (0: not at all), and the best of each is compared: other programs on the machine can
only slow one down. With `--pieces`, a task with `bpe: sentencepiece` takes turns with that of Moses and BPE instead,
and the ratios of their stages are printed.

Each measurement has a process of its own, whose memory, with all its children's, is looked at ten times a second (pages
that processes share count for each).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from material import make_spec

from mdnmt import fsio, provenance
from mdnmt.tasks import arrays_stage, build, codes_stage, text_stage
from mdnmt.tasks.segmentation import token_encoder as encode
from mdnmt.tasks.task_spec import STAGES as task_stages

DOMAIN = "text"
SPLITS = ("train", "valid", "test")
COMPARED = ("tokenise", "learn BPE", "apply BPE", "binarise")
# Part of a stage -> the function whose time it is, and the part around it.
STAGES: dict[str, tuple[Any, str, str | None]] = {
    "clean": (text_stage, "domain_texts", None),
    "split": (text_stage, "split", None),
    "leakage": (text_stage, "find_leakage", None),
    "write text": (text_stage, "write_text", None),
    "tokenise": (build, "make_tokens", None),
    "apply BPE": (codes_stage, "learn_encoder", None),
    "learn BPE": (encode, "_learn_codes", "apply BPE"),
    "binarise": (arrays_stage, "_write_arrays", None),
}


class Clock:
    """Seconds by stage: those that pass, and those of processors, which other programs on the machine change less."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.cpu: defaultdict[str, float] = defaultdict(float)

    @contextlib.contextmanager
    def stage(self, name: str, around: str | None = None) -> Iterator[None]:
        """Book the block under a name; the stage around it is booked without it."""
        start, start_cpu = time.perf_counter(), cpu_seconds()
        yield
        for booked, spent in ((self.seconds, time.perf_counter() - start), (self.cpu, cpu_seconds() - start_cpu)):
            booked[name] += spent
            if around:
                booked[around] -= spent

    def timed(self, name: str, function: Callable[..., Any], around: str | None) -> Callable[..., Any]:
        @functools.wraps(function)
        def within(*arguments: Any, **options: Any) -> Any:
            with self.stage(name, around):
                return function(*arguments, **options)

        return within


def cpu_seconds() -> float:
    """Return what this process and its children, those that ended as well, have used of processors."""
    own = psutil.Process()
    return float(sum(own.cpu_times()[:4]) + sum(sum(child.cpu_times()[:2]) for child in own.children(recursive=True)))


def write_lines(files: Sequence[Path], lines: int, folder: Path) -> None:
    """Write so many lines of both files, repeated where need be, as a user's folder has them."""
    for file in files:

        def endless(file: Path = file) -> Iterator[str]:
            for copy in count(1):
                with file.open(encoding="utf-8", newline="\n") as handle:
                    end = f" {copy}\n" if copy > 1 else "\n"
                    yield from (line.rstrip("\r\n") + end for line in handle)

        with (folder / f"train{file.suffix}").open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(islice(endless(), lines))


def ours(folder: Path, langs: Sequence[str], options: argparse.Namespace, bpe: str) -> dict[str, Any]:
    """Make the task of the text in `folder`, and measure its stages."""
    segmentation = {"bpe": bpe, "bpe_merge_operations": options.merges}
    leakage = {"near_duplicates": 0.8 if options.near else None}
    spec = make_spec(folder, langs, folder, segmentation=segmentation, leakage=leakage)
    for stage in task_stages:  # an earlier repetition's are complete, and would be taken as they are
        shutil.rmtree(folder / stage, ignore_errors=True)
    clock = Clock()
    for name, (module, function, around) in STAGES.items():
        setattr(module, function, clock.timed(name, getattr(module, function), around))
    with clock.stage("all"):
        build.build_task(spec, folder / "fetched", folder / ("task" if bpe == "joint" else bpe), options.jobs)
    return {"seconds": clock.seconds, "cpu": clock.cpu}


def plainly(folder: Path, langs: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Do from tokens to arrays what `ours` did, by sacremoses and subword-nmt, line after line in this process."""
    from sacremoses import MosesTokenizer
    from subword_nmt.apply_bpe import BPE
    from subword_nmt.learn_bpe import learn_bpe

    clock, made = Clock(), folder / "task"
    keys = [(name, lang) for name in SPLITS for lang in langs]
    text = {(name, lang): fsio.read_lines(made / "text" / f"{name}.{DOMAIN}.{lang}") for name, lang in keys}
    with clock.stage("tokenise"):
        tokenizers = {lang: MosesTokenizer(lang=lang) for lang in langs}
        tokens = {
            (name, lang): [tokenizers[lang].tokenize(line, escape=False, return_str=True) for line in text[name, lang]]
            for name, lang in keys
        }
    with clock.stage("learn BPE"), contextlib.redirect_stderr(io.StringIO()):
        codes = io.StringIO()
        learn_bpe([line for lang in langs for line in tokens["train", lang]], codes, options.merges)
    with clock.stage("apply BPE"):
        bpe = BPE(codes)
        pieces = {key: [bpe.process_line(line) for line in tokens[key]] for key in keys}
    with clock.stage("binarise"):
        counts: Counter[str] = Counter()
        for lang in langs:
            for line in pieces["train", lang]:
                counts.update(line.split())
        vocab = ["<pad>", "<s>", "</s>", "<unk>", *sorted(counts, key=lambda piece: (-counts[piece], piece))]
        numbers = {token: number for number, token in enumerate(vocab)}
        files = {"codes.bpe": codes.getvalue().encode()}
        for lang in langs:
            files[f"vocab.{lang}.txt"] = "".join(f"{token}\n" for token in vocab).encode()
        for name, lang in keys:
            sentences = [[*(numbers.get(piece, 3) for piece in line.split()), 2] for line in pieces[name, lang]]
            flat = np.array([number for one in sentences for number in one], dtype=np.int32)
            files[f"{name}.{lang}.tokens.npy"] = as_npy(flat)
            files[f"{name}.{lang}.offsets.npy"] = as_npy(np.cumsum([0, *map(len, sentences)], dtype=np.int64))
    clock.seconds["all"], clock.cpu["all"] = sum(clock.seconds.values()), sum(clock.cpu.values())
    same = {name: digest(data) == digest((made / name).read_bytes()) for name, data in files.items()}
    return {"seconds": clock.seconds, "cpu": clock.cpu, "same": same}


def as_npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def measured(how: str, folder: Path, options: argparse.Namespace, near: bool) -> dict[str, Any]:
    """Measure in a process of its own; its memory and that of its children is looked at from here."""
    command = [sys.executable, __file__, *map(str, options.files), "--only", how, "--folder", str(folder)]
    command += ["--jobs", str(options.jobs), "--merges", str(options.merges), *(["--near"] if near else [])]
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
        sys.exit(f"{how}: failed")
    return {**json.loads(out), "peak_mib": peak / 2**20}


def best(results: Sequence[dict[str, Any]], key: str, stages: Sequence[str]) -> float:
    """Return the fewest seconds of stages together."""
    return min(sum(float(result[key][stage]) for stage in stages) for result in results)


def report(how: str, lines: int, results: Sequence[dict[str, Any]]) -> None:
    print(f"\n{how}, {lines} lines: peak memory {max(result['peak_mib'] for result in results):.0f} MiB")
    for stage in results[0]["seconds"]:
        seconds = best(results, "seconds", [stage])
        rate = lines / max(seconds, 1e-9)
        print(
            f"  {stage:<12}{seconds:9.2f} s{rate:12.0f} lines/s{best(results, 'cpu', [stage]):9.2f} CPU s", flush=True
        )


def compare(mine: Sequence[dict[str, Any]], plain: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], bool]:
    """Print how many times as fast the stages are, and say whether everything made was the same."""
    same = all(all(result["same"].values()) for result in plain)
    print(f"\n{len(plain[0]['same'])} files (codes, vocabularies, arrays): {'identical' if same else 'NOT IDENTICAL'}")
    ratios: dict[str, Any] = {}
    for stages in (*((stage,) for stage in COMPARED), COMPARED):
        faster, less = (best(plain, key, stages) / max(best(mine, key, stages), 1e-9) for key in ("seconds", "cpu"))
        ratios[" + ".join(stages)] = {"seconds": round(faster, 2), "cpu": round(less, 2)}
        print(f"  {' + '.join(stages)}: {faster:.2f} times as fast, by {less:.2f} times less work")
    return ratios, same


def compare_pieces(mine: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Print and return the CPU seconds of Moses and BPE over those of sentencepiece, stage by stage."""
    chosen = (*((stage,) for stage in COMPARED[:3]), ("tokenise", "apply BPE"), COMPARED)
    ratios = {" + ".join(one): best(mine, "cpu", one) / max(best(others, "cpu", one), 1e-9) for one in chosen}
    for stages, ratio in ratios.items():
        print(f"  Moses and BPE over sentencepiece, {stages}: {ratio:.2f} times the CPU seconds")
    return {stages: round(ratio, 2) for stages, ratio in ratios.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs=2, type=Path, help="two files aligned by line, ending in .<language>")
    parser.add_argument("--lines", nargs="+", type=int, default=[100_000], help="sizes; the first is compared")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--merges", type=int, default=32000)
    parser.add_argument("--repeats", type=int, default=2, help="of the comparison; 0: none")
    parser.add_argument("--pieces", action="store_true", help="compare with sentencepiece")
    parser.add_argument("--near", action="store_true", help="look for near-duplicates as well")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--only", choices=("ours", "plainly", "pieces"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    langs = [file.suffix[1:] for file in options.files]
    if options.only:
        bpe = "sentencepiece" if options.only == "pieces" else "joint"
        of_mdnmt = functools.partial(ours, bpe=bpe)
        print(json.dumps((plainly if options.only == "plainly" else of_mdnmt)(options.folder, langs, options)))
        return
    found: dict[str, Any] = {
        "provenance": provenance.collect(),
        "load_average": os.getloadavg(),
        "jobs": options.jobs,
        "merges": options.merges,
        "sizes": {},
    }
    same, peaks = True, []
    for place, lines in enumerate(options.lines):
        with tempfile.TemporaryDirectory(prefix="mdnmt-") as name:
            folder = Path(name)
            write_lines(options.files, lines, folder)
            mine, plain, pieces = [], [], []
            compared = options.repeats if place == 0 else 0
            for _ in range(max(1, compared)):
                mine.append(measured("ours", folder, options, options.near))
                if options.pieces:
                    pieces.append(measured("pieces", folder, options, options.near))
                if compared and not options.pieces:
                    plain.append(measured("plainly", folder, options, False))
        peaks.append(max(result["peak_mib"] for result in mine))
        report(f"mdnmt, {options.jobs} processes", lines, mine)
        found["sizes"][str(lines)] = {"mdnmt": mine}
        if pieces:
            report(f"sentencepiece, {options.jobs} processes", lines, pieces)
            ratios = compare_pieces(mine, pieces)
            found["sizes"][str(lines)] |= {"sentencepiece": pieces, "cpu_ratios": ratios}
        if plain:
            report("sacremoses and subword-nmt plainly, 1 process", lines, plain)
            ratios, same = compare(mine, plain)
            found["sizes"][str(lines)] |= {"plainly": plain, "times_as_fast": ratios}
    for smaller, larger, before, after in zip(options.lines, options.lines[1:], peaks, peaks[1:], strict=False):
        print(f"\nmemory from {smaller} to {larger} lines: {100 * (after / before - 1):+.1f} %")
    if options.json:
        fsio.write_json(options.json, found)
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
