"""The page: whole, honest, self-contained, and there whatever is missing."""

import json
import re
from html.parser import HTMLParser

import pytest
from exhibit_files import draw

from mdnmt.errors import DataError
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header
from mdnmt.report import contents, report_page, sample_translations, table_summary
from mdnmt.report.runs_table import COLUMNS
from mdnmt.report.sections import runs

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
VOID = {"meta", "img", "br", "link", "col", "hr", "input"}
DOMAINS = ({"name": "law", "label": "Law"}, {"name": "news", "label": "News"})


class Page(HTMLParser):
    """Check that tags are balanced and note ids, pictures, links and everything that loads."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.pictures, self.links, self.loads, self.text = [], [], [], [], [], ""
        self.scripts = 0
        self.feed(html)
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag not in VOID:
            self.stack.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "img":
            self.pictures.append(values)
        if tag == "a":
            self.links.append(values.get("href", ""))
        self.scripts += tag == "script"
        assert not [name for name in values if name.startswith("on") or name == "style"]
        self.loads += [values[name] for name in ("src", "srcset", "poster", "data", "action") if values.get(name)]
        self.loads += [values["href"] for _ in (0,) if tag in {"link", "base"}]

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text += data


def check(html):
    """Assert what holds of every page, and return it parsed."""
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    assert all(load.startswith("data:") for load in page.loads)
    assert all(picture.get("alt", "").strip() for picture in page.pictures)
    assert page.scripts == 1
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert inside and set(inside) <= set(page.ids)
    style = html.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style
    for landmark in ("<main", "<nav", "<header", "<footer", 'class="skip"', 'lang="en"', "width=device-width"):
        assert landmark in html
    assert "default-src &#39;none&#39;" in html
    return page


def grid(rows, baseline="mixed", alpha=0.05):
    headers = [Header(key=key, label=key.title(), metric="bleu", group="BLEU") for key in ("law", "news", "avg")]
    built = [
        GridRow(group="G", label=label, method=label.lower(), cells=tuple(Cell(**cell) for cell in cells))
        for label, cells in rows
    ]
    label = next((row.label for row in built if row.method == baseline), None)
    return Grid(
        kind="scores", title="Results", headers=tuple(headers), rows=tuple(built),
        baseline=baseline, baseline_label=label, alpha=alpha,
    )  # fmt: skip


def cell(mean, seeds=1, **more):
    return {"text": f"{mean:.2f}", "mean": mean, "num_seeds": seeds, **more}


@pytest.fixture
def filled(tmp_path):
    """Return the spec of a page that has a bit of everything, with hostile text wherever text goes."""
    task = tmp_path / "task"
    (task / "text").mkdir(parents=True)
    lines = [f"{HOSTILE} one two three four five six {n}" for n in range(9)]
    side = {"tokens": 10, "types": 5, "pieces": 12, "pieces_per_token": 1.2, "oov_rate": 0.01, "unseen_word_rate": 0.1}
    split = {"sentences": 9, "source": side, "target": side}
    stats = {"domains": {"law": {"train": split, "test": split}}}
    counts = {"source": 3, "target": 2, "pair": 1, "removed": 4, "left": 0}
    (task / "stats.json").write_text(json.dumps(stats))
    (task / "leakage.json").write_text(json.dumps({"domains": {"law": {"valid": counts, "test": counts}}}))
    for lang in ("en", "fr"):
        (task / "text" / f"test.law.{lang}").write_text("".join(f"{line}\n" for line in lines))
    hypotheses = tmp_path / "hyp"
    hypotheses.mkdir()
    (hypotheses / "hyp.law.txt").write_text("".join(f"{line} out\n" for line in lines))
    rows = [("Mixed", [cell(10), cell(11), cell(10.5)]), (HOSTILE, [cell(12), cell(11.5), cell(11.75)])]
    (tmp_path / "scores.json").write_text(grid(rows).model_dump_json())
    figure = {"kind": "tsne", "title": HOSTILE, "systems": [{"label": "x", "missing": HOSTILE}]}
    draw(figure, tmp_path / "f.png")
    curve = tmp_path / "curves.tsv"
    names = ["update", "epoch", "split", "domain", "loss", "nll", "ppl", "accuracy", "bleu", "learning_rate"]
    curve.write_text("\t".join(names) + "\n1\t1\tvalid\tall\t3\t3\t20\t0.1\t2\t0.1\n")
    drawn = {
        "kind": "curves",
        "title": "C",
        "systems": [{"label": HOSTILE, "runs": [{"curves": str(curve), "seed": 1}]}],
    }
    draw(drawn, tmp_path / "c.png")
    run = {
        "label": HOSTILE, "method": "m", "seed": 1, "fingerprint": "ab12cd34", "updates": 800, "seconds": 61.0,
        "resumes": 2, "num_parameters": 2_900_000, "model_sha256": "9f" * 32, "spec": {"task_fingerprint": "77"},
        "provenance": {"cpu": HOSTILE, "cores": 2},
    }  # fmt: skip
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(json.dumps(run))
    runs = "task\tmethod\tlabel\tdomains\tseed\tfingerprint\trun_dir\ttest_dir\tstate\treason\n"
    runs += f"t\tm\t{HOSTILE}\tlaw\t1\tab12cd34\t{tmp_path / 'run'}\t\tdone\t\n"
    runs += "t\tdsa\tDSA\tlaw\t1\tffffffff\t\t\tmissing\tneeds UM-Corpus\n"
    (tmp_path / "runs.tsv").write_text(runs)
    return {
        "study": HOSTILE, "title": HOSTILE, "introduction": HOSTILE, "commands": [HOSTILE], "partial": True,
        "tables": [{"id": "scores", "title": HOSTILE, "kind": "scores", "data": str(tmp_path / "scores.json")}],
        "figures": [{"id": f"fig-{name}", "title": HOSTILE, "kind": kind, "png": str(tmp_path / f"{name}.png"),
                     "caption": HOSTILE} for name, kind in (("f", "tsne"), ("c", "curves"), ("none", "tsne"))],
        "tasks": [{"name": "t", "label": HOSTILE, "directory": str(task), "source_lang": "en", "target_lang": "fr",
                   "domains": DOMAINS, "systems": [(HOSTILE, hypotheses)]}],
        "corpora": [{"name": "c", "label": HOSTILE, "licence": HOSTILE, "citation": HOSTILE,
                     "url": "javascript:alert(1)", "sha256": "ab" * 32}],
        "external": [{"label": HOSTILE, "task": HOSTILE, "provenance": f"{HOSTILE}\nsecond line",
                      "redistributable": False, "files": [[f"opus/{HOSTILE}", "cd" * 32]]}],
        "runs": str(tmp_path / "runs.tsv"),
        "missing": [(HOSTILE, HOSTILE)],
    }  # fmt: skip


def test_the_full_page_is_whole_and_nothing_of_the_text_is_markup(filled):
    html = report_page.render(contents.ReportSpec.model_validate(filled))
    page = check(html)
    assert page.text.count(HOSTILE) > 20
    assert not [link for link in page.links if link.startswith("javascript")]
    assert len(page.pictures) == 1  # the curves; the figure without data is said to be missing
    for shown in ("ab12cd34", "9f9f9f9f9f9f", "1 min 1 s", "needs UM-Corpus", "1 of 2 done", "second line", "cd" * 32):
        assert shown in page.text
    assert "external" in page.ids and "#external" in page.links


def test_the_page_renders_with_everything_missing(tmp_path):
    spec = {
        "study": "demo", "title": "Demo",
        "tables": [{"id": "scores", "title": "S", "kind": "scores", "data": str(tmp_path / "no.json")},
                   {"id": "cost", "title": "R", "kind": "resources", "data": str(tmp_path / "no.json"),
                    "missing": "not measured"}],
        "figures": [{"id": "f", "title": "F", "kind": "curves", "png": str(tmp_path / "no.png"), "caption": ""}],
        "tasks": [{"name": "t", "label": "T", "directory": str(tmp_path / "no"), "source_lang": "en",
                   "target_lang": "fr", "domains": DOMAINS, "systems": [("a", "no")]}],
        "corpora": [{"name": "c", "label": "C"}],
        "runs": str(tmp_path / "no.tsv"), "measure": str(tmp_path / "no"),
    }  # fmt: skip
    page = check(report_page.render(contents.ReportSpec.model_validate(spec)))
    for reason in ("not made yet", "not measured", "No run has been made yet"):
        assert reason in page.text
    assert "external" not in check(report_page.render(contents.ReportSpec(study="x", title="X"))).ids


def test_a_table_of_another_make_is_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"kind": "scores"}')
    table = contents.ReportTable(id="x", title="x", kind="scores", data=tmp_path / "x.json")
    with pytest.raises(DataError, match="expected a table written by `mdnmt exhibit`"):
        report_page.render(contents.ReportSpec(study="x", title="X", tables=(table,)))


def test_reading_names_the_best_and_what_the_test_says():
    rows = [
        ("Mixed", [cell(10.0), cell(11.0), cell(10.5)]),
        ("EDC", [cell(10.8, delta=0.8, p=0.03, verdict="better"), cell(11.2, delta=0.2, p=0.4), cell(11.0)]),
    ]
    told = table_summary.summarise(grid(rows))
    assert told.headline == "On average over the domains, EDC scores highest: 11.00 BLEU, 0.50 above Mixed."
    points = dict(told.points)
    assert "0.80 above Mixed, a significant difference (p\u00a0=\u00a00.030)" in points["Law"]
    assert "which may be chance" in points["News"]
    assert "EDC is better on Law" in told.summary and "News" not in told.summary
    assert any("trained once" in caveat for caveat in told.caveats)
    assert any("2 comparisons" in caveat for caveat in told.caveats)


def test_reading_claims_nothing_where_nothing_was_tested():
    rows = [("Mixed", [cell(10.0), cell(11.0), cell(10.5)]), ("EDC", [cell(10.8), cell(11.0), cell(10.9)])]
    told = table_summary.summarise(grid(rows, alpha=None))
    assert "was not tested" in dict(told.points)["Law"]
    assert dict(told.points)["News"].startswith("Mixed and EDC share the highest score")
    assert told.summary == ""
    assert "significant" not in told.headline + "".join(text for _, text in told.points)


def test_reading_warns_where_the_spread_covers_the_difference():
    rows = [
        ("Mixed", [cell(10.0, 3), cell(10.0, 3), cell(10.0, 3, sd=0.5)]),
        ("EDC", [cell(10.3, 3), cell(10.3, 3), cell(10.3, 3, sd=0.1)]),
    ]
    assert "do not read it as a difference" in table_summary.summarise(grid(rows)).headline


def test_reading_tells_of_losses_and_of_a_winning_baseline():
    worse = cell(9.0, delta=-1.0, p=0.001, verdict="worse")
    rows = [("Mixed", [cell(10.0), cell(11.0), cell(10.5)]), ("EDC", [worse, worse, cell(9.0)])]
    told = table_summary.summarise(grid(rows))
    assert "Mixed, the baseline, has the highest score" in dict(told.points)["Law"]
    assert "EDC is worse on Law and News" in told.summary
    assert told.headline.startswith("On average over the domains, Mixed scores highest: 10.50 BLEU, 1.50 above EDC")


def test_reading_goes_by_the_verdict_not_by_mean_and_p():
    up, down = cell(11.0, 3, delta=1.0, p=0.01), cell(9.0, 3, delta=-1.0, p=0.01)
    told = table_summary.summarise(grid([("Mixed", [cell(10.0, 3)] * 3), ("EDC", [up, down, cell(10.1, 3)])]))
    assert told.summary == "No system differs significantly from Mixed on any domain."
    assert "1.00 above Mixed, but not significantly so with every seed" in dict(told.points)["Law"]


def test_reading_does_not_hide_that_copying_scores_higher():
    rows = [("Copy", [cell(12, 0), cell(1, 0), cell(6.5, 0)]), ("Mixed", [cell(10), cell(11), cell(10.5)])]
    told = table_summary.summarise(grid([*rows, ("EDC", [cell(9), cell(9), cell(9)])]))
    assert dict(told.points)["Law"].endswith("Higher with nothing learnt: Copy (12.00).")
    assert "nothing learnt" not in dict(told.points)["News"] + told.headline


def test_reading_of_an_empty_table_says_so():
    assert table_summary.summarise(grid([("Mixed", [{}, {}, {}])])).headline == "No system has been scored yet."


def task_with(tmp_path, sources, outputs):
    (tmp_path / "text").mkdir()
    for lang in ("en", "fr"):
        (tmp_path / "text" / f"test.law.{lang}").write_text("".join(f"{line}\n" for line in sources))
    (tmp_path / "hyp.law.txt").write_text("".join(f"{line}\n" for line in outputs))
    return contents.ReportTask(
        name="t",
        label="T",
        directory=tmp_path,
        source_lang="en",
        target_lang="fr",
        domains=(),
        systems=(("a", tmp_path),),
    )


def test_samples_are_seeded_of_medium_length_and_within_what_was_decoded(tmp_path):
    sources = [" ".join([f"w{n}"] * (n % 30 + 1)) for n in range(200)]
    task = task_with(tmp_path, sources, [f"out {n}" for n in range(100)])
    found = sample_translations.collect(task, "law")
    assert found == sample_translations.collect(task, "law")
    assert len(found) == 3 and [s.number for s in found] == sorted(s.number for s in found)
    for sample in found:
        assert sample.number <= 100 and 8 <= len(sample.source.split()) <= 25
        assert sample.outputs == [("a", f"out {sample.number - 1}")]
    assert sample_translations.choose(sources, "law") != sample_translations.choose(sources, "news")
    assert sample_translations.collect(task, "news") == []


def test_samples_fall_back_to_any_length(tmp_path):
    task = task_with(tmp_path, ["a b", "", "c d"], ["x", "y", "z"])
    assert {s.number for s in sample_translations.collect(task, "law")} == {1, 3}


def study_runs(tmp_path, rows):
    """Write runs.tsv, and run.json as the trainer does (without a label) for each row with `updates`."""
    lines = ["\t".join(COLUMNS)]
    for row in rows:
        if "run_dir" in row:
            directory = tmp_path / row["run_dir"]
            directory.mkdir(parents=True, exist_ok=True)
            row = row | {"run_dir": str(directory)}
        if "updates" in row:
            made = {
                "task": "t",
                "method": "m",
                "seed": 1,
                "fingerprint": "ff",
                "seconds": 1.5,
                "spec": {"task_fingerprint": "77"},
            }
            (directory / "run.json").write_text(json.dumps(made | {"updates": row["updates"]}))
        lines.append("\t".join(str(row.get(column, "")) for column in COLUMNS))
    (tmp_path / "runs.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path / "runs.tsv"


def test_runs_are_joined_by_their_directory_not_by_fingerprint(tmp_path):
    same = {"task": "t", "seed": "1", "fingerprint": "ff", "state": "done"}
    tsv = study_runs(
        tmp_path,
        [
            same | {"label": "A", "run_dir": "a-ff", "updates": 10},
            same | {"label": "B", "run_dir": "b-ff", "updates": 20},
        ],
    )
    found = runs.read_runs(tsv)
    assert [record.state for record in found] == ["done", "done"] and runs.missing(found) == []
    table = runs.table(found)
    assert [(row[0].text, row[4].text) for row in table.rows] == [("A", "10"), ("B", "20")]
    assert "Task" not in table.headers


def test_an_edited_list_of_runs_is_refused_in_one_line(tmp_path):
    tsv = study_runs(tmp_path, [{"task": "t", "label": "A", "seed": "1", "run_dir": "a", "state": "done"}])
    written = tsv.read_text()
    for edited in (written.replace("label", "name"), written.replace("\t1\t", "\t\t")):
        tsv.write_text(edited)
        with pytest.raises(DataError, match=r"runs\.tsv: was edited; remove it"):
            runs.read_runs(tsv)


def test_runs_of_several_tasks_are_told_apart(tmp_path):
    rows = [{"task": t, "label": "A", "seed": "1", "run_dir": f"{t}/a", "updates": 7, "state": "done"} for t in "uv"]
    rows.append({"task": "v", "label": "B", "seed": "1", "state": "missing", "reason": "why"})
    found = runs.read_runs(study_runs(tmp_path, rows))
    table = runs.table(found)
    assert table.headers[:3] == ["System", "Task", "Seed"]
    assert [[cell.text for cell in row[:3]] for row in table.rows] == [
        ["A", "u", "1"], ["A", "v", "1"], ["B", "v", "1"],
    ]  # fmt: skip
    assert all(len(row) == len(table.headers) == len(table.numeric) for row in table.rows)
    assert runs.missing(found) == [("Run B, seed 1 (v)", "why")]


def test_a_partial_report_says_how_far_each_run_is(tmp_path):
    rows = [
        {"task": "t", "label": "A", "seed": "1", "run_dir": "a", "updates": 7, "state": "done"},
        {"task": "t", "label": "B", "seed": "1", "run_dir": "b", "state": "begun"},
        {"task": "t", "label": "C", "seed": "2", "run_dir": "c", "state": "to do"},
        {"task": "t", "label": "D", "seed": "1", "state": "missing", "reason": "needs UM-Corpus"},
    ]
    tsv = study_runs(tmp_path, rows)
    html = report_page.render(contents.ReportSpec(study="x", title="X", runs=tsv, partial=True))
    assert "1 of 4 done" in html
    absent = html.split('<section id="missing"')[1]
    for what, why in (("B, seed 1", "begun"), ("C, seed 2", "to do"), ("D, seed 1", "needs UM-Corpus")):
        assert f"<dt>Run {what}</dt><dd>{why}</dd>" in absent
    assert "Run A" not in absent


def test_tables_and_figures_of_two_tasks_have_titles_of_their_own(tmp_path):
    none = tmp_path / "none"
    tables = [contents.ReportTable(id=f"t-{t}", title="S", task=t, kind="scores", data=none) for t in "uv"]
    figures = [contents.ReportFigure(id=f"f-{t}", title="F", task=t, kind="tsne", png=none, caption="") for t in "uv"]
    html = report_page.render(contents.ReportSpec(study="x", title="X", tables=tuple(tables), figures=tuple(figures)))
    assert all(
        f"<dt>{what}</dt>" in html for what in ("Table: S (u)", "Table: S (v)", "Figure: F (u)", "Figure: F (v)")
    )


def test_the_policy_covers_the_very_script_and_style_of_the_page():
    import base64
    import hashlib

    html = report_page.render(contents.ReportSpec(study="x", title="X"))
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in html


def test_length_counts_words_and_pairs_of_chinese_characters() -> None:
    lengths = {"Electrocardiographs": 1, "a b c": 3, "我们昨天去了北京": 4, "中文 text": 2, "": 0}
    assert {text: sample_translations.length(text) for text in lengths} == lengths
