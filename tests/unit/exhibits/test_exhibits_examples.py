"""Tables of words: ambiguous words in sentences with their translations, and what symbols stand for."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mdnmt.exhibits.registry import parse_table
from mdnmt.report import render_html, render_latex, render_text
from mdnmt.report.write_table import build as build_table

EXAMPLE = {
    "word": "bank",
    "domain": "law",
    "source": "A bankrupt nonbank left the Bank, <b>not | the_bank.",
    "reference": "Die Bank & er.",
    "translations": {"mixed": "Das Ufer.", "other": "nobody asks"},
    "confidence": 0.5,  # what others want to know is left alone
}


def build(value: dict[str, Any]) -> Any:
    return build_table(parse_table(json.dumps({"kind": "examples", "title": "Words", **value})))


def systems() -> list[dict[str, Any]]:
    mixed = {"group": "", "label": "Mixed", "method": "mixed", "runs": [{"scores": "runs/a/test/s.json", "seed": 1}]}
    return [mixed, {"group": "", "label": "E/DC", "method": "edc", "missing": "needs a GPU"}]


@pytest.fixture
def grid(tmp_path: Path) -> Any:
    path = tmp_path / "ambiguity.json"
    path.write_text(json.dumps({"examples": [EXAMPLE]}))
    columns = [{"name": "law", "label": "Law"}]
    return build({"ambiguity": str(path), "systems": systems(), "columns": columns, "where": "Table 7"})


def test_a_sentence_is_a_group_of_rows(grid: Any) -> None:
    assert [row.label for row in grid.rows] == ["Source", "Reference", "Mixed", "E/DC"]
    assert {row.group for row in grid.rows} == {"1. bank (Law)"}
    assert [row.cells[0].text for row in grid.rows[1:]] == ["Die Bank & er.", "Das Ufer.", "–"]
    assert grid.reasons == ("needs a GPU",) and grid.rows[3].marks == (0,)
    assert [(run.seed, run.folder) for run in grid.rows[2].runs] == [(1, "runs/a")]


def test_the_word_is_bold_where_it_stands_by_itself(grid: Any) -> None:
    assert "the <strong>Bank</strong>, &lt;b&gt;not" in render_html.to_html(grid)
    assert r"the **Bank**, \<b\>not \| the\_bank." in render_text.to_markdown(grid)
    assert r"the \textbf{Bank}, \textless{}b\textgreater{}not" in render_latex.to_latex(grid)


def test_sentences_are_text_in_every_format(grid: Any) -> None:
    html, latex, markdown = render_html.to_html(grid), render_latex.to_latex(grid), render_text.to_markdown(grid)
    assert '<td class="text">Das Ufer.</td>' in html and "data-sort" not in html
    assert r"p{0.75\linewidth}" in latex and r"Die Bank \& er." in latex
    body = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in body}) == 1
    lines = list(csv.DictReader(io.StringIO(render_text.to_csv(grid))))
    assert [line["text"] for line in lines[:2]] == [EXAMPLE["source"], EXAMPLE["reference"]]
    assert [line["missing"] for line in lines] == ["", "", "", "needs a GPU"]


def test_given_words_come_first_from_their_domains_in_order(tmp_path: Path) -> None:
    path = tmp_path / "ambiguity.json"
    asked = [{**EXAMPLE, "word": "article", "domain": domain} for domain in ("news", "law", "ted")]
    path.write_text(json.dumps({"examples": [EXAMPLE, {**EXAMPLE, "word": "article"}], "asked": asked}))
    columns = [{"name": name, "label": name.title()} for name in ("law", "news", "ted")]
    words = {"words": ["article", "absent"], "word_domains": ["law", "news"]}
    grid = build({"ambiguity": str(path), "systems": systems(), "columns": columns, **words})
    assert list(dict.fromkeys(row.group for row in grid.rows)) == [
        "1. article (Law)",
        "2. article (News)",
        "3. bank (Law)",
    ]
    assert grid.notes == ('No test sentence of these domains has the word "absent".',)
    # A file without given words, and a table that asks for none.
    path.write_text(json.dumps({"examples": [EXAMPLE]}))
    assert len(build({"ambiguity": str(path), "systems": systems()}).rows) == 4


def test_absent_examples_are_told(tmp_path: Path) -> None:
    path = tmp_path / "ambiguity.json"
    path.write_text('{"examples": []}')
    assert build({"ambiguity": str(path)}).notes == ("No example: no ambiguous word was found.",)
    assert build({"missing": "needs a task"}).notes == ("No example: needs a task.",)
    assert "needs a task" in render_html.to_html(build({"missing": "needs a task"}))


def test_symbols_have_a_place_and_a_meaning() -> None:
    value = {"kind": "notation", "title": "N", "where": "Table 1", "lines": [["L_1", "Section 4", "layer 1 <b>"]]}
    grid = build_table(parse_table(json.dumps(value)))
    assert grid.kind == "notation" and grid.full_title == "Table 1: N"
    assert render_text.to_markdown(grid).splitlines()[2:5] == [
        "| Notation | Section | Definition |", "|---|---|---|", r"| L\_1 | Section 4 | layer 1 \<b\> |",
    ]  # fmt: skip
    html, latex = render_html.to_html(grid), render_latex.to_latex(grid)
    assert '<th scope="row">L_1</th><td class="text">Section 4</td><td class="text">layer 1 &lt;b&gt;</td>' in html
    assert "rowgroup" not in html and r"L\_1 & Section 4 & layer 1" in latex and "minipage" not in latex
