"""The hours of each paper on the page of the studies are those that the plan prints where nothing has been fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from chosen_cases import chosen_cases
from pages import ROOT, read

from mdnmt.cli import main

TABLE = read(ROOT / "docs" / "studies.md").partition("## One paper")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| `(\w+)` \| (\d+) \| [^|]+ \| ([\d,.–]+ h) \| ([\d,.–]+ h) \|$", TABLE, flags=re.MULTILINE)


def test_every_paper_has_hours() -> None:
    assert [row[0] for row in ROWS] == ["jiang2020", "zhang2021", "song2026", "phan2022", "paper"]


@pytest.mark.slow
@pytest.mark.parametrize("row", chosen_cases(ROWS, ROWS[1]), ids=lambda row: row[0])
def test_the_hours_are_those_of_the_plan(
    row: tuple[str, str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    study, runs, now, everything = row
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    assert main(["plan", study, "--card", "h200"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f" {runs} runs (" in printed
    assert f"Time of one GPU, an NVIDIA H200: {now} left" in printed
    assert now == everything or f"Including what cannot be made now: {everything} and" in printed
