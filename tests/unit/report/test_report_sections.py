"""Papers as sections of the page: order, verdicts, claims, audit, and from each number to its run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from browser.sample_study import SEEDS, SYSTEMS, run_folder, write_study

from mdnmt.config.paper import PaperConfig
from mdnmt.errors import DataError
from mdnmt.exhibits.grid import read_grid
from mdnmt.exhibits.rows import ReportRun
from mdnmt.numbers.verdicts import VERDICTS
from mdnmt.report import contents, report_page
from mdnmt.report.plain_tables import any_number
from mdnmt.report.report_selection import paper_section
from mdnmt.report.sections.curve import HEIGHT, MOST_POINTS, WIDTH, draw, read_curves
from mdnmt.report.sections.exhibit_sections import MOST_NUMBERS
from mdnmt.report.sections.run_details import options
from mdnmt.report.sections.runs import anchor
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def study(tmp_path: Path) -> contents.ReportSpec:
    return write_study(tmp_path)


def text_of(html: str) -> str:
    """Return what a reader sees, on one line."""
    body = html.split("</style>")[1].split("<script>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def part(html: str, start: str, end: str) -> str:
    """Return the page from a piece of markup up to another."""
    return html[html.index(start) :].partition(end)[0]


def test_a_papers_items_stand_in_its_order_and_what_is_not_shown_is_said(study: contents.ReportSpec) -> None:
    html = report_page.render(study)
    section = part(html, '<section id="paper-paper1999"', "</section>")
    listed = re.findall(r"<li[^>]*>(.*?)</li>", part(section, '<ul class="places"', "</ul>"))
    assert [re.sub(r"<[^>]+>", "", one) for one in listed] == [
        "Table 1: not part of this study",
        "Table 2: Scores",
        "Figure 3: Curves",
        "Not drawn: not made yet",
    ]
    assert '<a href="#paper1999-table2">' in listed[1]
    items = re.findall(r'<div class="item" id="([^"]+)"', section)
    assert items == ["paper1999-table2", "paper1999-figure3", "paper1999-figure4"]
    assert section.index("paper1999-figure4") < section.index('id="claims-paper1999"')
    assert section.index('id="claims-paper1999"') < section.index('id="audit-paper1999"')
    # What belongs to no paper is on the page all the same.
    assert 'id="own-table"' in part(html, '<section id="results"', "</section>")


def test_the_overview_counts_what_is_rebuilt_and_how_it_was_judged(study: contents.ReportSpec) -> None:
    overview = part(report_page.render(study), '<section id="overview"', "</section>")
    rows = [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", overview, re.DOTALL)
    ]
    # Two columns of four systems have published numbers; one system was not trained.
    assert rows[1] == ["Somebody, Another and a Third, 1999", "1 of 2", "1 of 2", "6 of 8", "2 of 4", "41"]
    assert rows[2] == ["Nobody, 2001", "0 of 1", "–", "–", "–", "–"]
    assert rows[4] == ["Somebody, Another and a Third, 1999", "numbers", "0", "4", "1", "1", "0", "2"]
    assert rows[5] == ["Somebody, Another and a Third, 1999", "claims", "1", "1", "1", "1", "0", "–"]
    for verdict in VERDICTS:
        assert f"{verdict}</span>" in overview


def test_each_row_and_figure_leads_to_its_runs_and_each_run_says_what_made_it(
    study: contents.ReportSpec, tmp_path: Path
) -> None:
    html = report_page.render(study)
    table = part(html, 'id="paper1999-table2"', "</table>")
    figure = part(html, 'id="paper1999-figure3"', "</div>")
    for seed in SEEDS:
        for method in SYSTEMS:
            assert f'href="#{anchor(run_folder(tmp_path, method, seed))}"' in table
        assert f'href="#{anchor(run_folder(tmp_path, "mixed", seed))}"' in figure
    block = part(html, f'<details class="run" id="{anchor(run_folder(tmp_path, "mixed", 2))}"', "</details>")
    told = text_of("</style>" + block)
    for fact in (
        *(
            "Mixed, seed 2",
            "mean BLEU 10.75",
            "transformer: model_dim 64",
            "learning_rate 0.001",
            "adam_betas [0.9, 0.98]",
        ),
        *("77aa77aa", "2f" * 32, "nrefs:1|tok:13a", "c0ffee" * 6 + " and uncommitted", "torch 2.0", "1 min 1 s"),
        *("A processor, 2 cores, cpu, fp32, 1 thread", "2026-01-02T03:04:05Z", "Trained on Law Seed 2", "best at 700"),
        *("Training loss: 9.00 at update 100, 1.13 at 800", "mixed 2 translates sentence", "resumed 1 time;"),
    ):
        assert fact in told
    assert block.count("<polyline") == 2
    # Two sets of packages, each listed once.
    assert html.count('<div id="software-') == 2 and 'href="#software-2"' in html
    assert "Run Big, seed 1" in html and "needs a GPU" in html
    # Of a run that has only begun nothing is known, and nothing leads to it.
    assert "Run Mixed, seed 4" in html and anchor(run_folder(tmp_path, "mixed", 4)) not in html


def test_a_runs_sample_is_a_sentence_that_is_shown_with_its_source(study: contents.ReportSpec, tmp_path: Path) -> None:
    html = report_page.render(study)
    block = part(html, f'<details class="run" id="{anchor(run_folder(tmp_path, "dsa", 3))}"', "</details>")
    links = re.findall(r'<dt>(\w+), <a href="#(sample-[^"]+)">no. (\d+)</a></dt><dd lang="fr">([^<]+)', block)
    assert [domain for domain, *_ in links] == ["Law", "News"]
    for domain, address, number, output in links:
        assert output == f"dsa 3 translates sentence {number} of {domain.lower()}"
        assert f'id="{address}"' in html


def test_claims_show_verdict_rule_and_numbers(study: contents.ReportSpec) -> None:
    html = report_page.render(study)
    first = part(html, 'id="claim-paper1999-claim-0"', "</details>")
    assert "reproduced</span>" in first and "Holds if" in first and 'href="#paper1999-table2"' in first
    assert "paper1999-table9" in first and 'href="#paper1999-table9"' not in first
    rows = re.findall(r"<tr>\n<th scope=\"row\".*?</tr>", first, re.DOTALL)
    cells = [[re.sub(r"<[^>]+>", "", one) for one in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]
    assert cells == [
        ["BLEU on Law: E/DC against Mixed", "11.50", "10.00", "1.50", "0.250", "3", "yes"],
        ["BLEU on News: E/DC against Mixed", "11.50", "11.00", "0.500", "0.250", "3", "open; so far"],
        ["needs Table 9", "–", "–", "–", "–", "–", "cannot be made"],
    ]
    # Where nothing could be compared the reason says it all.
    assert "<table" not in part(html, 'id="claim-paper1999-claim-3"', "</details>")


def test_the_audit_shows_one_paper_and_tells_the_kinds_of_findings_apart(study: contents.ReportSpec) -> None:
    html = report_page.render(study)
    shown = part(html, 'id="audit-paper1999"', "</section>")
    told = text_of("</style>" + shown)
    assert "40 of 41 comparisons agree. Findings: 1 inconsistent, 1 consistent, 1 noted without" in told
    assert re.findall(r"<summary>(.*?)</summary>", shown) == [
        "What does not agree (1)",
        "What was noted, but cannot be computed (1)",
        "What agrees (1)",
    ]
    assert "of another paper" not in html


def test_what_is_not_there_yet_is_said_with_the_reason(study: contents.ReportSpec) -> None:
    section = part(report_page.render(study), '<section id="paper-slides2001"', "</section>")
    assert "A verdict on the claims</strong> is missing: not made yet" in section
    assert "audit" not in section.lower()  # nobody audits it
    assert "slide 3: not part of this study" in section


def test_without_printed_numbers_nothing_is_rebuilt_and_there_is_no_overview(study: contents.ReportSpec) -> None:
    assert 'href="#overview"' in report_page.render(study)
    own = study.model_copy(update={"papers": (study.papers[1].model_copy(update={"items": ()}),)})
    html = report_page.render(own)
    assert 'id="paper-slides2001"' in html and "overview" not in html.partition("</style>")[2]


def test_a_file_of_another_make_is_refused_in_one_line(study: contents.ReportSpec) -> None:
    for path in (study.papers[0].audit, study.papers[0].claims):
        assert path is not None
        whole = path.read_text()
        for text in ("", "[]", '{"outcomes": 3, "findings": 3}', "{"):
            path.write_text(text)
            with pytest.raises(DataError, match="expected what `mdnmt ") as caught:
                report_page.render(study)
            assert "\n" not in str(caught.value) and str(path) in str(caught.value)
        path.write_text(whole)


def test_nothing_of_claims_and_audit_becomes_markup(study: contents.ReportSpec) -> None:
    paper = study.papers[0]
    for path in (paper.claims, paper.audit):
        assert path is not None
        text = path.read_text()
        for key in (
            "says",
            "rule_text",
            "reason",
            "where",
            "what",
            "printed",
            "recomputed",
            "comment",
            "on_other_text",
        ):
            text = re.sub(rf'"{key}": "[^"]*"', f'"{key}": {json.dumps(HOSTILE)}', text)
        path.write_text(text)
    html = report_page.render(study)
    assert html.count("<script>") == 1
    assert html.count("&lt;script&gt;alert(1)") > 20


@pytest.mark.parametrize(
    "points", [[(1, 9.0), (2, 3.0)], [(n, 500.0 / n) for n in range(1, 1000)], [(5, 2.0), (9, 2.0)]]
)
def test_a_curve_stays_in_its_box_and_ends_at_its_last_point(points: list[tuple[float, float]]) -> None:
    curve = draw("loss", points)
    assert curve is not None
    drawn = [tuple(map(float, pair.split(","))) for pair in curve.points.split()]
    assert 2 <= len(drawn) <= MOST_POINTS + 1
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in drawn)
    assert [x for x, _ in drawn] == sorted(x for x, _ in drawn)
    assert drawn[-1][0] == WIDTH - 3 and drawn[0][0] == 3
    # Down on the page is up in value.
    assert drawn[0][1] <= drawn[-1][1]


def test_a_curve_leaves_out_what_no_logarithm_has_and_tells_of_the_lowest() -> None:
    assert draw("loss", [(1, 2.0), (2, float("nan"))]) is None
    curve = draw("loss", [(1, 8.0), (2, float("inf")), (3, 1.0), (4, 2.0), (5, 0.0)])
    assert curve is not None and curve.words == "8.00 at update 1, 2.00 at 4; lowest 1.00"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "–"), (3, "3"), (0.0, "0.00"), (1.005, "1.01"), (-1.5, "−1.50"), (0.01234, "0.012"), (-0.5, "−0.500")),
        *((12345.6, "12\u202f346"), (0.0012345, "0.0012"), (-1e-7, "−1e−07")),
    ],
)
def test_numbers_of_any_size_are_told_apart(value: float | None, text: str) -> None:
    assert any_number(value).text == text


def test_options_are_one_line() -> None:
    assert (
        options({"norm": "pre", "betas": [0.9, 0.98], "patience": None}) == "norm pre, betas [0.9, 0.98], patience null"
    )


def test_rows_that_name_no_runs_lead_to_those_that_were_measured(study: contents.ReportSpec, tmp_path: Path) -> None:
    table = study.tables[0]
    grid = read_grid(table.data)
    bare = tuple(row.model_copy(update={"runs": ()}) for row in grid.rows)
    table.data.write_text(grid.model_copy(update={"rows": bare}).model_dump_json())
    runs = tuple(ReportRun(method=name, label=name, seed=1, folder=run_folder(tmp_path, name, 1)) for name in SYSTEMS)
    html = report_page.render(study.model_copy(update={"tables": (table.model_copy(update={"runs": runs}),)}))
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', part(html, 'id="paper1999-table2"', "</table>"))
    links = [re.findall(r'href="#([^"]+)"', row) for row in rows]
    assert links == [*([anchor(run_folder(tmp_path, name, 1))] for name in SYSTEMS), []]


def test_a_figures_numbers_are_there_as_text_and_what_is_left_out_is_said(study: contents.ReportSpec) -> None:
    figure = part(report_page.render(study), 'id="paper1999-figure3"', '<div class="item"')
    assert 'alt="Two lines that fall."' in figure
    assert figure.count("<td>final bleu</td>") == MOST_NUMBERS
    assert f"{120 - MOST_NUMBERS} more are in" in figure


def test_validation_sentences_that_are_also_test_sentences_are_counted(study: contents.ReportSpec) -> None:
    data = part(report_page.render(study), '<section id="data"', "</section>")
    assert "Also in test" in data
    lines = re.findall(r"<tr>\n<th scope=\"row\">(\w+)</th>\n<td>(\w+)</td>.*?>([^<]*)</td>\n</tr>", data, re.DOTALL)
    assert [line for line in lines if line[1] != "train"] == [
        *(("Law", "valid", "6"), ("Law", "test", "–"), ("News", "valid", "0"), ("News", "test", "–")),
    ]


def test_the_order_of_a_paper_is_results_then_figures_then_what_explains_them() -> None:
    kinds = {"a": "curves", "b": "architecture"}
    figures = {key: {"kind": kind, "title": key, "caption": "", "methods": ["mixed"]} for key, kind in kinds.items()}
    tables = {
        "one": {"kind": "scores", "title": "one", "rows": [{"group": "G", "method": "mixed"}], "where": "Table 1"},
        "two": {"kind": "notation", "title": "two"},
    }
    paper = PaperConfig.model_validate({"title": "P", "citation": "C", "tables": tables, "figures": figures})
    made = SimpleNamespace(task="t")
    shown = SimpleNamespace(tables={"p-one": made, "q-two": made}, figures={"p-b": made})
    task = SimpleNamespace(config=SimpleNamespace(of="p", pair="EN-FR", domains={}))
    study = SimpleNamespace(papers={"p": paper}, config=shown, tasks={"t": task}, claims={"p": {}})
    places = SimpleNamespace(claims=lambda name: f"{name}.json", audit=lambda name: None)
    found = paper_section(cast(Study, study), "p", cast(ResultPaths, places))
    assert [(item.kind, item.where, item.title, item.id) for item in found.items] == [
        ("table", "Table 1", "one", "p-one"),
        ("figure", "", "a", None),
        ("table", "", "two", None),
        ("figure", "", "b", "p-b"),
    ]
    assert (found.claims, found.audit) == (Path("p.json"), None)


def test_the_same_study_gives_the_same_page_but_for_when_it_was_made(
    study: contents.ReportSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = report_page.provenance.collect()
    monkeypatch.setattr(report_page.provenance, "collect", lambda: made)
    assert report_page.render(study) == report_page.render(study)


def test_a_run_shows_its_scores_by_comet_beside_the_others(study: contents.ReportSpec) -> None:
    html = report_page.render(study)
    assert "70.25" in text_of(html) and "model:a" in text_of(html)


def test_the_small_curves_leave_the_training_sample_out(tmp_path: Path) -> None:
    rows = ["update\tsplit\tdomain\tloss\tppl"]
    rows += [f"{update}\tvalid\tall\t4\t{100 - update}\n{update}\ttrain-sample\tall\t3\t7" for update in (10, 20)]
    (tmp_path / "curves.tsv").write_text("".join(f"{row}\n" for row in rows))
    [curve] = read_curves(tmp_path / "curves.tsv")
    assert curve.name == "Validation perplexity" and curve.words == "90.00 at update 10, 80.00 at 20"
