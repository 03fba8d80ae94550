"""A row that stands for several methods shows the one that is best on validation text, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.loader import validate_model
from mdnmt.config.paper import PaperConfig
from mdnmt.errors import ConfigError, DataError
from mdnmt.exhibits.best_by_validation import choose_best
from mdnmt.exhibits.rows import Column, ResourceRow, ScoreRow, ScoreRun
from mdnmt.exhibits.tables.resources import ResourcesTable
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.report import table_summary


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


@pytest.fixture
def make_row(tmp_path: Path) -> Any:
    """Return a function (method, validation of each seed, test BLEU, choice, domains trained on) -> ScoreRow."""

    def make(
        method: str,
        validation: list[Any],
        bleu: float = 1.0,
        choice: int | None = 1,
        domains: tuple[str, ...] = ("law", "news"),
        **more: Any,
    ) -> ScoreRow:
        runs, records = [], []
        for seed, measures in enumerate(validation, 1):
            scores = {"domains": {"law": {"bleu": {"score": bleu, "signature": "s"}, "num_sentences": 9}}}
            runs.append(ScoreRun(scores=write(tmp_path / f"{method}-{seed}.scores.json", scores), seed=seed))
            validation_of_all = dict.fromkeys((*domains, "all"), measures)
            records.append(write(tmp_path / f"{method}-{seed}.run.json", {"validation": validation_of_all}))
        about = {"group": "G", "label": method.capitalize(), "method": method, **more}
        return ScoreRow(**about, runs=tuple(runs), choice=choice, records=tuple(records))

    return make


def settle(spec: ScoreTable) -> ScoreTable:
    rows, notes = choose_best(spec.rows)
    return spec.model_copy(update={"rows": rows, "notes": (*notes, *spec.notes)})


def table(*rows: ScoreRow, **more: Any) -> ScoreTable:
    return ScoreTable(
        title="T", columns=(Column(name="law", label="Law"),), rows=rows, metrics=("bleu",), notes=("End.",), **more
    )


def bleu(*values: float) -> list[dict[str, float]]:
    # The loss says the opposite, so that it shows which of them decides.
    return [{"bleu": value, "loss": value} for value in values]


def test_better_mean_validation_bleu_is_shown_whatever_the_test_scores(make_row: Any) -> None:
    small, large = make_row("mixed", bleu(20.0, 24.0), bleu=40.0), make_row("large", bleu(19.0, 25.5), bleu=30.0)
    settled = settle(table(make_row("other", bleu(1.0), choice=None), small, large))
    assert [row.method for row in settled.rows] == ["other", "large"]
    assert settled.notes == (
        "Shown is the best by validation BLEU, mean over domains: large 22.25 (mixed 22.00).",
        "End.",
    )
    grid = ScoreTable.build(table(small, large))
    assert [(row.label, row.method, row.cells[0].text) for row in grid.rows] == [("Large", "large", "30.00")]
    assert settled.notes[0] in grid.notes


def test_weights_that_were_not_trained_here_cannot_be_chosen_by_validation(make_row: Any) -> None:
    found = make_row("zero-shot", bleu(1.0))
    found.records[0].write_text('{"validation": {}}')
    with pytest.raises(DataError, match=r"zero-shot-1\.run\.json: has no validation scores.*a row of its own"):
        settle(table(found, make_row("tuned", bleu(2.0))))


def test_loss_decides_where_a_run_has_no_bleu(make_row: Any) -> None:
    small = make_row("mixed", [{"loss": 3.0}, {"loss": 3.25, "bleu": 1.0}])
    settled = settle(table(small, make_row("large", bleu(99.0, 99.0))))
    assert [row.method for row in settled.rows] == ["mixed"]
    assert settled.notes[0] == "Shown is the best by validation loss per token: mixed 3.125 (large 99.000)."


def test_each_domain_has_a_choice_of_its_own_and_one_note_tells_them_all(make_row: Any) -> None:
    rows = [
        make_row("single-law", bleu(30.0), choice=1, domains=("law",)),
        make_row("wide-law", bleu(29.0), choice=1, domains=("law",)),
        make_row("single-news", bleu(10.0), choice=2, domains=("news",)),
        make_row("wide-news", bleu(11.0), choice=2, domains=("news",)),
        make_row("mixed", bleu(5.0), choice=None),
    ]
    settled = settle(table(*rows))
    assert [row.method for row in settled.rows] == ["single-law", "wide-news", "mixed"]
    told = "single-law 30.00 (wide-law 29.00); wide-news 11.00 (single-news 10.00)."
    assert settled.notes[0] == f"Shown is the best by validation BLEU: {told}", "one domain has no mean"


def test_choices_among_runs_on_one_domain_and_on_all_are_told_apart(make_row: Any) -> None:
    alone = [make_row(name, bleu(value), 1.0, 1, ("law",)) for name, value in (("single", 3.0), ("wide", 2.0))]
    both = [make_row(name, bleu(value), 1.0, 2) for name, value in (("mixed", 5.0), ("large", 4.0))]
    assert settle(table(*alone, *both)).notes[:2] == (
        "Shown is the best by validation BLEU: single 3.00 (wide 2.00).",
        "Shown is the best by validation BLEU, mean over domains: mixed 5.00 (large 4.00).",
    )


def test_a_baseline_without_a_row_is_named_by_its_label(make_row: Any, tmp_path: Path) -> None:
    tests = {"waldm": {"law": {"bleu": {"delta": 1.0, "p": 0.01, "verdict": "better"}}}}
    significance = write(tmp_path / "s.json", {"baseline": "mixed", "systems": tests})
    row = make_row("waldm", bleu(1.0), choice=None)
    grid = ScoreTable.build(table(row, baseline="mixed", baseline_label="All text", significance=significance))
    assert grid.rows[0].cells[0].star
    assert any(note.startswith("* better than All text on") for note in grid.notes)
    assert "Significant differences from All text" in table_summary.summarise(grid).summary


def test_of_equals_and_of_what_is_not_trained_the_first_is_shown(make_row: Any) -> None:
    assert settle(table(make_row("mixed", bleu(7.0)), make_row("large", bleu(7.0)))).rows[0].method == "mixed"
    untrained = [make_row(name, [], missing="not made yet") for name in ("mixed", "large")]
    settled = settle(table(*untrained))
    assert [(row.method, row.missing) for row in settled.rows] == [("mixed", "not made yet")]
    assert "none of mixed, large is trained yet" in settled.notes[0]
    half = settle(table(untrained[0], make_row("large", bleu(3.0))))
    assert [row.method for row in half.rows] == ["large"]
    assert "large 3.00 (mixed not trained yet)" in half.notes[0]


def test_a_table_without_a_choice_is_left_as_it_is(make_row: Any) -> None:
    spec = table(make_row("mixed", bleu(7.0), choice=None))
    assert settle(spec) == spec


def test_a_baseline_that_gives_way_is_still_named_as_what_was_tested_against(make_row: Any, tmp_path: Path) -> None:
    tests = {name: {"law": {"bleu": {"delta": 1.0, "p": 0.01, "verdict": "better"}}} for name in ("large", "waldm")}
    significance = write(tmp_path / "s.json", {"baseline": "mixed", "systems": tests})
    rows = [make_row("mixed", bleu(1.0)), make_row("large", bleu(2.0)), make_row("waldm", bleu(1.0), 2.0, None)]
    grid = ScoreTable.build(table(*rows, baseline="mixed", significance=significance))
    assert [row.method for row in grid.rows] == ["large", "waldm"]
    assert all(row.cells[0].star for row in grid.rows), "each row has the tests of the method that it shows"
    assert any(note.startswith("* better than Mixed on") for note in grid.notes)
    assert "Significant differences from Mixed" in table_summary.summarise(grid).summary


def test_resources_are_those_of_the_method_shown(make_row: Any, tmp_path: Path) -> None:
    measured = {
        name: {"num_parameters": size * 10**6, "train_tokens_per_second": size, "repeats": 1}
        for name, size in (("mixed", 2), ("large", 4))
    }
    rows = [
        ResourceRow(group="G", label=row.label, method=row.method, choice=1, records=row.records)
        for row in (make_row("mixed", bleu(1.0)), make_row("large", bleu(2.0)))
    ]
    measure = write(tmp_path / "measure.json", {"rows": measured})
    spec = ResourcesTable(title="T", rows=tuple(rows), measure=measure, baseline="mixed")
    grid = spec.build()
    cells = {header.key: cell.text for header, cell in zip(grid.headers, grid.rows[0].cells, strict=True)}
    assert (grid.rows[0].method, cells["num_parameters"]) == ("large", "4.00")
    assert cells["train_tokens_per_second_relative"] == "2.00\N{MULTIPLICATION SIGN}"
    assert grid.baseline_label == "Mixed"
    assert any("large 2.00 (mixed 1.00)" in note for note in grid.notes)


@pytest.mark.parametrize(
    ("row", "kind", "said"),
    [
        ({}, "scores", "a row has either `method` or `best_of`"),
        ({"method": "mixed", "best_of": ["a", "b"]}, "scores", "a row has either `method` or `best_of`"),
        ({"best_of": ["a"]}, "scores", "best_of needs two or more methods, each once; found a"),
        ({"best_of": ["a", "b", "a"]}, "scores", "best_of needs two or more methods, each once; found a, b, a"),
        ({"best_of": []}, "resources", "best_of needs two or more methods, each once; found none"),
        ({"best_of": ["a", "b"]}, "word_accuracy", "best_of belongs in tables of kind scores or resources"),
    ],
)
def test_mistakes_of_a_row_are_one_line(row: Any, kind: str, said: str) -> None:
    paper = {"title": "P", "citation": "C", "tables": {"table1": {"kind": kind, "title": "T", "rows": [row]}}}
    paper["tables"]["table1"]["rows"][0]["group"] = "G"  # type: ignore[index]
    with pytest.raises(ConfigError) as caught:
        validate_model(paper, PaperConfig, "papers/p.yaml")
    assert said in str(caught.value) and "\n" not in str(caught.value)
