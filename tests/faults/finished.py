"""A run made from end to end by the real verbs, to be broken in copies."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from exhibit_files import write

from mdnmt.cli import main
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.errors import EXIT_USER
from mdnmt.fsio import read_json
from mdnmt.methods import validate
from mdnmt.tasks.task_data import TaskData

SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.2}
TRAINING = {
    "max_updates": 8,
    "max_tokens": 200,
    "learning_rate": 5e-3,
    "warmup_updates": 5,
    "validate_every": 4,
    "validation_bleu_sentences": 0,
    "average_checkpoints": 2,
    "log_every": 2,
    "precision": "fp32",
}


@dataclass(frozen=True)
class Finished:
    """A task, a run on it, its translations and scores, in one folder.

    Attributes:
        root: the folder; in it are task, run and test.
        corpora: what the task was made from.
        spec: of the run.
    """

    root: Path
    corpora: Path
    spec: RunSpec

    @property
    def task(self) -> Path:
        return self.root / "task"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def test(self) -> Path:
        return self.root / "test"

    def copy(self, root: Path) -> Finished:
        shutil.copytree(self.root, root, dirs_exist_ok=True)
        return Finished(root, self.corpora, self.spec)

    # Every verb as the workflow calls it; the status is returned.
    def make_task(self) -> int:
        spec = json.dumps(read_json(self.root / "task-spec.json"))
        return main(["task", "--spec", spec, "--corpora", str(self.corpora), "--out", str(self.task)])

    def train(self, *more: str) -> int:
        places = ["--task", str(self.task), "--out", str(self.run)]
        return main(
            ["train", "--spec", self.spec.model_dump_json(), *places, "--device", "cpu", "--threads", "1", *more]
        )

    def decode(self) -> int:
        places = ["--run", str(self.run), "--task", str(self.task), "--out", str(self.test)]
        return main(["decode", *places, "--device", "cpu", "--threads", "1", "--spec", '{"beam_size": 2}'])

    def score(self) -> int:
        places = ["--task", str(self.task), "--hypotheses", str(self.test), "--out", str(self.test / "scores.json")]
        return main(["score", *places])

    def table(self, out: Path) -> int:
        columns = [{"name": name, "label": name} for name in ("economy", "law")]
        runs = [{"scores": str(self.test / "scores.json"), "seed": 3}]
        rows = [{"group": "G", "label": "Mixed", "method": "mixed", "runs": runs}]
        spec = {"kind": "scores", "title": "T", "columns": columns, "metrics": ["bleu"], "rows": rows}
        # Errors become lines as those of every verb.
        with mock.patch("mdnmt.commands.audit.run", lambda _: write(spec, out)):
            return main(["audit"])

    def outcome(self) -> dict[str, bytes]:
        """Return the bytes of all results of the run that depend on nothing but data, configuration and seed."""
        names = ("model.safetensors", "curves.tsv")
        return {name: (self.run / name).read_bytes() for name in names}


def spec_of(task: Path) -> RunSpec:
    """Return a short run on a task."""
    data = TaskData.load(task)
    return RunSpec(
        task_fingerprint=data.fingerprint,
        builder="transformer",
        architecture=validate("transformer", {**SIZES, "share_embeddings": "all"}, where="test").model_dump(),
        training=Training.model_validate(TRAINING),
        domains=data.domains,
        seed=3,
    )


def refused(capsys: pytest.CaptureFixture[str], status: int, *said: str) -> str:
    """Return the one line of a verb that failed as it should."""
    err = capsys.readouterr().err
    lines = [line for line in err.splitlines() if line.startswith("mdnmt")]
    assert status == EXIT_USER and len(lines) == 1 and "Traceback" not in err, (status, err)
    assert all(text in lines[0] for text in said), lines[0]
    return lines[0]
