"""Contestants by turns: each toolkit in its own interpreter, with the same files, sizes and number of threads."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt import fsio, provenance

PEERS = Path(__file__).resolve().parent / "peers"
OURS = "mdnmt"
Result = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """One row of a table.

    Attributes:
        script: in peers/.
        environment: in peers/envs; None: the interpreter that runs this.
        precision: as the script names it.
        norm: of the weights that it translates with.
    """

    script: str
    environment: str | None
    precision: str = "auto"
    norm: str = "post"

    @property
    def interpreter(self) -> Path:
        if self.environment is None:
            return Path(sys.executable)
        return PEERS / "envs" / self.environment / "bin" / "python"


@dataclass(frozen=True)
class Held:
    """The place of a toolkit that cannot be installed: so many times the rate of another, as it was once measured."""

    like: str
    ratio: float


def present(names: Sequence[str], known: Mapping[str, Contestant]) -> list[str]:
    """Return the contestants that have an environment; name the others in a line."""
    missing = [name for name in names if not known[name].interpreter.exists()]
    if missing:
        print(f"not installed (benchmarks/peers/install.sh), left out: {', '.join(missing)}", flush=True)
    return [name for name in names if name not in missing]


def run_once(contestant: Contestant, arguments: Sequence[object], threads: int) -> Result:
    """Run a contestant's script and return what it found, or {"failed": the end of what it said}."""
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    if "cuda" not in arguments:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        command = [contestant.interpreter, PEERS / contestant.script, *arguments, "--threads", threads]
        command += ["--precision", contestant.precision, "--out", out]
        done = subprocess.run([*map(str, command)], env=environment, cwd=folder, capture_output=True, text=True)
        if done.returncode or not out.exists():
            return {"failed": done.stderr[-4000:] or f"exit status {done.returncode}"}
        found: Result = json.loads(out.read_text(encoding="utf-8"))
        return found


def by_turns(
    names: Sequence[str],
    known: Mapping[str, Contestant],
    arguments: Callable[[Contestant], Sequence[object]],
    *,
    rounds: int,
    threads: int,
) -> dict[str, list[Result]]:
    """Run all contestants in turn, `rounds` times; one that fails is named and not run again."""
    found: dict[str, list[Result]] = {name: [] for name in names}
    for number in range(1, rounds + 1):
        for name in names:
            if any("failed" in result for result in found[name]):
                continue
            result = run_once(known[name], arguments(known[name]), threads)
            found[name].append(result)
            if "failed" in result:
                last = result["failed"].strip().rpartition("\n")[2]
                print(f"round {number}: {name} failed: {last} (all of it with --json)", flush=True)
            else:
                rate = result["target_words"] / result["seconds"]
                print(f"round {number}: {name}: {rate:,.0f} target tokens/s, {result['seconds']:.1f} s", flush=True)
    return found


def medians(found: Mapping[str, list[Result]], rate: str) -> dict[str, Result]:
    """Return of each contestant that did not fail the medians over its rounds.

    Args:
        found: by contestant, one result a round.
        rate: what is counted a second, `target_words` or `sentences`.
    """
    return {
        name: {
            "rate": statistics.median(result[rate] / result["seconds"] for result in results),
            "words": statistics.median(result["target_words"] / result["seconds"] for result in results),
            "memory": statistics.median(result["peak_rss_mib"] for result in results),
            "parameters": results[0].get("parameters"),
            "version": results[0]["version"],
        }
        for name, results in found.items()
        if results and not any("failed" in result for result in results)
    }


def hold_places(rates: dict[str, Result], places: Mapping[str, Held]) -> None:
    """Add the rates of toolkits that cannot be run, where the one that they are measured by was."""
    for name, held in places.items():
        if held.like in rates:
            rates[name] = {"rate": held.ratio * rates[held.like]["rate"], "held": held}


def times(ours: Result | None, other: Result) -> str:
    """Return how many times as fast ours is."""
    return f"{ours['rate'] / other['rate']:.2f}" if ours else "-"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n| {' | '.join(header)} |\n|{'|'.join(['---', *['---:'] * (len(header) - 1)])}|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def write_json(file: Path, options: Any, found: Mapping[str, list[Result]], rates: Mapping[str, Result]) -> None:
    """Write all figures, and what they were measured with and on."""
    settings = {name: str(value) for name, value in vars(options).items() if not callable(value)}
    shown = {name: {key: value for key, value in rate.items() if key != "held"} for name, rate in rates.items()}
    fsio.write_json(
        file,
        {"options": settings, "medians": shown, "rounds": dict(found), "provenance": provenance.collect()},
    )
