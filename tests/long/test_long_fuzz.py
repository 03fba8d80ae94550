"""Whatever is done to a finished study: its tables come out as they were, or one line names a file.

MDNMT_FUZZ_OPERATIONS=2000 MDNMT_FUZZ_RECORD=slices.jsonl pytest -s tests/long/test_long_fuzz.py

Operations are drawn in slices, each from its own number: a walk at random and not hypothesis, whose examples repeat the
simplest operation and whose shrinking would take hours. A failure prints the slice and what was done. The record keeps
what each finished slice did; slices in it are not repeated, so that a run that was stopped goes on.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fuzzed_study import CONFIGURATIONS, DisturbedStudy, Laboratory

pytestmark = pytest.mark.slow

OPERATIONS = int(os.environ.get("MDNMT_FUZZ_OPERATIONS", "20"))
FIRST = int(os.environ.get("MDNMT_FUZZ_FIRST", "1"))  # slice
RECORD = os.environ.get("MDNMT_FUZZ_RECORD", "")
STEPS = 10  # operations of a slice, on one copy of the finished study

Operation = Callable[[DisturbedStudy, random.Random], None]
CHANGES = sorted(CONFIGURATIONS)


def number(draw: random.Random) -> int:
    return draw.randrange(10**6)


# Kind -> how it is drawn.
KINDS: dict[str, Operation] = {
    "delete": lambda study, draw: study.delete(number(draw), draw.random() < 0.3),
    "truncate": lambda study, draw: study.truncate(number(draw), number(draw), draw.random() < 0.4),
    "edit": lambda study, draw: study.edit(number(draw), number(draw), draw.randrange(12), draw.random() < 0.4),
    "swap": lambda study, draw: study.swap(number(draw), number(draw), draw.random() < 0.4),
    "copy": lambda study, draw: study.copy_from(number(draw), draw.choice(CHANGES), draw.random() < 0.4),
    "move": lambda study, draw: study.move(number(draw), number(draw), draw.randrange(4)),
    "configuration": lambda study, draw: study.configure(draw.choice(CHANGES)),
    "code": lambda study, draw: study.change_code(),
    "kill": lambda study, draw: study.kill(number(draw), int(2 ** draw.uniform(0, 9))),
}
OFTEN = ("edit", "swap", "copy")  # where what is wrong would be found out by nobody


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    made = Laboratory(tmp_path_factory.mktemp("fuzz"))
    made.open()
    yield made
    made.close()


def operations(laboratory: Laboratory, number: int) -> Counter[str]:
    """Do the operations of one slice; return how many of each kind there were, and how the pipelines ended."""
    draw = random.Random(number)
    laboratory.counts.clear()
    study = DisturbedStudy(laboratory, laboratory.folder / f"slice-{number}")
    left = STEPS
    while left:
        together = min(left, draw.choice((1, 1, 2, 3)))
        for _ in range(together):
            KINDS[draw.choice((*KINDS, *OFTEN))](study, draw)
        left -= together
        study.run()
    study.remove()
    return Counter(laboratory.counts)


def test_a_disturbed_study_ends_with_the_same_numbers_or_names_a_file(laboratory: Laboratory) -> None:
    record = Path(RECORD) if RECORD else laboratory.folder / "slices.jsonl"
    done = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    finished = {entry["slice"] for entry in done}
    total: Counter[str] = sum((Counter(entry["counts"]) for entry in done), Counter())
    for slice_number in range(FIRST, FIRST + -(-OPERATIONS // STEPS)):
        if slice_number in finished:
            continue
        counts = operations(laboratory, slice_number)
        total += counts
        with record.open("a") as file:
            file.write(json.dumps({"slice": slice_number, "counts": counts}) + "\n")
    print(json.dumps(total, indent=1))
    assert total["the same numbers at once"] and total["remade after a refusal"] and not total["broken"]
