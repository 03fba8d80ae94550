"""What training and decoding compute, pinned: whoever changes it raises the stage's version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden.golden_runs import METHODS, digest, recorded, train

from mdnmt.fingerprint import STAGE_VERSIONS
from mdnmt.tasks.task_data import TaskData

RECORDED = recorded()
AGAIN = "and record the runs again with `make golden`"
RAISE = f"raise STAGE_VERSIONS[{{stage!r}}] in src/mdnmt/fingerprint.py, say so in CHANGELOG.md, {AGAIN}"


def same(found: Any, expected: Any, relative: float) -> bool:
    """Say whether two values of the same shape are equal, numbers up to a relative difference."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key], relative) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(same(a, b, relative) for a, b in zip(found, expected, strict=True))
    return bool(found == pytest.approx(expected, rel=relative, abs=relative))


def test_the_text_of_the_runs_is_the_recorded_one(toy_task: Path) -> None:
    assert digest(TaskData.load(toy_task)) == RECORDED["data"], (
        f"the same corpora give other task data: {RAISE.format(stage='task')}"
    )


def test_every_family_is_recorded() -> None:
    assert set(RECORDED["runs"]) == set(METHODS), f"the list of runs changed: {AGAIN}"
    assert {"train", "decode", "task"} <= STAGE_VERSIONS.keys()


@pytest.mark.parametrize("method", METHODS)
def test_training_and_decoding_give_the_recorded_numbers(method: str, toy_task: Path) -> None:
    expected = RECORDED["runs"][method]
    found = train(expected["options"], RECORDED["training"], RECORDED["decoding"], TaskData.load(toy_task))
    # Validation sums in float32, whose last digits depend on the processor.
    trained = same(found["losses"], expected["losses"], 1e-9)
    trained = trained and same(found["validation"], expected["validation"], 1e-6)
    assert trained, f"{method} trains to other losses than before: {RAISE.format(stage='train')}"
    decoded = all(same(found[key], expected[key], 1e-9) for key in ("translations", "scores", "likelihood"))
    assert decoded, f"{method} translates otherwise with the same weights: {RAISE.format(stage='decode')}"
