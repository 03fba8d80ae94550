"""All that a GPU can show of this project, within the time that it is lent for: `make gpu`.

    python benchmarks/gpu_slot.py --seconds 560 [--study STUDY.zip] [--out results/gpu] [--only gate papers]

card      name, memory, cores, MPS, rate of bf16 matrix products
gate      graphs: captured, the bits of eager updates, resumed with the same bits; five families, two precisions
papers    a method of each paper at its printed size and with its recipe, eager and with graphs
large     three models with 25,000 tokens a batch, eager and with graphs
kernels   time of the kernels by category
compiled  torch.compile, on and off
small     1, 4 and 16 small trainings side by side, and under MPS
tests     tests/gpu, where pytest is installed and half an hour is left
study     `mdnmt campaign STUDY.zip` with the time that is left

Each stage is a process; a case that crashes it is recorded, and another process does the rest. OUT/gpu.json is written
after each stage, OUT/gpu.zip (logs, torch's compiler cache) at the end, and the runs of the study are in at most six
files OUT/campaign-*.zip: eight files, each below 16 MiB. Everything else is in a temporary folder. Started again, it
does what is missing, if the code and the GPU are the same. `--carry gpu.zip` brings an earlier compiler cache.

Needs torch 2.11 or newer with CUDA, numpy, pydantic, PyYAML, safetensors and sacrebleu; no network, no git. Exit status
2: something is missing, and one line says what.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]  # this tree, whatever is installed
PACKAGES = {"torch": "torch", "numpy": "numpy", "pydantic": "pydantic", "yaml": "PyYAML",
            "safetensors": "safetensors", "sacrebleu": "sacrebleu"}  # fmt: skip
OLDEST_TORCH = (2, 11)
# Stage -> the most seconds that it may take of 560; with more time in all, as much more.
LIMITS = {"card": 25, "gate": 90, "papers": 90, "large": 60, "kernels": 60, "compiled": 60, "small": 60}
STAGES = (*LIMITS, "tests", "study")
TESTS_NEED = 1800  # seconds that are left
TO_SAVE = 75  # seconds that a campaign may need to stop, and to write its results
FILE_BYTES_MAX, LOG_BYTES_MAX = 15 * 2**20, 300_000
ERROR_MAX = 0.02  # of packed attention in bf16, beside the plain form
NO_TIME, STOPPED = "no time", -1000  # the latter is the status of a process that was stopped for it
BUILDERS = ("transformer", "waldm", "domain_aware_attention", "dmoe")  # whose code makes the results


def missing(device: str) -> str | None:
    """Say in one line what is missing here; None: nothing."""
    lacking = [name for module, name in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if lacking:
        return f"found no package {', '.join(lacking)} for {sys.executable}, expected it installed: run `make setup`"
    import torch

    found = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
    if found < OLDEST_TORCH:
        return f"found torch {torch.__version__}, expected 2.11 or newer"
    if device == "cpu":
        return None
    if torch.version.cuda is None:
        return f"found torch {torch.__version__}, built without CUDA, expected a CUDA build and an NVIDIA GPU"
    if not torch.cuda.is_available():
        return (
            f"found no NVIDIA GPU that torch {torch.__version__} can use, expected one: is there a card and a driver?"
        )
    return None


class Slot:
    """The time that is lent, and what came of it so far."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        from mdnmt.training_code import stage_code

        self.options, self.work = options, work
        self.end: float = time.monotonic() + float(options.seconds)
        self.path = options.out / "gpu.json"
        self.earlier = read(self.path)
        self.found: dict[str, Any] = {"code": stage_code("train", *BUILDERS), "tiny": options.tiny, "stages": {}}

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return self.end - time.monotonic()

    def rows(self, stage: str) -> dict[str, dict[str, Any]]:
        """Return what a stage found, by case."""
        found: dict[str, dict[str, Any]] = self.found["stages"].get(stage, {}).get("rows", {})
        return found

    @property
    def card(self) -> dict[str, Any]:
        """Return what computes here."""
        return self.rows("card").get("card", {})

    @property
    def why_eager(self) -> str:
        """Return why the gate found that graphs fail, in the layout that works; "": it did not."""
        for name, row in self.rows("gate").items():
            equal = row.get("bits_equal", True) and row.get("resumed_bits_equal", True)
            why = row.get("failed") or row.get("why_eager") or ("" if equal else "other bits than eager")
            if why and not (self.why_padded and name.endswith("packed")):
                return f"{name}: {why}"
        return ""

    @property
    def why_padded(self) -> str:
        """Return why the gate found that packed batches fail; "": it did not."""
        for name, row in self.rows("gate").items():
            why = row.get("failed", f"error {row['error']:.1e}" if row.get("error", 0.0) > ERROR_MAX else "")
            if why and name.endswith("packed"):
                return f"{name}: {why}"
        return ""

    def _keep_earlier(self) -> None:
        """Keep the stages that an earlier call did with the same code on the same card."""
        earlier = self.earlier
        if earlier and all(earlier[key] == self.found[key] for key in ("code", "tiny")):
            card = earlier["stages"].get("card", {}).get("rows", {}).get("card", {})
            if (card.get("name"), card.get("torch")) == (self.card.get("name"), self.card.get("torch")):
                self.found["stages"] = {**earlier["stages"], **self.found["stages"]}

    def is_done(self, stage: str) -> bool:
        """Say whether a stage was done, and nothing of it was left out for lack of time."""
        rows = self.rows(stage).values()
        return bool(rows) and not any(row.get("absent", "").startswith(NO_TIME) for row in rows)

    def do(self, stage: str) -> None:
        """Do a stage and write what was found."""
        from mdnmt.fsio import write_json

        started = time.monotonic()
        print(f"mdnmt: {stage}, {self.left:.0f} s left", flush=True)
        rows = self._tests() if stage == "tests" else self._study() if stage == "study" else self._cases(stage)
        self.found["stages"][stage] = {"seconds": round(time.monotonic() - started, 1), "rows": rows}
        if stage == "card":
            self._keep_earlier()
        write_json(self.path, self.found)

    def _cases(self, stage: str) -> dict[str, dict[str, Any]]:
        """Do the cases of a stage; after one that fails, another process does the rest."""
        from mdnmt.fsio import write_json

        until = time.monotonic() + min(self.left, LIMITS[stage] * max(1.0, self.options.seconds / 560))
        found: dict[str, Any] = {"cases": [], "rows": {}}
        report, status = self.work / f"{stage}.json", STOPPED
        own = [
            "--stage",
            stage,
            "--out",
            str(report),
            "--updates",
            str(12 if self.options.tiny else 40 if self.options.seconds < 1200 else 240),
        ]
        own += ["--rate", str(self.card.get("matrix_rate", 0.0)), "--why-eager", self.why_eager]
        own += ["--why-padded", self.why_padded]
        own += ["--work", str(self.work), "--device", self.options.device, *(["--tiny"] if self.options.tiny else [])]
        while status and (seconds := until - time.monotonic()) > 0:
            status = self._run([__file__, *own], stage, seconds)
            found = read(report) or found
            name = found.pop("running", "")
            if status and name:
                why = f"{NO_TIME}: stopped" if status == STOPPED else self._why(stage, status)
                found["rows"][name] = {"absent" if status == STOPPED else "failed": why}
                write_json(report, found)
            if status == STOPPED or not name:
                break
        nothing = {"failed": self._why(stage, status)} if status not in (0, STOPPED) else {"absent": NO_TIME}
        return {name: found["rows"].get(name, {"absent": NO_TIME}) for name in found["cases"]} or {stage: nothing}

    def _tests(self) -> dict[str, dict[str, Any]]:
        """Return how tests/gpu ended."""
        if importlib.util.find_spec("pytest") is None:
            return {"tests/gpu": {"absent": "pytest is not installed"}}
        if self.left < TESTS_NEED:
            return {"tests/gpu": {"absent": f"{NO_TIME}: they need half an hour"}}
        status = self._run(["-m", "pytest", "-rf", str(ROOT / "tests" / "gpu")], "tests", self.left / 2)
        return {"tests/gpu": {"passed": status == 0, "outcome": self._why("tests", status).strip("= ")}}

    def _study(self) -> dict[str, dict[str, Any]]:
        """Make the runs of a study in the time that is left."""
        study, seconds = self.options.study, self.left - TO_SAVE
        if study is None:
            return {"campaign": {"absent": "no --study was given"}}
        if seconds < 10:
            return {study.name: {"absent": f"{NO_TIME}: {self.left:.0f} s"}}
        (self.work / "campaign").mkdir(exist_ok=True)
        if self.why_padded:
            study = padded_pack(study, self.work / study.name)
        device, minutes = self.options.device, f"{seconds / 60:.2f}"
        command = ["-m", "mdnmt", "campaign", str(study.resolve()), "--jobs", str(self.options.jobs)]
        command += ["--minutes", minutes, "--parts", str(self.options.out), "--device", device]
        command += ["--graphs", "off"] if self.why_eager else []
        status = self._run(command, "study", self.left, self.work / "campaign")
        lines = (self.work / "study.log").read_text(encoding="utf-8", errors="replace")
        done = re.search(r"(\d+) of (\d+) runs are done", lines)
        if done is None:
            return {study.name: {"failed": self._why("study", status)}}
        return {study.name: {"runs_done": int(done[1]), "runs": int(done[2]), "minutes": round(seconds / 60, 1)}}

    def _run(self, arguments: list[str], name: str, seconds: float, folder: Path | None = None) -> int:
        """Run Python for at most so long, with its output in a log; return the status."""
        cache = self.work / "inductor"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])),
            "TORCHINDUCTOR_CACHE_DIR": str(cache),
            "TRITON_CACHE_DIR": str(cache / "triton"),
            **({"OMP_NUM_THREADS": "1"} if self.options.device == "cpu" else {}),
        }
        with (self.work / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return STOPPED
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
                    process.wait()

    def _why(self, name: str, status: int) -> str:
        log = self.work / f"{name}.log"
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"ended by signal {-status}" if status < 0 and status != STOPPED else last[:300]

    def write_archive(self) -> None:
        """Write the logs, and torch's compiler cache as far as there is room; logs of earlier calls stay."""
        from mdnmt.fsio import atomic_path

        path = self.options.out / "gpu.zip"
        members = {one.name: one.read_bytes()[-LOG_BYTES_MAX:] for one in sorted(self.work.glob("*.log"))}
        if path.exists():
            with zipfile.ZipFile(path) as earlier:
                members = {name: earlier.read(name) for name in earlier.namelist() if name.endswith(".log")} | members
        room = FILE_BYTES_MAX - sum(map(len, members.values()))
        for one in sorted((self.work / "inductor").rglob("*")):
            if one.is_file() and (room := room - one.stat().st_size - 1000) > 0:  # before it is compressed
                members[one.relative_to(self.work).as_posix()] = one.read_bytes()
        with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)


def read(path: Path) -> dict[str, Any] | None:
    """Return the content of a JSON file; None if it is not there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def padded_pack(study: Path, path: Path) -> Path:
    """Copy a pack so that its runs train on padded batches; the layout is no part of their addresses."""
    with zipfile.ZipFile(study) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "campaign.json":  # in which each spec is a string of JSON
                data = data.replace(rb"\"layout\":\"auto\"", rb"\"layout\":\"padded\"")
            new.writestr(name, data)
    return path


def unpack_cache(path: Path, work: Path) -> None:
    """Unpack the compiler cache of an earlier archive."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"inductor/(?!.*\.\.)[\w./-]+", name) and not name.endswith("/"):
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_bytes(archive.read(name))


def run_stage(options: argparse.Namespace) -> int:
    """Do the cases of a stage that are not in its report yet; an error ends the process."""
    import gpu_stages

    from mdnmt.fsio import write_json

    own = {"device": options.device, "tiny": options.tiny, "work": options.work, "updates": options.updates}
    slot = gpu_stages.Slot(**own, rate=options.rate, why_eager=options.why_eager, why_padded=options.why_padded)
    if options.worker:
        gpu_stages.train_small(slot, options.out, options.worker)
        return 0
    cases = gpu_stages.STAGES[options.stage](slot)
    found: dict[str, Any] = read(options.out) or {"cases": list(cases), "rows": {}}
    for name, case in cases.items():
        if name not in found["rows"]:
            write_json(options.out, {**found, "running": name})
            started = time.monotonic()
            try:
                row = case()
            except gpu_stages.Absent as error:
                row = {"absent": str(error)}
            found["rows"][name] = {**row, "seconds": round(time.monotonic() - started, 1)}
            write_json(options.out, found)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Do what is left of the stages; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=560.0, help="in all (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "gpu")
    parser.add_argument("--study", type=Path, help="what `mdnmt campaign STUDY --pack` wrote")
    parser.add_argument("--jobs", type=int, default=16, help="runs of the study at once (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=STAGES, default=STAGES, help="these stages, and card")
    parser.add_argument("--carry", type=Path, help="gpu.zip of an earlier call, for torch's compiler cache")
    parser.add_argument("--device", default="cuda", help="cpu: with --tiny")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes: does everything run?")
    for name in ("--stage", "--worker", "--why-eager", "--why-padded"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--updates", type=int, default=40, help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=float, default=0.0, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.stage or options.worker:
        return run_stage(options)
    if line := missing(options.device):
        print(f"mdnmt: {line}", file=sys.stderr)
        return 2
    import gpu_page

    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as folder:
        slot = Slot(options, Path(folder))
        if options.carry:
            unpack_cache(options.carry, slot.work)
        slot.do("card")
        for stage in STAGES:
            if stage in options.only and not slot.is_done(stage):
                slot.do(stage)
        slot.write_archive()
    print(gpu_page.tables(slot.found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
