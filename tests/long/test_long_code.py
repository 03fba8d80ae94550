"""After any edit of a finished study's code, each number that it shows is recomputed or marked.

MDNMT_EDITS=300 MDNMT_EDITS_FIRST=1 pytest -s tests/long/test_long_code.py

Operations are drawn in slices, each from its own number, on a copy of the finished study: edits of blocks, methods, a
plug-in, stages, rules and configuration, their reversal, deletions, and `mdnmt retrain`. After each few of them, the
pipeline runs. The oracle is a study that the code of that moment makes from nothing.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from edited_code import EDITS, create
from preforked import Server

pytestmark = pytest.mark.slow

OPERATIONS = int(os.environ.get("MDNMT_EDITS", "4"))
FIRST = int(os.environ.get("MDNMT_EDITS_FIRST", "1"))  # slice
STEPS = 10  # operations of a slice
SOURCES = ("config", "plugins", "src", "workflow")
MARK = "by other code"
KINDS = ("edit",) * 6 + ("undo", "delete", "delete", "retrain")


@dataclass
class Shown:
    """What a study shows: numbers by name, and for each name the text that would mark it."""

    values: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: Any, marks: str) -> None:
        self.values[name], self.marks[name] = value, marks

    def mark(self, name: str) -> str:
        """Return the text that marks a number; for one that is not there, that marks another of its file."""
        beside = (text for other, text in self.marks.items() if other.partition("/")[0] == name.partition("/")[0])
        return self.marks.get(name) or (max(beside, key=len, default="") if name not in self.values else "")

    @classmethod
    def of(cls, folder: Path) -> Shown:
        """Read the numbers of tables, figures, claims, numbers.csv and the data's statistics."""
        found, own = cls(), folder / "results/tiny"
        page = (own / "report.html").read_text(encoding="utf-8")
        page = page if MARK in page else ""
        for path in sorted(own.glob("tables/*.json")):
            grid = json.loads(path.read_text(encoding="utf-8"))
            notes = "\n".join(note for note in grid["notes"] if MARK in note)
            for row in grid["rows"]:
                # A difference from the baseline depends on that, and every number of a table on the task.
                of_row = [
                    note for note in notes.splitlines() if re.search(rf"{re.escape(row['label'])}|Mixed|task", note)
                ]
                for header, cell in zip(grid["headers"], row["cells"], strict=True):
                    found.add(f"{path.name}/{row['label']}/{header['key']}/{header['metric']}", cell, "\n".join(of_row))
            found.add(f"{path.stem}.csv", path.with_suffix(".csv").read_text(encoding="utf-8"), notes)
        for path in sorted(own.glob("figures/*.json")):
            for one in json.loads(path.read_text(encoding="utf-8"))["measures"]:
                found.add(f"{path.name}/{json.dumps({**one, 'value': None})}", one["value"], page)
        for path in sorted(own.glob("claims/*.json")):
            claims = json.loads(path.read_text(encoding="utf-8"))
            for one in claims["outcomes"]:
                found.add(f"{path.name}/{one['id']}", one, " ".join(claims.get("notes", ())))
        with (own / "numbers.csv").open(newline="", encoding="utf-8") as handle:
            for row in csv.DictReader(handle):
                note, value = row.pop("note", ""), row.pop("value")
                found.add(f"numbers/{json.dumps(row)}", value, note)
        for path in sorted(folder.glob("results/tasks/tiny-*/stats.json")):
            stats = json.loads(path.read_text(encoding="utf-8"))
            found.add(path.parent.name, stats["domains"], page)
        return found


class Workshop:
    """The server, the finished study, and the counts of what was done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.counts = folder, Counter[str]()
        self.server = Server(folder / "server", fresh=True)
        self.finished = create(folder / "finished").folder
        assert self.make(self.finished)[0] == 0

    def make(self, folder: Path) -> tuple[int, str]:
        return self.server.run("snakemake", folder, "--cores", "1")

    def from_nothing(self, folder: Path) -> Shown | None:
        """Return what the code and the configuration of a folder make from nothing; None: they make nothing."""
        made = self.folder / "from-nothing"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        for name in (*SOURCES, "envs", "text", "profiles"):
            shutil.copytree(folder / name, made / name)
        shutil.copy(folder / "Snakefile", made)
        (made / "config/tasks.own.lock.yaml").unlink(missing_ok=True)  # it refuses other data at a known address
        status, printed = self.make(made)
        if status:
            print(printed[-1500:])
        return Shown.of(made) if status == 0 else None


class EditedStudy:
    """A copy of the finished study, on which operations are done."""

    def __init__(self, workshop: Workshop, folder: Path, draw: random.Random) -> None:
        self.workshop, self.folder, self.log = workshop, folder, list[str]()
        self.edited = set[int]()
        self.chosen = draw.sample(range(len(EDITS)), 6)  # few, so that not everything is marked soon
        shutil.copytree(workshop.finished, folder, symlinks=True)

    def act(self, kind: str, draw: random.Random) -> None:
        """Do one operation."""
        self.workshop.counts[kind] += 1
        if kind == "edit":
            self.toggle(draw.choice(self.chosen))
        elif kind == "undo":
            for number in sorted(self.edited):
                self.toggle(number)
        elif kind == "delete":
            results = self.folder / "results"
            patterns = ("runs/tiny/*/*", "runs/tiny/*/*/*-????????", "tasks/*", "tiny/*", "tiny/*/*")
            found = sorted(path for pattern in patterns for path in results.glob(pattern))
            path = draw.choice(found) if found else self.folder / "logs"
            self.log.append(f"delete {path.relative_to(self.folder)}")
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        else:
            method = draw.choice(("mixed", "waldm-edc", "domain-tag", "ffn-mixing"))
            self.log.append(f"retrain {method}")
            self.workshop.server.run("mdnmt", self.folder, "retrain", method, "--yes")

    def toggle(self, number: int) -> None:
        edit = EDITS[number]
        done = edit.apply(self.folder)
        self.edited ^= {number}
        self.log.append(f"{'edit' if done else 'undo'} {edit.kind}: {edit.file}: {edit.new!r}")

    def check(self) -> None:
        """Run the pipeline and compare what the study shows with what is made from nothing."""
        counts = self.workshop.counts
        counts["pipelines"] += 1
        status, printed = self.workshop.make(self.folder)
        right = self.workshop.from_nothing(self.folder)
        if status or right is None:
            # The edit is refused by name, or breaks what it is in: neither shows a number. Begin again.
            assert status or right is None or "Traceback" not in printed, printed
            counts["refused" if status else "refused from nothing"] += 1
            self.log.append("-- " + " ".join(re.findall(r"^mdnmt [a-z-]+: .*$", printed, re.M)[:1]))
            for number in sorted(self.edited):
                self.toggle(number)
            shutil.rmtree(self.folder)
            shutil.copytree(self.workshop.finished, self.folder, symlinks=True)
            return
        shown = Shown.of(self.folder)
        differing = [name for name, value in right.values.items() if shown.values.get(name) != value]
        # Data that were removed are made again only when a stage needs them; the page has their numbers.
        differing = [name for name in differing if not name.startswith("tiny-") or name in shown.values]
        # The data of another configuration stay in a folder of their own, which the page does not show.
        differing += [name for name in shown.values if name not in right.values and not name.startswith("tiny-")]
        silent = [name for name in differing if MARK not in shown.mark(name)]
        counts["numbers"] += len(right.values)
        counts["marked"] += len(differing)
        counts["all recomputed" if not differing else "some marked"] += 1
        self.log.append(f"-- made: {len(differing)} of {len(right.values)} marked")
        if silent:
            pairs = [f"{name}: {shown.values.get(name)} instead of {right.values.get(name)}" for name in silent[:3]]
            raise AssertionError(
                "\n".join([f"{len(silent)} numbers are neither recomputed nor marked", *pairs, *self.log])
            )


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("code"))
    yield made
    made.server.close()


def test_each_edit_finds_its_text_and_can_be_undone(tmp_path: Path) -> None:
    folder = create(tmp_path / "project").folder
    before = [(folder / edit.file).read_text(encoding="utf-8") for edit in EDITS]
    for edit, text in zip(EDITS, before, strict=True):
        assert edit.apply(folder) and (folder / edit.file).read_text(encoding="utf-8") != text, edit
        assert not edit.apply(folder) and (folder / edit.file).read_text(encoding="utf-8") == text, edit


def test_each_number_is_recomputed_or_marked(workshop: Workshop) -> None:
    last = FIRST + -(-OPERATIONS // STEPS)
    for number in range(FIRST, last):
        draw, left = random.Random(number), min(STEPS, OPERATIONS - (number - FIRST) * STEPS)
        study = EditedStudy(workshop, workshop.folder / f"slice-{number}", draw)
        while left:
            together = min(left, draw.choice((3, 6, 10)))
            for _ in range(together):
                study.act(draw.choice(KINDS), draw)
            left -= together
            study.check()
        print(f"slice {number}", *study.log, sep="\n", flush=True)
        shutil.rmtree(study.folder)
    print(json.dumps(workshop.counts, indent=1))
    assert workshop.counts["all recomputed"] + workshop.counts["some marked"]
