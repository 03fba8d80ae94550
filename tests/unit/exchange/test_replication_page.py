"""The sentences and tables of the replication's pages that are written by hand agree with the generated results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs" / "replication"
PAGE = (ROOT / "docs" / "replication.md").read_text(encoding="utf-8")
DETAILS, SHORT, RESULTS, *LONGER = (
    (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for name in ("details", "4000-updates", "results", "results-long", "results-long-zh-en")
)
VERDICTS = ("reproduced", "not reproduced", "inconclusive", "not comparable", "not tested")
OPEN = "open"  # what the table of the headline claims calls a claim without verdict


def cells(page: str) -> list[list[str]]:
    """Return the cells of each table row that begins with a name in code type."""
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def verdicts(results: str = RESULTS) -> dict[str, str]:
    """Return the verdict of each claim in generated results."""
    return {row[0].strip("`"): row[3] for row in cells(results) if len(row) == 5 and row[3] in VERDICTS}


def test_every_claim_has_a_verdict_in_the_results() -> None:
    number = re.search(r"Of the (\d+)\s+claims", PAGE)
    assert number and len(verdicts()) == int(number[1])


@pytest.mark.parametrize("source", ["docs/replication.md", "docs/replication/details.md", "README.md"])
def test_the_number_of_claims_with_each_verdict(source: str) -> None:
    page = " ".join((ROOT / source).read_text(encoding="utf-8").split())
    rest = r"(?:, (\d+) are inconclusive, and (\d+) are not comparable[^.]*\. (\d+) are not tested)?"
    found = re.search(rf"(\d+) are reproduced,? (?:and )?(\d+) are not{rest}", page)
    assert found, "expected a sentence such as: 5 are reproduced, 7 are not, 14 are inconclusive"
    stated = [int(number) for number in found.groups() if number]
    counted = [list(verdicts().values()).count(verdict) for verdict in VERDICTS]
    assert stated == counted[: len(stated)]


def test_hand_written_rows_state_the_verdicts_of_the_results() -> None:
    known, rows = verdicts(), 0
    for row in cells(DETAILS + SHORT):
        for claim in re.findall(r"`([a-z0-9-]+)`", row[0]):
            if claim not in known:
                continue
            stated = [cell.replace("*", "") for cell in row[1:]]
            wanted = (known[claim], OPEN) if known[claim] == "not comparable" else (known[claim],)
            assert any(cell == verdict or re.match(rf"{verdict}[ :]", cell) for cell in stated for verdict in wanted), (
                claim,
                row,
            )
            rows += 1
    assert rows > 30


def test_the_headline_claims_state_the_verdicts_of_longer_training() -> None:
    table = DETAILS.partition("## The headline claims")[2].partition("\n## ")[0]
    decided = [{claim: one for claim, one in verdicts(page).items() if one != "not comparable"} for page in LONGER]
    stated = {row[0].strip("`"): row[3].replace("*", "") for row in cells(table)}
    assert len(stated) == 21
    for claim, said in stated.items():
        found = {one[claim] for one in decided if claim in one} or {OPEN}
        assert {said.partition(" (")[0]} == found, claim


def test_claims_named_as_inconclusive_in_the_text_are() -> None:
    paragraph = re.search(r"more are inconclusive\.[^|]*?\n\n", SHORT)
    assert paragraph
    named = re.findall(r"`([a-z0-9-]+)`", paragraph[0])
    assert len(named) == 21 and {verdicts()[claim] for claim in named} == {"inconclusive"}
