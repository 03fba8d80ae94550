"""A finished run for all tests of faults, and copies of it to be broken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from finished import Finished, spec_of

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.fsio import read_json


@pytest.fixture(scope="session")
def whole(toy_task: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return a task, a run on it, its translations and scores: made once, to be copied and never touched."""
    root = tmp_path_factory.mktemp("finished") / "whole"
    shutil.copytree(toy_task, root / "task")
    (root / "task-spec.json").write_text(json.dumps(read_json(toy_task / "task.json")["spec"]))
    made = Finished(root, toy_task.parent / "fetched", spec_of(toy_task))
    with pytest.MonkeyPatch.context() as patch:
        # As a run stopped just before its end: with two whole checkpoints to be broken.
        patch.setattr(CheckpointStore, "finish", lambda *_: None)
        assert made.train() == 0
    assert made.decode() == made.score() == 0
    return made


@pytest.fixture
def broken(whole: Finished, tmp_path: Path) -> Finished:
    """Return a copy, to be broken."""
    return whole.copy(tmp_path / "copy")
