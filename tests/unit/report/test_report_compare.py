"""`mdnmt compare`: ours beside the published numbers, and two studies beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header
from mdnmt.numbers.verdicts import Judgement
from mdnmt.report import compare_studies

HEADERS = (
    Header(key="law", label="Law", metric="bleu", group="BLEU"),
    Header(key="avg", label="Avg.", metric="bleu", group="BLEU"),
)


def cell(mean: float | None, **more: Any) -> Cell:
    return Cell(text="" if mean is None else f"{mean:.2f}", mean=mean, **more)


def grid(rows: dict[str, tuple[Cell, ...]], headers: tuple[Header, ...] = HEADERS, **more: Any) -> Grid:
    made = tuple(GridRow(group="", label=name.capitalize(), method=name, cells=cells) for name, cells in rows.items())
    return Grid(kind="scores", title="Test BLEU", headers=headers, rows=made, **more)


def save(results: Path, study: str, key: str, table: Grid) -> None:
    fsio.write_sealed(results / study / "tables" / f"{key}.json", table.model_dump(mode="json"))


JUDGED = cell(
    20.0,
    spread="0.31",
    num_seeds=3,
    published=21.5,
    published_text="21.50*",
    difference=-1.5,
    difference_text="-1.50",
    judgement=Judgement(verdict="not comparable", reason="other text"),
)


def test_ours_beside_the_published_number() -> None:
    found = compare_studies.with_published("t", grid({"mixed": (JUDGED, cell(19.0))}, where="Table 2"))
    assert found.title == "Table 2: Test BLEU"
    first, second = found.lines
    assert (first.row, first.column, first.ours, first.other) == ("Mixed", "Law BLEU", "20.00 ± 0.31", "21.50*")
    assert (first.difference, first.verdict, first.reason) == ("-1.50", "not comparable", "other text")
    assert (second.other, second.difference, second.verdict) == ("", "", "")


def test_a_verdict_that_all_cells_share_is_that_of_each() -> None:
    shared = Judgement(verdict="inconclusive", reason="one seed")
    table = grid({"mixed": (JUDGED.model_copy(update={"judgement": None}), cell(19.0))}, verdict=shared)
    first, second = compare_studies.with_published("t", table).lines
    assert (first.verdict, first.reason) == ("inconclusive", "one seed")
    assert second.verdict == ""


def test_published_numbers_without_ours_are_shown_and_empty_cells_are_not() -> None:
    published = Cell(published=30.0, published_text="30.00")
    [line] = compare_studies.with_published("t", grid({"big": (published, Cell())})).lines
    assert (line.ours, line.other) == ("", "30.00")


def test_two_studies_share_rows_by_method_and_columns_by_domain() -> None:
    other_headers = (HEADERS[0], Header(key="news", label="News", metric="bleu", group="BLEU"))
    first = grid({"mixed": (cell(20.0), cell(19.0)), "waldm": (cell(22.0), cell(21.0))})
    second = grid({"waldm": (cell(21.25), cell(9.0)), "dsa": (cell(1.0), cell(2.0))}, other_headers)
    found = compare_studies.with_other("t", first, second)
    [line] = found.lines
    assert (line.row, line.ours, line.other, line.difference) == ("Waldm", "22.00", "21.25", "-0.75")
    assert found.left_out == ("A alone has: Mixed, Avg. BLEU", "B alone has: Dsa, News BLEU")


def test_differences_have_a_sign_and_the_decimals_of_their_column() -> None:
    headers = (Header(key="epoch", label="s / epoch", metric="epoch_seconds", places=1),)
    many = (Header(key="num_parameters", label="Parameters (M)", metric="num_parameters", places=2),)
    pair = [grid({"mixed": (cell(value),)}, headers) for value in (10.0, 12.34)]
    assert compare_studies.with_other("t", *pair).lines[0].difference == "+2.3"
    pair = [grid({"mixed": (cell(value),)}, many) for value in (44.0e6, 46.5e6)]
    assert compare_studies.with_other("t", *pair).lines[0].difference == "+2.50"
    pair = [grid({"mixed": (one,)}, headers) for one in (cell(10.0), Cell())]
    assert compare_studies.with_other("t", *pair).lines[0].difference == ""


def test_a_table_without_published_numbers_says_so() -> None:
    found = compare_studies.with_published("t", grid({"mixed": (cell(20.0), cell(19.0))}))
    assert found.left_out == ("No published number belongs beside these cells.",)
    assert compare_studies.with_published("t", grid({"mixed": (JUDGED, cell(19.0))})).left_out == ()


def test_columns_of_words_are_left_out() -> None:
    headers = (Header(key="example", label="Example", metric="", is_text=True), HEADERS[0])
    table = grid({"mixed": (Cell(text="a word"), cell(3.0))}, headers)
    assert [line.column for line in compare_studies.with_published("t", table).lines] == ["Law BLEU"]


def test_text_has_80_columns_and_each_reason_once() -> None:
    long = JUDGED.model_copy(update={"judgement": Judgement(verdict="not reproduced", reason="word " * 40)})
    text = compare_studies.to_text(
        compare_studies.with_published("jiang2020-table2", grid({"mixed": (JUDGED, JUDGED), "waldm": (long, JUDGED)})),
        ("ours", "published", "difference"),
    )
    assert max(len(line) for line in text.splitlines()) <= 80
    assert text.count("other text") == 1
    assert text.count("not comparable [1]") == 3
    assert text.count("not reproduced [2]") == 1


def test_the_verb_counts_verdicts_and_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path, "demo", "jiang2020-table2", grid({"mixed": (JUDGED, cell(19.0))}))
    save(tmp_path, "demo", "song2026-table5", grid({"mixed": (JUDGED, JUDGED)}))
    assert main(["compare", "demo", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out.rstrip().endswith("\n3 not comparable")
    arguments = ["compare", "demo", "--results", str(tmp_path), "--table", "song2026-table5", "--json"]
    assert main(arguments) == 0
    [table] = json.loads(capsys.readouterr().out)
    assert table["key"] == "song2026-table5"
    assert [line["verdict"] for line in table["lines"]] == ["not comparable", "not comparable"]


def test_the_verb_compares_the_tables_that_two_studies_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path, "demo", "jiang2020-table2", grid({"mixed": (cell(1.0), cell(2.0))}))
    save(tmp_path, "paper", "jiang2020-table2", grid({"mixed": (cell(4.0), cell(2.0))}))
    save(tmp_path, "paper", "song2026-table5", grid({"mixed": (cell(4.0), cell(2.0))}))
    assert main(["compare", "demo", "paper", "--results", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "A: demo    B: paper" in text
    assert "+3.00" in text and "+0.00" in text
    assert "song2026" not in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing"], "no table is there; expected those of study 'nothing': `snakemake --cores all"),
        (["demo", "--table", "jiang2020-table3"], "(did you mean 'jiang2020-table2'?); it has: jiang2020-table2"),
        (["demo", "other"], "share no table"),
        (["old"], "another version of mdnmt"),
    ],
)
def test_mistakes_of_compare_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    table = grid({"mixed": (cell(1.0), cell(2.0))})
    save(tmp_path, "demo", "jiang2020-table2", table)
    save(tmp_path, "other", "song2026-table5", table)
    fsio.write_json(tmp_path / "old" / "tables" / "t.json", {**table.model_dump(mode="json"), "format": 1})
    assert main(["compare", *arguments, "--results", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_labels_reach_a_terminal_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    save(tmp_path, "demo", "jiang2020-table2", grid({"a\x1b[2J\u202e\x9bb": (JUDGED, JUDGED)}))
    assert main(["compare", "demo", "--results", str(tmp_path), *more]) == 0
    said = capsys.readouterr().out
    assert "A" in said and not set("\x1b\u202e\x9b") & set(said)
