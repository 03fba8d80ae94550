"""docs/faults.md lists what is tested: every row names a test that is there, every line is one that the code says."""

from __future__ import annotations

import ast
import errno
import os
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split(" | ")]
    for line in (ROOT / "docs" / "faults.md").read_text().splitlines()
    if "::" in line
]
SHORTEST = 12  # of a part of a line that can be looked for


@cache
def said_by_the_code() -> str:
    """Return all text that the package holds, a literal a line; the system's own words for errors count as well."""
    texts = [os.strerror(number) for number in (errno.ENOSPC, errno.EROFS)]
    for path in sorted((ROOT / "src" / "mdnmt").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def parts(line: str) -> list[str]:
    """Return the pieces of a shown line between what differs, and between the clauses of a sentence."""
    pieces = (piece.strip() for hole in line.split("…") for piece in re.split(r"; |: ", hole))
    return [piece for piece in pieces if len(piece) >= SHORTEST]


def test_a_row_names_a_test_that_is_there_and_a_line_that_is_said() -> None:
    for _, shown, test in ROWS:
        file, _, name = test.strip("`").partition("::")
        source = (ROOT / file).read_text()
        assert name in {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}, test
        line = re.match(r"`([^`]*…[^`]*)`", shown)
        said = parts(line[1]) if line else []
        assert [part for part in said if part not in said_by_the_code()] == [], test
        # The test must ask for this line: its source has three consecutive words of it.
        triples = [" ".join(words[at : at + 3]) for words in map(str.split, said) for at in range(len(words) - 2)]
        assert not triples or any(triple in source.replace("\\", "") for triple in triples), (test, triples)


def test_every_test_of_faults_stands_in_the_list() -> None:
    listed = {row[-1].strip("`") for row in ROWS}
    files = sorted((ROOT / "tests" / "faults").glob("test_*.py"))
    named = {file.name for file in files if any(file.name in test for test in listed)}
    assert named == {file.name for file in files} - {"test_faults_page.py"}
    assert len(listed) >= 30
