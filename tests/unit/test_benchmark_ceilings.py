"""The table of ceilings in benchmarks/CEILINGS.md is what the script prints."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_the_page_is_that_of_the_script() -> None:
    found = runpy.run_path(str(ROOT / "benchmarks/ceilings.py"))
    assert len(found["sentences"]()) >= 40
    assert found["table"]() in (ROOT / "benchmarks/CEILINGS.md").read_text(encoding="utf-8")
