"""The published number beside ours: what a reader gets to see."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from published_tables import DOMAINS, build, row, run_of, same, spec, write

from mdnmt.errors import DataError
from mdnmt.exhibits.grid import read_grid
from mdnmt.report import render_html, render_latex, render_text, table_summary

HOSTILE = "<script>alert(1)</script>|&%_\"'\\{$#^~\nsecond line"
FORMATS = (render_text.to_csv, render_text.to_markdown, render_latex.to_latex, render_html.to_html)


# --- what a reader gets to see ---


def number(value: float | None, raw: str = "", **more: Any) -> dict[str, Any]:
    return {"value": value, "raw": raw or ("" if value is None else f"{value:.2f}"), **more}


def test_the_published_number_stands_beside_ours_in_every_format(tmp_path: Path) -> None:
    a = same(tmp_path, "a", 26.21, number(26.21, "26.21*", star=True))
    grid = build(spec([a, same(tmp_path, "b", 20.0, number(26.0))], where="Table 2"))
    assert [r.cells[0].judgement.verdict for r in grid.rows if r.cells[0].judgement] == ["reproduced", "not reproduced"]
    markdown, latex, html = (draw(grid) for draw in FORMATS[1:])
    assert r"**26.21** ± 0.00 \[26.21\*, 0.00, ≈\]" in markdown
    assert r"20.00 ± 0.00 \[26.00, −6.00, ≠\]" in markdown
    assert r"{\scriptsize 26.21* 0.00 $\approx$}" in latex and r"{\scriptsize 26.00 $-$6.00 $\neq$}" in latex
    assert 'role="img" aria-label="not reproduced" title="not reproduced: difference -6.00, 95 %' in html
    for drawn in (markdown, latex, html):
        assert "Table 2: T" in drawn and "not reproduced" in drawn
    assert any(note.startswith("≈ reproduced (1): ") for note in grid.notes)


def test_each_row_leads_to_its_runs(tmp_path: Path) -> None:
    value = spec([same(tmp_path, "a", 1.0)])
    value["rows"][0]["runs"].reverse()
    grid = build(value)
    folder = (tmp_path / "runs" / "a").as_posix()
    assert [(run.seed, run.folder) for run in grid.rows[0].runs] == [(k, f"{folder}/seed{k}") for k in (1, 2, 3)]
    html = render_html.to_html(grid, {f"{folder}/seed2": '#run-"2"'})
    assert '<a href="#run-&#34;2&#34;" aria-label="run of a, seed 2">2</a>' in html and html.count("<a ") == 1
    assert "<a " not in render_html.to_html(grid)


def test_a_reason_of_the_whole_table_is_said_once(tmp_path: Path) -> None:
    rows = [same(tmp_path, name, 5.0, number(26.09)) for name in ("a", "b")]
    grid = build(spec(rows, differs="made of other text", metric_differs={"bleu": "never read"}))
    assert grid.verdict is not None and grid.verdict.verdict == "not comparable"
    for drawn in (draw(grid) for draw in FORMATS[1:]):
        assert drawn.count("made of other text") == 1
        assert "n/c" not in drawn and "21.09" not in drawn, "what cannot be compared has no difference"
        assert drawn.count("26.09") == 2
    one = build(spec([same(tmp_path, "c", 5.0, number(5.0), seeds=1)]))
    assert any(note.endswith("Inconclusive: 1 seed; a verdict needs 3.") for note in one.notes)


def test_a_verdict_says_how_the_text_differs_from_the_papers(tmp_path: Path) -> None:
    printed = {f"bleu/{key}": number(5.0) for key in (*DOMAINS, "avg")}
    value = spec([{**same(tmp_path, name, score), "printed": printed} for name, score in (("a", 5.0), ("b", 9.0))])
    value["columns"][0]["remark"] = "one sentence less"
    value["tokenizers"] = "Chinese is split by jieba"
    grid = build(value)
    for line in grid.rows:
        reasons = [cell.judgement.reason for cell in line.cells if cell.judgement is not None]
        assert ["Chinese is split by jieba" in reason for reason in reasons] == [True] * len(reasons)
        assert ["one sentence less" in reason for reason in reasons] == [True, *[False] * (len(DOMAINS) - 1), True]
    assert {"Chinese is split by jieba.", f"{DOMAINS[0].title()}: one sentence less."} <= set(grid.notes)


def test_reasons_of_some_cells_are_lettered_once_each(tmp_path: Path) -> None:
    printed = {f"bleu/{key}": number(5.0, note="a slip" if key == "law" else "") for key in (*DOMAINS, "avg")}
    value = spec([{**same(tmp_path, name, 5.0), "printed": printed} for name in ("a", "b")])
    value["columns"][1]["differs"] = "News of another year"
    value["rows"].append(row("c", [], missing="needs a licence"))
    grid = build(value)
    assert grid.reasons == ("needs a licence", "a slip", "News of another year")
    assert [cell.marks for cell in grid.rows[0].cells] == [(1,), (2,), (2,)]
    html = render_html.to_html(grid)
    assert html.count("<li><sup>c</sup> News of another year</li>") == 1
    assert "n/c not comparable (4): the letter says why." in grid.notes
    assert html.count('<th scope="row">a</th><td>') == 3, "every verdict is told with its reason below"
    assert r"\[5.00, n/c\] (c)" in render_text.to_markdown(grid)


def test_numbers_that_cannot_be_had_are_said_to_be_so(tmp_path: Path) -> None:
    missing = number(None, note="the table is not there")
    nothing = build(spec([same(tmp_path, "a", 5.0, missing)]))
    assert nothing.rows[0].cells[0].published_text == "not available" and not nothing.is_compared
    assert any("add them to config/published" in note for note in nothing.notes)
    assert "All published numbers: the table is not there." in nothing.notes and nothing.reasons == ()
    assert "n/a" not in render_text.to_markdown(nothing)
    some = build(spec([same(tmp_path, "a", 5.0, missing), same(tmp_path, "b", 5.0, number(5.0))]))
    assert r"\[n/a\]" in render_text.to_markdown(some)


def test_a_row_without_runs_still_shows_what_was_published(tmp_path: Path) -> None:
    value = spec([row("a", [], {"bleu/law": number(26.09)}, missing="needs a GPU"), same(tmp_path, "b", 5.0)])
    grid = build(value)
    cell = grid.rows[0].cells[0]
    assert (cell.mean, cell.published, cell.judgement, cell.difference) == (None, 26.09, None, None)
    assert r"– \[26.09\]" in render_text.to_markdown(grid)
    assert any("; 1 of 1 have none of ours yet" in note for note in grid.notes)


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def test_hostile_notes_stay_text(tmp_path: Path) -> None:
    printed = {"bleu/law": number(5.0, raw=HOSTILE, note=HOSTILE), "bleu/news": number(5.0)}
    value = spec([{**same(tmp_path, "a", 5.0), "printed": printed}], where=HOSTILE)
    value["columns"][0]["differs"] = HOSTILE + "!"
    grid = build(value)
    assert len(grid.reasons) == 2
    parser = Texts()
    html = render_html.to_html(grid, {grid.rows[0].runs[0].folder: HOSTILE})
    parser.feed(html)
    assert parser.stack == [] and "script" not in parser.tags
    assert "alert(1)&lt;/script&gt;" in html and "<script" not in html
    latex = render_latex.to_latex(grid).split("\n", 1)[1]
    assert not re.search(r"(?<!\\)[%#]|(?<!\\)_(?!\{)", latex) and "second line" in latex
    assert not [line for line in latex.splitlines() if line.startswith("second")]
    body = [line for line in render_text.to_markdown(grid).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in body}) == 1
    assert not re.search(r"(?<!\\)<", render_text.to_markdown(grid))
    assert next(csv.DictReader(io.StringIO(render_text.to_csv(grid))))["published_note"] == HOSTILE


# --- the layouts of single tables ---


def ablation(folder: Path, **more: Any) -> dict[str, Any]:
    rows = []
    for name, law in (("base", 20.0), ("more", 22.0)):
        runs = [
            run_of(
                folder,
                name,
                k,
                {"bleu": {"law": law + k * len(name) / 10, "news": 10.0}, "comet": {"law": 80.0, "news": 70.0}},
                comet=True,
            )
            for k in (1, 2, 3)
        ]
        rows.append(row(name, runs))
    rows[1]["printed"] = {"bleu/avg": number(16.4), "dbleu/avg": number(1.0, "+1.0"), "comet/avg": number(75.0)}
    layout = {"shows": "average", "delta": True, "baseline": "base", "metrics": ["bleu", "comet"]}
    return spec(rows, **{**layout, **more})


def test_averages_with_differences_to_the_baseline(tmp_path: Path) -> None:
    grid = build(ablation(tmp_path, metric_differs={"comet": "another model"}, margin={"points": 1}))
    assert [(h.group, h.label, h.metric) for h in grid.headers] == [
        ("Avg.", "BLEU", "bleu"), ("Avg.", "ΔBLEU", "dbleu"), ("Avg.", "COMET", "comet"), ("Avg.", "ΔCOMET", "dcomet"),
    ]  # fmt: skip
    assert [cell.text for cell in grid.rows[0].cells] == ["15.40", "–", "75.00", "–"]
    assert [cell.text for cell in grid.rows[1].cells] == ["16.40", "+1.00", "75.00", "0.00"]
    delta = grid.rows[1].cells[1]
    assert delta.values == pytest.approx((1.0, 1.0, 1.0)) and delta.published == 1.0
    verdicts = [cell.judgement and cell.judgement.verdict for cell in grid.rows[1].cells]
    assert verdicts == ["reproduced", "reproduced", "not comparable", None]
    assert "COMET: wmt" in grid.notes
    told = table_summary.summarise(grid)
    assert told.headline.startswith("On average over the domains, more scores highest: 16.40 BLEU, 1.00 above base")
    assert r"$\Delta$BLEU" in render_latex.to_latex(grid)


def test_differences_of_other_seeds_have_no_spread_and_decide_nothing(tmp_path: Path) -> None:
    value = ablation(tmp_path)
    del value["rows"][0]["runs"][0]
    delta = build(value).rows[1].cells[1]
    assert (delta.values, delta.sd) == ((), None)
    assert delta.mean == pytest.approx(16.4 - 15.5)
    assert delta.judgement is not None and delta.judgement.verdict == "inconclusive"
    assert "other seeds" in delta.judgement.reason


def test_comet_that_no_run_has_is_a_dash_with_its_reason(tmp_path: Path) -> None:
    value = ablation(tmp_path, shows="domains", delta=False, metric_missing={"comet": "no weights here"})
    for each in value["rows"]:
        for run in each["runs"]:
            del run["others"]
    grid = build(value)
    assert [h.label for h in grid.headers] == ["Law", "News", "Avg."] * 2
    assert "No COMET: no weights here." in grid.notes and grid.reasons == ()
    lines = list(csv.DictReader(io.StringIO(render_text.to_csv(grid))))
    assert {line["missing"] for line in lines if line["metric"] == "comet"} == {"no weights here"}
    del value["metric_missing"]
    assert build(value).reasons == ("no COMET on Law, News",)


def test_resources_are_judged_by_number_or_not_at_all(tmp_path: Path) -> None:
    measured = {"num_parameters": 89_300_000, "epoch_seconds": 900.0, "peak_memory_mb": 15000, "repeats": 3}
    printed = {
        "parameters": number(89e6, "89 M"), "seconds_per_epoch": number(911.86), "memory": number(14942, "14,942"),
        "seconds_per_batch": number(0.74),
    }  # fmt: skip
    rows = [{"group": "", "label": "Base", "method": "base", "printed": printed}]
    value = {"kind": "resources", "title": "R", "rows": rows, "metric_differs": {"memory": "another GPU"}}
    grid = build({**value, "measure": write(tmp_path / "m.json", {"rows": {"base": measured}})})
    found = {h.key: cell for h, cell in zip(grid.headers, grid.rows[0].cells, strict=True)}
    verdicts = {key: cell.judgement and cell.judgement.verdict for key, cell in found.items()}
    assert verdicts == {
        "num_parameters": "reproduced", "epoch_seconds": "not comparable", "decode_seconds_per_batch": None,
        "peak_memory_mb": "not comparable",
    }  # fmt: skip
    assert found["epoch_seconds"].judgement.reason == "measured on another machine than the paper's"
    assert found["epoch_seconds"].difference_text == "−1.3 %"
    assert found["decode_seconds_per_batch"].published == 0.74


def test_a_file_of_an_older_version_is_one_clear_line(tmp_path: Path) -> None:
    grid = build(spec([same(tmp_path, "a", 5.0)]))
    new = grid.model_dump(mode="json")
    path = tmp_path / "table.json"
    write(path, new)
    assert read_grid(path) == grid
    old = {key: value for key, value in new.items() if key not in ("format", "where", "verdict")}
    for broken in (old, {**new, "format": 1}, {**new, "format": 3}):
        write(path, broken)
        with pytest.raises(DataError) as caught:
            read_grid(path)
        said = str(caught.value)
        assert "\n" not in said and "not 2: of another version of mdnmt; make it again" in said and str(path) in said
    path.write_text("[]")
    with pytest.raises(DataError, match="expected a table written by"):
        read_grid(path)


def test_wide_tables_fit_the_page_and_scroll_in_a_box_of_their_own(tmp_path: Path) -> None:
    grid = build(spec([same(tmp_path, "a", 5.0, number(5.0))]))
    wide = grid.model_copy(
        update={
            "headers": grid.headers * 5,
            "rows": tuple(each.model_copy(update={"cells": each.cells * 5}) for each in grid.rows),
        }
    )
    latex = render_latex.to_latex(wide)
    assert r"\resizebox{\linewidth}{!}{%" in latex and r"\end{table*}" in latex and "graphicx" in latex
    assert "resizebox" not in render_latex.to_latex(grid)
    assert render_html.to_html(wide).index('<div class="scroll"') < render_html.to_html(wide).index("<table>")
    for drawn in (latex, render_latex.to_latex(grid)):
        assert drawn.count("{") - drawn.count(r"\{") == drawn.count("}") - drawn.count(r"\}")
        body = [line for line in drawn.splitlines() if " & " in line and "multicolumn" not in line]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in body}) == 1


def test_latex_prints_short_notes_and_keeps_the_others_as_comments(tmp_path: Path) -> None:
    grid = build(spec([same(tmp_path, "a", 5.0, number(5.0))]))
    long = " ".join(["long"] * 120)
    notes = ("Bold: the best.", long, "1 seed: no spread.", f"Caution, {long}", "Identity of the text.")
    lines = render_latex.to_latex(grid.model_copy(update={"notes": notes})).splitlines()
    assert [rf"{note}\par" in lines for note in notes] == [True, False, True, True, False]
    assert rf"% {long}\par" in lines  # whoever wants it prints it


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    value = spec([same(tmp_path, "a", 5.0, number(5.0)), same(tmp_path, "b", 6.0, number(9.0))])
    assert [draw(build(value)) for draw in FORMATS] == [draw(build(value)) for draw in FORMATS]


def test_comet_of_other_sentences_is_refused(tmp_path: Path) -> None:
    value = ablation(tmp_path)
    path = Path(value["rows"][0]["runs"][0]["others"][0])
    broken = json.loads(path.read_text(encoding="utf-8"))
    broken["domains"]["law"]["num_sentences"] = 49
    write(path, broken)
    with pytest.raises(DataError, match=r"comet.json: not of the same sentences of law as .*score it again"):
        build(value)
    write(path, {"no": 1})
    with pytest.raises(DataError, match=r"comet.json: expected scores by domain"):
        build(value)
