"""Comparisons with the baseline as a reader sees them: note, tooltip, folded table, CSV, the verb `compare`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.config.claim_rule import Threshold
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.report import compare_studies
from mdnmt.report.render_html import to_html
from mdnmt.report.render_text import to_csv
from mdnmt.report.table_summary import summarise
from mdnmt.statements.claims import seed_samples
from mdnmt.welch import half_width


def test_of(delta: float, p: float, seeds: int, verdict: str | None) -> dict[str, Any]:
    """Return a comparison as `mdnmt significance` writes it."""
    over_seeds = {"p": p / 4, "effect": 1.5, "freedom": 3.3} if seeds > 2 else None
    return {
        **{"delta": delta, "low": delta - 1, "high": delta + 1, "seeds": seeds, "verdict": verdict},
        **{"over": "seeds and sentences" if over_seeds else "sentences", "over_seeds": over_seeds},
        **{"p_bootstrap": 0.02, "p_sacrebleu": 0.01, "p_randomisation": 0.0301, "p": p / 4, "p_corrected": p},
        "seeds_verdict": (verdict or "no difference") if over_seeds else "inconclusive",
    }


test_of.__test__ = False  # type: ignore[attr-defined]


SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def table(folder: Path, seeds: int = 1, correction: str = "holm", signature: str = "s") -> Grid:
    rows = []
    for number, name in enumerate(("mixed", "edc", "tag")):
        runs = []
        for seed in range(1, seeds + 1):
            path = folder / f"{name}-{seed}.json"
            score = {"score": 20.0 + number + seed / 10, "signature": signature}
            domains = {domain: {"bleu": score, "num_sentences": 50} for domain in ("law", "news")}
            fsio.write_json(path, {"domains": domains})
            runs.append({"scores": str(path), "seed": seed})
        rows.append({"group": "", "label": name.capitalize(), "method": name, "runs": runs})
    tests = {
        "edc": {
            "law": {"bleu": test_of(1.2, 0.012, seeds, "better")},
            "news": {"bleu": test_of(0.4, 0.3, seeds, None)},
        },
        "tag": {"law": {"bleu": test_of(-2.0, 0.0004, seeds, "worse")}},
    }
    significance = folder / "significance.json"
    about = {"baseline": "mixed", "alpha": 0.05, "seed": 12345, "num_resamples": 2400, "num_trials": 10_000}
    fsio.write_json(significance, {**about, "correction": correction, "comparisons": {"bleu": 3}, "systems": tests})
    columns = [{"name": name, "label": name.capitalize()} for name in ("law", "news")]
    return ScoreTable.build(
        ScoreTable.model_validate(
            {"title": "T", "columns": columns, "rows": rows, "metrics": ("bleu",), "baseline": "mixed"}
            | {"baseline_label": "Mixed", "significance": significance}
        )
    )


def star_note(grid: Grid) -> str:
    return next(note for note in grid.notes if note.startswith("*")).replace("\N{NO-BREAK SPACE}", " ")


def test_the_note_says_which_test_decides(tmp_path: Path) -> None:
    note = star_note(table(tmp_path))
    assert "better than Mixed, p < 0.05 by approximate randomisation of sentences (10000 trials, seed 12345)" in note
    assert "Holm's correction for 3 comparisons" in note and "Fewer than 3 seeds" in note
    note = star_note(table(tmp_path, seeds=3))
    assert "by a t test of seeds and sentences together, after Holm's" in note and "Fewer" not in note
    note = star_note(table(tmp_path, seeds=2, correction="none"))
    assert "paired bootstrap, 2400 resamples, seed 12345, with each of 2 training seeds, not corrected" in note


def test_the_corrected_p_is_the_one_that_is_told(tmp_path: Path) -> None:
    grid = table(tmp_path)
    law, news, _ = grid.rows[1].cells
    assert (law.star, law.p, law.delta) == (True, 0.012, 1.2)
    assert (news.star, news.p) == (False, 0.3)
    assert grid.rows[0].cells[0].tested is None
    told = summarise(grid)
    assert any("corrected" in caveat and "one table in 20" in caveat for caveat in told.caveats)
    assert not any("without correction" in caveat for caveat in told.caveats)
    assert any(
        "3 comparisons were made at the 0.05 level without" in c for c in summarise(table(tmp_path, 1, "none")).caveats
    )


def test_html_has_each_comparison_with_its_interval(tmp_path: Path) -> None:
    html = to_html(table(tmp_path, seeds=3)).replace("\N{NO-BREAK SPACE}", " ")
    assert 'title="against Mixed: +1.20 [+0.20, +2.20], p = 0.012 over seeds and sentences"' in html
    folded = html[html.index('<details class="comparisons">') :]
    assert "The 3 comparisons with Mixed" in folded
    rows = [row.split("</tr>")[0] for row in folded.split("<tr>")[2:]]
    cells = [[cell.split(">")[-1] for cell in row.split("</t")[:-1]] for row in rows]
    assert cells[0] == [
        *("Edc", "Law", "+1.20 [+0.20, +2.20]", "seeds and sentences"),
        *("0.020", "0.010", "0.030", "0.003", "0.012", "+1.50", "–", "better*"),
    ]
    assert cells[2][-4:] == ["&lt; 0.001", "+1.50", "–", "worse"]
    one_seed = to_html(table(tmp_path)).replace("\N{NO-BREAK SPACE}", " ")
    assert "<td>sentences</td><td>0.020</td><td>0.010</td><td>0.030</td><td>–</td><td>0.012</td>" in one_seed
    plain = table(tmp_path).model_copy(update={"rows": table(tmp_path).rows[:1]})
    assert "<details" not in to_html(plain)


def test_agreement_with_people_is_beside_each_difference_that_it_is_known_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = table(tmp_path, signature=SIGNATURE)
    # mt_thresholds.accuracy(1.2, "bleu") of version 1.0.4
    assert grid.rows[1].cells[0].tested.agreement == pytest.approx(67.246, abs=0.001)  # type: ignore[union-attr]
    assert grid.rows[2].cells[0].tested.agreement == pytest.approx(77.164, abs=0.001)  # type: ignore[union-attr]
    assert [note[:20] for note in grid.notes if "Kocmi" in note] == ["People agree (BLEU):"]
    html = to_html(grid).replace("\N{NO-BREAK SPACE}", " ")
    assert "<td>67 %</td>" in html and "over sentences, people agree in 67 %" in html
    rows = list(csv.DictReader(io.StringIO(to_csv(grid))))
    assert float(rows[3]["agreement"]) == pytest.approx(67.246, abs=0.001) and rows[0]["agreement"] == ""
    fsio.write_json(tmp_path / "one/tables/t.json", grid.model_dump(mode="json"))
    assert main(["compare", "one", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert "people agree in 67 %" in " ".join(told.split()) and max(map(len, told.splitlines())) <= 80
    unknown = table(tmp_path, signature=SIGNATURE.replace("13a", "none"))
    assert unknown.rows[1].cells[0].tested.agreement is None  # type: ignore[union-attr]
    assert any("is not known: none for BLEU: MT-Thresholds has no curve" in note for note in unknown.notes)


def test_csv_has_every_number(tmp_path: Path) -> None:
    rows = {
        (row["method"], row["column"]): row for row in csv.DictReader(io.StringIO(to_csv(table(tmp_path, seeds=3))))
    }
    law = rows["edc", "law"]
    names = ("p", "star", "delta", "low", "high", "over", "p_bootstrap", "p_sacrebleu", "p_randomisation", "p_seeds")
    assert [law[name] for name in (*names, "effect")] == [
        *("0.012", "1", "1.2", "0.19999999999999996", "2.2", "seeds and sentences"),
        *("0.02", "0.01", "0.0301", "0.003", "1.5"),
    ]
    assert [rows["mixed", "law"][name] for name in names] == ["", "0", *[""] * 8]


def test_a_table_written_and_read_keeps_its_comparisons(tmp_path: Path) -> None:
    grid = table(tmp_path, seeds=3)
    assert Grid.model_validate_json(grid.model_dump_json()) == grid


def test_compare_shows_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for study in ("one", "two"):
        grid = table(tmp_path, seeds=3)
        fsio.write_json(tmp_path / study / "tables/t.json", grid.model_dump(mode="json"))
    assert main(["compare", "one", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert "against Mixed: +1.20 [+0.20, +2.20], p = 0.012 over seeds and sentences *\n" in told
    assert "against Mixed: +0.40 [\N{MINUS SIGN}0.60, +1.40], p = 0.300 over seeds and sentences\n" in told
    assert max(map(len, told.splitlines())) <= 80
    assert main(["compare", "one", "two", "--results", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "20.20 ± 0.10 20.20 ± 0.10    +0.00 ± 0.23\n" in told
    assert max(map(len, told.splitlines())) <= 80
    assert main(["compare", "one", "--json", "--results", str(tmp_path)]) == 0
    lines = json.loads(capsys.readouterr().out)[0]["lines"]
    assert [line["star"] for line in lines if line["delta"]] == [True, False, False]
    assert lines[3]["delta"]["p_corrected"] == 0.012


@pytest.mark.parametrize(("first", "second"), [([1.0, 2.0, 4.0], [2.0, 2.5, 2.2, 9.0]), ([1.0, 2.0], [1.5, 1.6])])
def test_compare_and_claims_have_the_same_interval_and_it_is_welchs(first: list[float], second: list[float]) -> None:
    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    expected = pytest.approx((interval.high - interval.low) / 2)
    header = Header(key="law", label="Law", metric="bleu")

    def table(values: list[float]) -> Grid:
        cell = Cell(values=tuple(values), mean=sum(values) / len(values), num_seeds=len(values))
        row = GridRow(group="", label="A", method="a", cells=(cell,))
        return Grid(kind="scores", title="T", headers=(header,), rows=(row,))

    (line,) = compare_studies.with_other("t", table(first), table(second)).lines
    claimed = seed_samples.compare(Threshold(), seed_samples.of_values(second), seed_samples.of_values(first), what="x")
    assert line.half_width == expected and claimed.half_width == expected
    (alone,) = compare_studies.with_other("t", table(first), table([1.0])).lines
    assert alone.half_width is None
    assert half_width([(0.0, 2), (0.0, 2)]) is None
