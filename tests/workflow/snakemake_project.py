"""A copy of the project with a tiny study of generated text, and Snakemake run in it as a user would."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import yaml
from preforked import preforked

ROOT = Path(__file__).resolve().parents[2]
WORDS = {"economy": "bank rate price growth index survey", "law": "bank court rule party judge order"}

SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
TRAINING = {
    "max_updates": 6,
    "max_tokens": 200,
    "learning_rate": 0.005,
    "warmup_updates": 3,
    "validate_every": 3,
    "validation_bleu_sentences": 2,
    "average_checkpoints": 2,
    "log_every": 2,
    "precision": "fp32",
}
TASK: dict[str, object] = {
    "title": "Tiny",
    "source_lang": "en",
    "target_lang": "fr",
    "domains": {name: {"corpora": [f"tiny-{name}"], "train": 60, "valid": 6, "test": 5} for name in WORDS},
    "segmentation": {"bpe_merge_operations": 25},
}
STUDY: dict[str, object] = {
    "title": "Tiny",
    "description": "Generated text and toy sizes.",
    "tasks": ["tiny"],
    "methods": ["mixed", "waldm-edc"],
    "options": [{"set": {"architecture": SIZES, "training": TRAINING}}],
    "decoding": {"beam_size": 2},
    "comparison": {"num_resamples": 20},
    "analysis": {"proportion_sentences": 4, "vector_sentences": 5, "sample_sentences": 2},
    "measure_repeats": 1,
    "tables": {"jiang2020-table2": {"task": "tiny"}, "song2026-table4": {"task": "tiny"}},
    "figures": {"jiang2020-figure8": {"task": "tiny"}, "song2026-figure3": {"task": "tiny"}},
}


def write_corpus(folder: Path, name: str, seed: int = 11) -> None:
    """Write `train.en` and `train.fr` in which the same word has another translation in each domain."""
    generator = random.Random(f"{seed}{name}")
    words = WORDS[name].split()
    sentences = [[generator.choice(words) for _ in range(generator.randint(2, 9))] for _ in range(130)]
    targets = [[f"{word[::-1]}{name[0]}" for word in sentence] for sentence in sentences]
    folder.mkdir(parents=True)
    for lang, lines in (("en", sentences), ("fr", targets)):
        (folder / f"train.{lang}").write_text("".join(f"{' '.join(line)}\n" for line in lines))


def local_corpus(name: str, folder: str) -> dict[str, object]:
    """Return the configuration of a corpus that stands in a folder of the project."""
    return {
        "title": f"Tiny {name}",
        "licence": "CC0",
        "languages": ["en", "fr"],
        "source": {"provider": "local", "folder": folder},
        "reader": {"name": "plain"},
    }


class Project:
    """A working copy of the workflow in a temporary folder.

    Attributes:
        is_checkout: has the package in `src`, which is the one that runs.
    """

    is_checkout = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # `mdnmt` of the rules is the one that is tested; a user's own profile or Python path must not reach it, nor
        # what a test of COMET has left in this process: its library is to stay offline.
        left_out = ("SNAKEMAKE_PROFILE", "PYTHONPATH", "HF_", "TRANSFORMERS_")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
        self.environment = {**clean, "PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}

    @classmethod
    def create(cls, folder: Path) -> Project:
        """Copy the workflow and the configuration, and add the study `tiny`."""
        folder.mkdir()
        shutil.copy(ROOT / "Snakefile", folder)
        shutil.copy(ROOT / "profiles", folder, follow_symlinks=False)
        for part in ("workflow", "config", "envs"):
            shutil.copytree(ROOT / part, folder / part)
        project = cls(folder)
        for name in WORDS:
            write_corpus(folder / "text" / name, name)
            project.write(f"config/corpora/tiny-{name}.yaml", local_corpus(name, f"text/{name}"))
        project.write("config/tasks/tiny.yaml", TASK)
        project.write("config/studies/tiny.yaml", STUDY)
        project.edit("config/config.yaml", "study: demo", "study: tiny")
        return project

    def copy(self, folder: Path) -> Project:
        """Return a copy with everything that was made, times of files included."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)

    def path(self, name: str) -> Path:
        """Return a path in the project."""
        return self.folder / name

    def write(self, name: str, value: object) -> None:
        """Write a YAML file."""
        self.path(name).write_text(yaml.safe_dump(value, sort_keys=False))

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace `old`, which must stand there, in a text file."""
        text = self.path(name).read_text()
        assert old in text, f"{name} has no {old!r}"
        self.path(name).write_text(text.replace(old, new))

    def update(self, name: str, **changes: object) -> None:
        """Set values in a YAML file; `a__b=1` sets the key b under a, `a__0=1` the first value of a list."""
        value = yaml.safe_load(self.path(name).read_text())
        for key, change in changes.items():
            place, parts = value, key.split("__")
            for part in parts[:-1]:
                place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
            if isinstance(place, list):
                place[int(parts[-1]) :] = [change, *place[int(parts[-1]) + 1 :]]
            else:
                place[parts[-1]] = change
        self.write(name, value)

    def with_sitecustomize(self, code: str) -> None:
        """Let every Python that is started in this project run `code` first."""
        folder = self.folder / "startup"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(code)
        self.environment["PYTHONPATH"] = str(folder)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project."""
        return self._run(self.environment, *command)

    def _run(
        self, environment: dict[str, str], *command: str, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        # `subprocess` may look on the search path of this process instead.
        program = shutil.which(command[0], path=environment["PATH"]) or command[0]
        return subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
            timeout=timeout,
        )

    def run_forked(self, *command: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a command in the project, whose `mdnmt` and `snakemake` start in milliseconds (tests/preforked.py)."""
        environment = preforked(fresh=self.is_checkout).reaching(self.environment)
        return self._run(environment, *command, timeout=timeout)

    def mdnmt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb in the project."""
        return self.run_forked("mdnmt", *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start Snakemake in a process group of its own, as a terminal would, and return the process."""
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # A test run in the background of a shell ignores the interrupt; a terminal's Snakemake does not.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )

    def snakemake(self, *arguments: str, status: int = 0) -> str:
        """Run Snakemake to its end and return what it printed."""
        done = self.run_forked("snakemake", *arguments)
        assert done.returncode == status, done.stdout + done.stderr + self._latest_logs()
        return done.stdout + done.stderr

    def _latest_logs(self) -> str:
        """Return the ends of the last logs: `--quiet all` says nothing, not even of errors."""
        found = [*self.path("logs").rglob("*.log"), *self.path(".snakemake/log").glob("*.log")]
        logs = sorted(found, key=lambda log: log.stat().st_mtime)[-3:]
        return "".join(f"\n{log.relative_to(self.folder)}:\n{log.read_text()[-3000:]}" for log in logs)

    def commands(self) -> list[list[str]]:
        """Return the commands that make the study from nothing, each as its words, in the order of a plan."""
        tasks = self.path("results/tasks")
        aside = tasks.rename(tasks.with_name("aside"))  # no rule makes data that are complete
        try:
            printed = self.snakemake("--forceall", "-n", "-p", "--cores", "2")
        finally:
            aside.rename(tasks)
        lines = re.findall(r"^Shell command: (mdnmt .*?) > \S+ 2>&1", printed, flags=re.M)
        return [shlex.split(line)[1:] for line in lines]

    def plan(self, *arguments: str) -> Plan:
        """Return what Snakemake would make now."""
        done = self.run_forked("snakemake", "--cores", "2", "--summary", *arguments)
        assert done.returncode == 0, done.stderr
        return Plan.parse(done.stdout)


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """Yield a folder that all processes of a test run share, one process at a time."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared / name


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Project], None]) -> Project:
    """Return a new project to which `make` was applied, once for all processes of a test run; do not change it."""
    with shared_folder(factory, name) as folder:
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
            folder.mkdir()
            make(Project.create(folder / "project"))
            (folder / "made").touch()
    return Project(folder / "project")


class Plan:
    """What a dry run would make: rule -> outputs."""

    def __init__(self, outputs: dict[str, set[str]]) -> None:
        self.outputs = outputs

    @classmethod
    def parse(cls, printed: str) -> Plan:
        """Read the table that `snakemake --summary` prints."""
        outputs: dict[str, set[str]] = defaultdict(set)
        rows = list(csv.DictReader(io.StringIO(printed), delimiter="\t"))
        assert rows, "an empty summary"
        for row in rows:
            if row["plan"] == "update pending":
                outputs[row["rule"]].add(row["output_file"])
        return cls(dict(outputs))

    @property
    def rules(self) -> set[str]:
        """Return the rules with something to do."""
        return set(self.outputs)

    def folders(self, rule: str) -> set[str]:
        """Return the last two parts of the folders that a rule writes into: `<method>/seed<k>-<fp>` for runs."""
        return {"/".join(Path(output).parts[-3:-1]) for output in self.outputs.get(rule, set())}

    def trained(self) -> list[str]:
        """Return the methods and seeds that would be trained."""
        return sorted(folder.rpartition("-")[0] for folder in self.folders("train"))
