from __future__ import annotations

import pytest

from mdnmt.escape import csv_cell


@pytest.mark.parametrize(
    "text", ["=HYPERLINK(1)", "@SUM(A1)", "+cmd|' /C calc'!A0", "-SUM(A1:A9)", "\t=1", "\r=1", "+HYPERLINK(1)"]
)
def test_a_cell_of_a_csv_file_is_no_formula(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "Mixed", "+DAMHA+DMoE (Domain-only)+Lb1", "-0.31", "a=b", "+ Decoder", "E/DC + WL"]
)
def test_names_and_numbers_stay_as_they_are(text: str) -> None:
    assert csv_cell(text) == text
