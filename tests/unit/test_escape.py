from __future__ import annotations

from mdnmt.escape import csv_cell


def test_a_cell_of_a_csv_file_is_no_formula_and_names_and_numbers_stay_as_they_are() -> None:
    formulas = ("=HYPERLINK(1)", "@SUM(A1)", "+cmd|' /C calc'!A0", "-SUM(A1:A9)", "\t=1", "\r=1", "+HYPERLINK(1)")
    assert [csv_cell(text) for text in formulas] == [f"'{text}" for text in formulas]
    plain = ("", "Mixed", "+DAMHA+DMoE (Domain-only)+Lb1", "-0.31", "a=b", "+ Decoder", "E/DC + WL")
    assert tuple(csv_cell(text) for text in plain) == plain
