"""The tables: numbers against an independent computation, all formats, hostile text, missing rows."""

import csv
import io
import json
import re
import statistics
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt.errors import ConfigError, DataError
from mdnmt.exhibits.grid import mark
from mdnmt.exhibits.registry import parse_figure, parse_table
from mdnmt.exhibits.rows import ResourceRow
from mdnmt.exhibits.seed_scores import task_ceilings
from mdnmt.exhibits.tables.resources import ResourcesTable
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.report import render_html, render_latex, render_text
from mdnmt.report.write_table import write_table

HOSTILE = "<script>alert(1)</script>|&%_\"'\\"
DOMAINS = ("law", "news")


def write_scores(folder, name, values, sentences=500, signature="nrefs:1|tok:13a"):
    domains = {
        domain: {
            metric: {"score": score * (1 if metric == "bleu" else 2), "signature": signature}
            for metric in ("bleu", "chrf")
        }
        | {"num_sentences": sentences}
        for domain, score in values.items()
    }
    path = Path(folder) / f"{name}.json"
    path.write_text(json.dumps({"domains": domains, "mean": {}}))
    return str(path)


def table_spec(rows, **more):
    columns = [{"name": domain, "label": domain.title()} for domain in DOMAINS]
    return parse_table(json.dumps({"kind": "scores", "title": "T", "columns": columns, "rows": rows, **more}))


def row(label, files, group="G", missing=None):
    runs = [{"scores": path, "seed": seed} for seed, path in enumerate(files, 1)]
    return {"group": group, "label": label, "method": label, "runs": runs, "missing": missing}


def shown(value):
    return str(Decimal(repr(value)).quantize(Decimal("0.01"), ROUND_HALF_UP))


SCORES = st.floats(0.5, 60).map(lambda x: round(x, 3))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda seeds: st.lists(
            st.lists(st.tuples(SCORES, SCORES), min_size=seeds, max_size=seeds), min_size=1, max_size=4
        )
    ),
    st.lists(
        st.tuples(st.floats(-3, 3), st.floats(0, 0.2), st.sampled_from(["better", "worse", None])),
        min_size=8,
        max_size=8,
    ),
)
def test_every_number_equals_an_independent_computation(systems, tests):
    with tempfile.TemporaryDirectory() as folder:
        rows, significance = [], {"baseline": "s0", "num_resamples": 1000, "seed": 1, "systems": {}}
        for number, seeds in enumerate(systems):
            files = [
                write_scores(folder, f"{number}-{k}", dict(zip(DOMAINS, pair, strict=True)))
                for k, pair in enumerate(seeds)
            ]
            rows.append(row(f"s{number}", files))
            if number:
                significance["systems"][f"s{number}"] = {
                    domain: {"bleu": dict(zip(("delta", "p", "verdict"), tests[2 * number + k - 2], strict=True))}
                    for k, domain in enumerate(DOMAINS)
                }
        path = Path(folder) / "significance.json"
        path.write_text(json.dumps(significance))
        spec = table_spec(rows, metrics=["bleu"], baseline="s0", significance=str(path))
        grid = ScoreTable.build(spec)

    def numbers(seeds, column):
        return [pair[column] if column < 2 else sum(pair) / 2 for pair in seeds]

    means = [[statistics.fmean(numbers(seeds, column)) for column in range(3)] for seeds in systems]
    for number, seeds in enumerate(systems):
        for column in range(3):
            cell = grid.rows[number].cells[column]
            values = numbers(seeds, column)
            assert cell.mean == pytest.approx(means[number][column], abs=1e-9)
            if len(seeds) > 1:
                assert cell.sd == pytest.approx(statistics.stdev(values), abs=1e-7)
            else:
                assert cell.sd is None and cell.spread is None
            top = max(means[other][column] for other in range(len(systems)))
            assert cell.best == (len(systems) > 1 and cell.text == shown(round(top, 9)))
            # The verdict decides, whatever the mean delta and p are.
            verdict = tests[2 * number + column - 2][2] if number and column < 2 else None
            assert cell.verdict == verdict and cell.star == (verdict == "better")


def test_average_is_made_of_unrounded_scores(tmp_path):
    grid = ScoreTable.build(table_spec([row("a", [write_scores(tmp_path, "a", {"law": 10.004, "news": 10.004})])]))
    assert [cell.text for cell in grid.rows[0].cells[:3]] == ["10.00", "10.00", "10.00"]
    grid = ScoreTable.build(table_spec([row("a", [write_scores(tmp_path, "b", {"law": 10.004, "news": 10.006})])]))
    assert [cell.text for cell in grid.rows[0].cells[:3]] == ["10.00", "10.01", "10.01"]


def test_one_seed_is_said_to_have_no_spread_and_three_have_one(tmp_path):
    files = [write_scores(tmp_path, f"a{k}", {"law": 10.0 + k, "news": 20.0}) for k in range(3)]
    one = ScoreTable.build(table_spec([row("a", files[:1])]))
    three = ScoreTable.build(table_spec([row("a", files)]))
    assert any(note.startswith("1 seed: no spread") for note in one.notes)
    assert any("standard deviation over 3 seeds" in note for note in three.notes)
    assert three.rows[0].cells[0].spread == "1.00"
    assert "\u00b1 1.00" in render_text.to_markdown(three)


def test_an_untrained_row_counts_no_seed(tmp_path):
    copy = row("copy", [write_scores(tmp_path, "c", {"law": 1.0, "news": 2.0})])
    copy["runs"][0]["seed"] = None
    grid = ScoreTable.build(table_spec([copy]))
    assert grid.rows[0].cells[0].num_seeds == 0
    assert not any("seed" in note for note in grid.notes)


def test_what_trains_nothing_is_never_bold(tmp_path):
    copy = row("copy", [write_scores(tmp_path, "c", {"law": 9.0, "news": 9.0})])
    copy["runs"][0]["seed"] = None
    trained = [
        row(name, [write_scores(tmp_path, name, {"law": score, "news": score})]) for name, score in (("a", 1), ("b", 2))
    ]
    grid = ScoreTable.build(table_spec([copy, *trained]))
    assert [[cell.best for cell in each.cells[:2]] for each in grid.rows] == [[False] * 2, [False] * 2, [True] * 2]
    assert "Bold: the best trained system of its column." in grid.notes
    alone = ScoreTable.build(table_spec([copy, trained[0]]))
    assert not any(cell.best for each in alone.rows for cell in each.cells)


def significance_file(tmp_path, systems):
    path = tmp_path / "significance.json"
    path.write_text(json.dumps({"baseline": "a", "num_resamples": 1000, "seed": 1, "alpha": 0.01, "systems": systems}))
    return str(path)


def test_the_star_is_explained_only_where_something_was_tested(tmp_path):
    rows = [row(name, [write_scores(tmp_path, name, {"law": 1.0, "news": 2.0})]) for name in ("a", "b")]
    untested = significance_file(tmp_path, {})
    for shown_rows in (rows, rows[:1]):
        grid = ScoreTable.build(table_spec(shown_rows, baseline="a", significance=untested))
        assert grid.alpha is None
        assert not any(note.startswith("*") for note in grid.notes)
        assert ("No significance test was made." in grid.notes) == (len(shown_rows) == 2)
    test = {"bleu": {"delta": 0.1, "p": 0.5, "seeds": 1, "verdict": None}}
    tested = significance_file(tmp_path, {"b": {"law": test}})
    assert not any(
        note.startswith("*") for note in ScoreTable.build(table_spec(rows[:1], baseline="a", significance=tested)).notes
    )
    grid = ScoreTable.build(table_spec(rows, baseline="a", significance=tested))
    assert any(note.startswith("* better than a") and "p\u00a0<\u00a00.01" in note for note in grid.notes)
    assert grid.alpha == 0.01


def test_tables_of_two_tasks_have_titles_of_their_own(tmp_path):
    rows = [row("a", [write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0})])]
    assert ScoreTable.build(table_spec(rows, task="English to German")).title == "T (English to German)"
    assert resource_spec(None, task="English to German").build().title == "R (English to German)"


def test_missing_rows_show_a_dash_and_the_reason_in_every_format(tmp_path):
    reason = "needs UM-Corpus: register & wait"
    rows = [row("a", [write_scores(tmp_path, "a", {"law": 10.0, "news": 12.0})]), row("b", [], missing=reason)]
    grid = ScoreTable.build(table_spec(rows))
    assert all(cell.mean is None for cell in grid.rows[1].cells)
    assert grid.reasons == (reason,)
    markdown, latex, html = render_text.to_markdown(grid), render_latex.to_latex(grid), render_html.to_html(grid)
    assert "b (a)" in markdown and "needs UM-Corpus: register &amp; wait" in markdown
    assert r"b$^{\mathrm{a}}$ & --" in latex and r"register \& wait" in latex
    assert '<sup class="mark">a</sup>' in html and "register &amp; wait" in html
    lines = list(csv.DictReader(io.StringIO(render_text.to_csv(grid))))
    assert {line["missing"] for line in lines if line["label"] == "b"} == {reason}
    assert {line["mean"] for line in lines if line["label"] == "b"} == {""}


def test_a_system_scored_on_some_domains_has_no_average(tmp_path):
    grid = ScoreTable.build(table_spec([row("a", [write_scores(tmp_path, "a", {"law": 10.0})])]))
    assert [cell.text for cell in grid.rows[0].cells[:3]] == ["10.00", "\u2013", "\u2013"]
    assert grid.reasons == ("no score on News",)


def test_csv_is_long_and_in_full_precision(tmp_path):
    third = 10 / 3
    grid = ScoreTable.build(table_spec([row("a", [write_scores(tmp_path, "a", {"law": third, "news": 1.0})])]))
    lines = list(csv.DictReader(io.StringIO(render_text.to_csv(grid))))
    assert tuple(lines[0]) == render_text.CSV_FIELDS
    assert len(lines) == 6
    assert float(lines[0]["mean"]) == third
    assert [line["column"] for line in lines[:3]] == ["law", "news", "avg"]


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.text, self.seen = [], "", []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_hostile_labels_stay_text(tmp_path):
    rows = [row(HOSTILE, [write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0})], group=HOSTILE)]
    rows.append(row("x", [], missing=HOSTILE))
    grid = ScoreTable.build(table_spec(rows, notes=[HOSTILE]).model_copy(update={"title": HOSTILE}))
    html = render_html.to_html(grid)
    parser = Balanced()
    parser.feed(html)
    assert parser.stack == [] and "script" not in parser.seen
    assert parser.text.count(HOSTILE) >= 5  # caption, group, label, reason, note
    markdown = render_text.to_markdown(grid)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if line.startswith("|")}
    assert len(widths) == 1
    assert not re.search(r"(?<!\\)<", markdown)
    assert not re.search(r"(?<!\\)%", render_latex.to_latex(grid).split("\n", 1)[1])


def test_html_is_accessible(tmp_path):
    html = render_html.to_html(
        ScoreTable.build(table_spec([row("a", [write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0})])]))
    )
    for needed in ("<caption>", 'scope="col"', 'scope="colgroup"', 'scope="row"', 'scope="rowgroup"', "data-sort="):
        assert needed in html
    assert 'tabindex="0" role="region" aria-label=' in html


def test_rows_of_other_test_sets_are_refused(tmp_path):
    rows = [
        row("a", [write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0})]),
        row("b", [write_scores(tmp_path, "b", {"law": 1.0, "news": 2.0}, sentences=499)]),
    ]
    with pytest.raises(DataError, match="499 test sentences for law, but 500"):
        ScoreTable.build(table_spec(rows))


def test_scores_made_in_different_ways_are_cautioned_about(tmp_path):
    rows = [
        row("a", [write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0})]),
        row("b", [write_scores(tmp_path, "b", {"law": 1.0, "news": 2.0}, signature="tok:none")]),
    ]
    assert any(
        note.startswith("Caution, scored in different ways") for note in ScoreTable.build(table_spec(rows)).notes
    )


def test_marks_go_on_after_z():
    assert [mark(n) for n in (0, 25, 26, 27, 52)] == ["a", "z", "aa", "ab", "ba"]


def measured(tmp_path, rows):
    path = tmp_path / "measure.json"
    path.write_text(json.dumps({"hardware": {"cpu": "CPU_1", "cores": 2, "device": "cpu"}, "rows": rows}))
    return str(path)


def resource_spec(measure, **more):
    rows = [{"group": "G", "label": name, "method": name} for name in ("mixed", "edc", "gone")]
    rows[2]["missing"] = "needs weights"
    return parse_table(
        json.dumps({"kind": "resources", "title": "R", "rows": rows, "measure": measure, "baseline": "mixed", **more})
    )


def test_resources_are_relative_to_the_baseline(tmp_path):
    rows = {
        "mixed": {"num_parameters": 2_913_000, "train_tokens_per_second": 9000, "repeats": 3},
        "edc": {"num_parameters": 4_400_000, "train_tokens_per_second": 6000, "repeats": 3},
    }
    grid = resource_spec(measured(tmp_path, rows)).build()
    assert [header.key for header in grid.headers] == [
        "num_parameters", "train_tokens_per_second", "train_tokens_per_second_relative",
    ]  # fmt: skip
    assert [cell.text for cell in grid.rows[1].cells] == ["4.40", "6\u202f000", "0.67\u00d7"]
    assert grid.rows[1].cells[2].mean == pytest.approx(2 / 3)
    assert grid.reasons == ("needs weights",)
    assert any("CPU_1, 2 cores" in note for note in grid.notes)
    assert r"CPU\_1" in render_latex.to_latex(grid)


def test_resources_without_measurement_say_so():
    grid = resource_spec(None, missing="not measured here").build()
    assert grid.reasons == ("not measured here", "needs weights")
    assert all(cell.mean is None for each in grid.rows for cell in each.cells)


def test_every_format_is_written(tmp_path):
    path = write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0})
    paths = {ending: tmp_path / f"out.{ending}" for ending in ("csv", "md", "tex", "html", "json")}
    write_table(table_spec([row("a", [path])]), paths)
    assert rf"\label{{tab:{paths['tex'].stem}}}" in paths["tex"].read_text()
    assert all(path.stat().st_size > 50 for path in paths.values())


def test_a_wrong_spec_is_one_line():
    with pytest.raises(ConfigError, match="--spec: unknown key 'heading'"):
        parse_table('{"kind": "scores", "heading": "x"}')
    with pytest.raises(ConfigError, match="--spec: not JSON"):
        parse_figure("not json")


@pytest.mark.parametrize(
    ("busy", "words"), [(3.0, "to itself"), (60.0, "60 % of the machine"), (None, "one run after")]
)
def test_a_busy_machine_is_said_under_the_resources(tmp_path: Path, busy: float | None, words: str) -> None:
    measure = tmp_path / "measure.json"
    row = {"num_parameters": 10, "train_tokens_per_second": 5.0}
    hardware = {"cpu": "x", "cores": 2, "device": "cpu", "busy_percent": busy}
    measure.write_text(json.dumps({"hardware": hardware, "rows": {"mixed": row}}))
    rows = (ResourceRow(group="", label="Mixed", method="mixed"),)
    grid = ResourcesTable(title="t", rows=rows, measure=measure).build()
    text = " ".join(str(note) for note in grid.notes)
    assert words in text
    assert (busy == 3.0) == ("to itself" in text)


def test_the_footnote_says_which_text_it_was(tmp_path):
    def scored(name, train):
        path = Path(write_scores(tmp_path, name, dict.fromkeys(DOMAINS, 3.0)))
        value = json.loads(path.read_text())
        for domain in DOMAINS:
            value["domains"][domain]["splits"] = {"train": train * 16, "valid": "b" * 16, "test": "c" * 16}
        path.write_text(json.dumps(value))
        return str(path)

    def identity(*files):
        rows = [row(str(number), [file]) for number, file in enumerate(files)]
        return [note for note in ScoreTable.build(table_spec(rows)).notes if "entity of" in note]

    same = "aaaaaaaa/bbbbbbbb/cccccccc"
    assert identity(scored("one", "a"), scored("two", "a")) == [
        f"Identity of train/valid/test: Law {same}; News {same}."
    ]
    (caution,) = identity(scored("one", "a"), scored("two", "d"))
    assert caution.startswith("Caution, several texts: identity of") and f"Law {same} and dddddddd/" in caution
    assert identity(write_scores(tmp_path, "old", dict.fromkeys(DOMAINS, 3.0))) == []


def test_what_is_known_of_a_printed_metric_stands_below_the_table(tmp_path):
    files = [write_scores(tmp_path, "a", {"law": 20.0, "news": 30.0})]
    spec = table_spec([row("A", files)], metrics=["bleu"], metric_notes={"bleu": "tokenised & unknown"})
    grid = ScoreTable.build(spec)
    assert "Published numbers beside BLEU: tokenised & unknown" in grid.notes
    assert r"tokenised \& unknown" in render_latex.to_latex(grid)


def test_the_ceiling_of_detokenising_is_a_note(tmp_path):
    path = Path(write_scores(tmp_path, "a", {"law": 1.0, "news": 2.0}))
    found = json.loads(path.read_text())
    for name, value in (("law", 92.345), ("news", 100.0)):
        found["domains"][name]["ceiling"] = {"bleu": value, "ter": 3.0}
    path.write_text(json.dumps(found))
    notes = ScoreTable.build(table_spec([row("a", [str(path)])])).notes
    assert any(note.startswith("A perfect system") and "Law 92.3, News 100.0" in note for note in notes)
    assert not any("3.0" in note for note in notes)  # the table has no TER
    assert task_ceilings(tmp_path) == {}
    (tmp_path / "copied-1").mkdir()
    path.rename(tmp_path / "copied-1/scores.json")
    assert task_ceilings(tmp_path)["law"] == {"bleu": 92.345, "ter": 3.0}


def test_the_development_column_stands_first_and_outside_the_average(tmp_path):
    files = [write_scores(tmp_path, f"t{seed}", {"law": 10.0 + seed, "news": 20.0}) for seed in (1, 2)]
    for seed in (1, 2):
        as_one = {"bleu": {"score": 30.0 + seed, "signature": "s"}}
        (tmp_path / f"valid{seed}.json").write_text(json.dumps({"domains": {}, "concatenated": as_one}))
    found = row("a", files)
    for seed, run in enumerate(found["runs"], 1):
        run["development"] = str(tmp_path / f"valid{seed}.json")
    found["printed"] = {"bleu/dev": {"value": 29.72, "raw": "29.72"}}
    grid = ScoreTable.build(table_spec([found, row("b", files)], metrics=["bleu"], development=True))
    assert [header.label for header in grid.headers] == ["Dev.", "Law", "News", "Avg."]
    cells = grid.rows[0].cells
    assert [cell.text for cell in cells] == ["31.50", "11.50", "20.00", "15.75"]
    assert cells[0].values == (31.0, 32.0) and cells[0].published_text == "29.72"
    assert grid.rows[1].cells[0].mean is None  # without scores of validation text
    assert any(note.startswith("Dev.: the validation sentences of all domains, scored as one") for note in grid.notes)
    (tmp_path / "valid2.json").write_text(json.dumps({"domains": {}}))
    with pytest.raises(DataError, match=r"valid2\.json: expected scores of validation text as one"):
        ScoreTable.build(table_spec([found], metrics=["bleu"], development=True))


def test_a_table_of_validation_text_says_so(tmp_path):
    spec = table_spec([row("a", [write_scores(tmp_path, "t", {"law": 10.0, "news": 20.0})])], split="valid")
    grid = ScoreTable.build(spec)
    assert grid.split == "valid"
    assert any(note.startswith("Validation sentences: Law 500") for note in grid.notes)
