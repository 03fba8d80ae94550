"""docs/faults.md lists what is tested: every row names a test that is there, every line is one that the code says."""

from __future__ import annotations

import ast
import errno
import os
import re
from pathlib import Path

from unit.config_docs.pages import source_texts

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split(" | ")]
    for line in (ROOT / "docs" / "faults.md").read_text().splitlines()
    if "::" in line
]
SHORTEST = 12  # of a part of a line that can be looked for


def parts(line: str) -> list[str]:
    """Return the pieces of a shown line between what differs, and between the clauses of a sentence."""
    pieces = (piece.strip() for hole in line.split("…") for piece in re.split(r"; |: ", hole))
    return [piece for piece in pieces if len(piece) >= SHORTEST]


def test_a_row_names_a_test_that_is_there_and_a_line_that_is_said() -> None:
    # The system's own words for errors count as well.
    known = "\n".join([source_texts(), *(os.strerror(number) for number in (errno.ENOSPC, errno.EROFS))])
    for _, shown, test in ROWS:
        file, _, name = test.strip("`").partition("::")
        source = (ROOT / file).read_text()
        assert name in {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}, test
        line = re.match(r"`([^`]*…[^`]*)`", shown)
        said = parts(line[1]) if line else []
        assert [part for part in said if part not in known] == [], test


def test_every_test_of_faults_stands_in_the_list() -> None:
    listed = {row[-1].strip("`") for row in ROWS}
    files = sorted((ROOT / "tests" / "faults").glob("test_*.py"))
    named = {file.name for file in files if any(file.name in test for test in listed)}
    assert named == {file.name for file in files} - {"test_faults_page.py"}
