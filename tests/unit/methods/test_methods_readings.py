"""Rows that stand in a table in two readings: the same method but for the scale of its domain losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.config.method import load_method
from mdnmt.config.paper import load_paper
from mdnmt.methods import validate

CONFIG = Path(__file__).parents[3] / "config"
FIRST = ("mtl", "advl", "padvl", "wdc-wl")
ROWS = [
    *FIRST,
    *(f"{name}-enlarged" for name in FIRST),
    *(f"waldm-{form}-{name}" for form in ("encoder", "edc") for name in FIRST[:3]),
]
OTHER = {"code": "summed", "text": "averaged"}


@pytest.mark.parametrize("name", ROWS)
def test_the_two_readings_of_a_row_differ_in_aux_norm_alone(name: str) -> None:
    first = load_method(CONFIG, name)
    options = validate(first.builder, first.architecture, where=name).model_dump()
    other_name = f"{name}-{OTHER[options['aux_norm']]}"
    other = load_method(CONFIG, other_name)
    assert other.builder == first.builder and other.training == first.training
    other_options = validate(other.builder, other.architecture, where=other_name).model_dump()
    assert {key for key, value in options.items() if other_options[key] != value} == {"aux_norm"}
    assert OTHER[options["aux_norm"]][:-2] in other.label, "the label says which reading it is"


TABLES = ["table2", "table3", "table4", "table6-en-de", "table6-en-fr", "table6-zh-en", "table8"]


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_show_both(table: str) -> None:
    rows = load_paper(CONFIG, "jiang2020").tables[table].rows
    shown = {method: row for row in rows for method in row.methods}
    names = [name for name in ROWS if name in shown]
    assert len(names) == (6 if table.startswith("table6") else 8)
    for name in names:
        [other] = [f"{name}-{reading}" for reading in OTHER.values() if f"{name}-{reading}" in shown]
        assert shown[name].group != shown[other].group
        assert shown[other].printed is None
