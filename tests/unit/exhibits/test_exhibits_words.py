"""Tables and figures of generated text: their numbers, what can be reached, and what is said of what is absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mdnmt.exhibits import generated_words, save_figure
from mdnmt.exhibits.figure_style import style
from mdnmt.exhibits.figures.gate_use import GateUseSpec
from mdnmt.exhibits.figures.word_sweep import SweepSpec
from mdnmt.exhibits.grid import Grid
from mdnmt.exhibits.registry import parse_figure, parse_table
from mdnmt.exhibits.rows import Column, ScoreRun, WordRow
from mdnmt.exhibits.tables.word_accuracy import WordAccuracyTable, ceiling
from mdnmt.report import contents, render_text, report_page
from mdnmt.report.write_table import write_table

DOMAINS = ("north", "south", "east", "west")


def words(right: dict[str, int], num_domains: int = 2, **more: Any) -> dict[str, Any]:
    """Return what `mdnmt word-accuracy` writes: of 50 words of each kind in each domain, `right` are right."""
    counts = {kind: {"words": 50, "right": number} for kind, number in right.items()}
    return {"domains": dict.fromkeys(DOMAINS[:num_domains], counts), "proportions": {}, "gates": {}, **more}


def row(folder: Path, method: str, *found: dict[str, Any], **more: Any) -> WordRow:
    runs = []
    for seed, value in enumerate(found, start=1):
        path = folder / f"{method}-{seed}.json"
        path.write_text(json.dumps(value))
        runs.append(ScoreRun(scores=path, seed=seed))
    return WordRow(group="G", label=method.capitalize(), method=method, runs=tuple(runs), **more)


def table(kind: str, *rows: WordRow, num_domains: int = 2) -> Grid:
    spec = {"kind": kind, "title": "T", "num_domains": num_domains, "rows": [r.model_dump(mode="json") for r in rows]}
    parsed = parse_table(json.dumps(spec))
    return parsed.build()


def texts(grid: Grid, method: str) -> list[str]:
    return next([cell.text for cell in row.cells] for row in grid.rows if row.method == method)


@pytest.mark.parametrize(
    ("knows", "num_domains", "best"),
    [
        ("nothing", 2, [100, 100, 50, 50]),
        ("context", 2, [100, 100, 100, 50]),
        ("context", 4, [100, 100, 100, 25]),
        ("label", 4, [100, 100, 100, 100]),
    ],
)
def test_the_best_there_is(knows: str, num_domains: int, best: list[float]) -> None:
    assert list(ceiling(knows, num_domains).values()) == best


@pytest.mark.parametrize(
    ("knows", "right", "verdict"),
    [
        ("context", {"common": 50, "cue": 49, "context": 48, "label": 25}, "yes"),
        ("context", {"common": 50, "cue": 49, "context": 47, "label": 25}, "below"),
        ("context", {"common": 50, "cue": 50, "context": 50, "label": 20}, "yes"),
        ("context", {"common": 50, "cue": 50, "context": 50, "label": 19}, "below"),
        ("context", {"common": 50, "cue": 50, "context": 50, "label": 31}, "above"),
        ("label", {"common": 50, "cue": 50, "context": 50, "label": 48}, "yes"),
        ("label", {"common": 50, "cue": 50, "context": 50, "label": 25}, "below"),
    ],
)
def test_a_row_is_held_against_what_its_knowledge_allows(
    tmp_path: Path, knows: str, right: dict[str, int], verdict: str
) -> None:
    grid = table("word_accuracy", row(tmp_path, "mixed", words(right), knows=knows))
    assert texts(grid, "mixed") == [f"{2 * number}.0" for number in right.values()] + [verdict]
    assert [r.method for r in grid.rows] == ["ceiling-nothing", "ceiling-context", "ceiling-label", "mixed"]
    assert texts(grid, "ceiling-context") == ["100.0", "100.0", "100.0", "50.0", "\N{EN DASH}"]


def test_words_are_counted_over_all_domains_and_seeds_are_averaged(tmp_path: Path) -> None:
    uneven = words({"common": 50, "label": 10})
    uneven["domains"]["south"] = {"common": {"words": 150, "right": 50}, "label": {"words": 0, "right": 0}}
    grid = table("word_accuracy", row(tmp_path, "mixed", uneven, words({"common": 30, "label": 20})))
    common, label, reached = next(r for r in grid.rows if r.method == "mixed").cells
    assert common.mean == pytest.approx(55.0) and common.num_seeds == 2  # 100 of 200, and 60 of 100
    assert label.mean == pytest.approx(30.0) and label.spread == "14.1"
    assert reached.mean is None, "without a word on what it knows, nothing is said"


def test_proportions_stand_layer_by_layer_and_a_method_without_them_is_named(tmp_path: Path) -> None:
    shares = {"common": [0.5, 0.55], "cue": [0.97, 0.9], "context": [0.5, 0.8], "label": [0.5, 0.5]}
    made = row(tmp_path, "waldm", words({"common": 1}, proportions=shares))
    grid = table("word_proportions", made, row(tmp_path, "mixed", words({"common": 1})))
    assert [header.group for header in grid.headers] == ["Layer 1 (%)"] * 4 + ["Layer 2 (%)"] * 4
    assert texts(grid, "waldm") == ["50.0", "97.0", "50.0", "50.0", "55.0", "90.0", "80.0", "50.0"]
    assert grid.reasons == ("Mixed has no proportions",)


def test_the_use_of_experts_in_numbers() -> None:
    one = [[1.0, 0.0, 0.0, 0.0]]
    spread = [[0.25] * 4]
    assert generated_words.gate_use({"north": one, "south": one}) == [
        {"experts": pytest.approx(1.0), "largest": 100.0, "apart": 0.0}
    ]
    assert generated_words.gate_use({"north": spread, "south": spread})[0]["experts"] == pytest.approx(4.0)
    own = generated_words.gate_use({"north": [[1.0, 0.0]], "south": [[0.0, 1.0]]})[0]
    assert own == {"experts": pytest.approx(2.0), "largest": 50.0, "apart": 50.0}


def test_the_table_of_gates(tmp_path: Path) -> None:
    used = {"north": [[0.9, 0.1], [0.5, 0.5]], "south": [[0.9, 0.1], [0.3, 0.7]]}
    grid = table("gate_use", row(tmp_path, "dmoe", words({"common": 1}, gates=used)))
    assert texts(grid, "dmoe") == ["1.38", "90.0", "0.0", "1.96", "60.0", "10.0"]


def test_all_formats_are_written_and_what_is_missing_is_said(tmp_path: Path) -> None:
    rows = [
        row(tmp_path, "mixed", words({"common": 50}), knows="context"),
        WordRow(group="<b>", label="DMoE & co", method="dmoe", missing="not made yet"),
    ]
    spec = WordAccuracyTable(title="T", num_domains=2, rows=tuple(rows))
    write_table(spec, {ending: tmp_path / ending for ending in ("csv", "md", "tex", "html", "json")})
    markdown, html = (tmp_path / "md").read_text(), (tmp_path / "html").read_text()
    assert "(a) not made yet" in markdown and "Right words" in markdown
    assert "<b>" not in html and "not made yet" in html
    shown = contents.ReportTable(title="Words", id="synthetic-words2", kind="word_accuracy", data=tmp_path / "json")
    page = report_page.render(contents.ReportSpec(study="s", title="S", tables=(shown,)))
    assert "DMoE &amp; co" in page and "With the domain" not in page


def swept(folder: Path) -> SweepSpec:
    systems = [row(folder, f"m{n}", words({"common": 50, "cue": 50, "context": 50 - n, "label": 25})) for n in range(3)]
    return SweepSpec(title="Smoothing", num_domains=2, systems=tuple(systems))


def test_a_sweep_is_a_line_a_kind_of_word(tmp_path: Path) -> None:
    with style():
        figure, said = swept(tmp_path).draw()
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].get_lines()[:4]}
    assert lines["By context"] == [100.0, 98.0, 96.0] and lines["By label"] == [50.0] * 3
    assert list(figure.axes[0].get_lines()[len(lines)].get_ydata()) == [50.0, 50.0], "chance, of two domains"
    assert "By context: 100.0, 98.0, 96.0." in said
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["M0", "M1", "M2"]


def test_gates_are_drawn_a_panel_a_domain_in_the_order_of_the_labels(tmp_path: Path) -> None:
    used = {"south": [[0.9, 0.1]], "north": [[0.2, 0.8]]}
    system = row(tmp_path, "dmoe", words({"common": 1}, gates=used))
    columns = tuple(Column(name=name, label=name.capitalize()) for name in DOMAINS[:2])
    with style():
        figure, said = GateUseSpec(title="Gates", systems=(system,), domains=columns).draw()
    images = [axes.get_images()[0].get_array().tolist() for axes in figure.axes[:2]]
    assert images == [[[0.2, 0.8]], [[0.9, 0.1]]]
    # With the entropy of each domain's gates, in bits; half of the sum less that of their mean (0.993) is 0.397.
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["North 0.72", "South 0.47"]
    assert said == "Dmoe: experts in use 1.99 in layer 1; divergence 0.397 bits."


@pytest.mark.parametrize("kind", ["word_sweep", "gate_use"])
def test_a_figure_without_a_run_says_why(tmp_path: Path, kind: str) -> None:
    absent = {"group": "", "label": "E", "method": "e", "missing": "not made yet"}
    more = {"num_domains": 2} if kind == "word_sweep" else {}
    spec = parse_figure(json.dumps({"kind": kind, "title": "F", "systems": [absent], **more}))
    save_figure.save(spec, tmp_path / "f.png", tmp_path / "f.pdf")
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.text["Description"] == "Not drawn: not made yet"  # type: ignore[attr-defined]


def test_a_figure_names_the_files_it_is_drawn_from(tmp_path: Path) -> None:
    assert len(save_figure.record(swept(tmp_path))["inputs_sha256"]) == 3


def test_markdown_names_the_layer_of_each_column(tmp_path: Path) -> None:
    used = {"north": [[0.9, 0.1]], "south": [[0.9, 0.1]]}
    grid = table("gate_use", row(tmp_path, "dmoe", words({"common": 1}, gates=used)))
    assert "Experts in use" in render_text.to_markdown(grid)
