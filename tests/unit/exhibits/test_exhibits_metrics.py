"""Tables of metrics of which less is better, of scores in files of their own, and the signature of every column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from published_tables import build, row, run_of, spec, write

from mdnmt.config.metrics import METRICS
from mdnmt.report.render_text import to_csv
from mdnmt.report.table_summary import summarise


def runs_of(folder: Path, method: str, scores: dict[str, dict[str, float]], seeds: int = 3) -> list[Any]:
    made = []
    for seed in range(1, seeds + 1):
        moved = {name: {d: score + 0.1 * seed for d, score in by.items()} for name, by in scores.items()}
        made.append(run_of(folder, method, seed, moved, comet="comet" in scores))
    return made


def both(law: float, news: float) -> dict[str, float]:
    return {"law": law, "news": news}


def test_the_best_of_an_error_rate_is_the_lowest(tmp_path: Path) -> None:
    rows = [
        row("base", runs_of(tmp_path, "base", {"perplexity": both(9.0, 8.0), "accuracy": both(50.0, 51.5)})),
        row("low", runs_of(tmp_path, "low", {"perplexity": both(7.0, 8.5), "accuracy": both(49.0, 52.0)})),
        row("high", runs_of(tmp_path, "high", {"perplexity": both(11.0, 9.0), "accuracy": both(40.0, 30.0)})),
    ]
    grid = build(spec(rows, metrics=["perplexity", "accuracy"], baseline="base", delta=True))
    best = {
        (each.label, header.metric, header.key)
        for each in grid.rows
        for header, cell in zip(grid.headers, each.cells, strict=True)
        if cell.best
    }
    assert best == {
        *{("low", "perplexity", "law"), ("base", "perplexity", "news"), ("low", "perplexity", "avg")},
        *{("low", "dperplexity", "law"), ("low", "dperplexity", "news"), ("low", "dperplexity", "avg")},
        *{("base", "accuracy", "law"), ("low", "accuracy", "news"), ("base", "accuracy", "avg")},
        *{("low", "daccuracy", "law"), ("low", "daccuracy", "news"), ("low", "daccuracy", "avg")},
    }
    found = summarise(grid)
    assert found.headline.startswith(
        "On average over the domains, low scores lowest: 7.95 Perplexity, 0.75 below base."
    )
    points = dict(found.points)
    assert points["Law"].startswith("low has the lowest score, 7.20 Perplexity, 2.00 below base")
    assert points["News"].startswith("base, the baseline, has the lowest score, 8.20 Perplexity; next is low, 8.70")


def test_what_learns_nothing_and_has_the_lower_error_is_told(tmp_path: Path) -> None:
    copied = run_of(tmp_path, "copy", 1, {"ter": both(60.0, 99.0)})
    rows = [
        row("copy", [{**copied, "seed": None}]),
        row("a", runs_of(tmp_path, "a", {"ter": both(70.0, 80.0)})),
        row("b", runs_of(tmp_path, "b", {"ter": both(72.0, 82.0)})),
    ]
    points = dict(summarise(build(spec(rows, metrics=["ter"], baseline="a"))).points)
    assert points["Law"].endswith("Lower with nothing learnt: copy (60.00).")
    assert "nothing learnt" not in points["News"]


def test_every_column_has_its_signature_among_the_notes(tmp_path: Path) -> None:
    scores = {name: both(20.0, 30.0) for name in METRICS}
    grid = build(spec([row("base", runs_of(tmp_path, "base", scores))], metrics=list(METRICS)))
    for metric, about in METRICS.items():
        assert any(note.startswith(f"{about.label}: {'wmt' if metric == 'comet' else 's'}") for note in grid.notes)
        assert metric in {header.metric for header in grid.headers}
    cautions = [note for note in grid.notes if "vocabularies" in note]
    assert len(cautions) == 2  # of perplexity and of accuracy
    lines = [line for line in to_csv(grid).splitlines() if ",perplexity," in line]
    assert len(lines) == 3


def test_perplexities_over_two_vocabularies_are_told_to_be_so(tmp_path: Path) -> None:
    runs = [runs_of(tmp_path, name, {"perplexity": both(5.0, 6.0)}, seeds=1) for name in ("ours", "theirs")]
    path = Path(runs[1][0]["scores"])
    other = json.loads(path.read_text())
    for entry in other["domains"].values():
        entry["perplexity"]["signature"] = "another vocabulary"
    write(path, other)
    grid = build(spec([row("ours", runs[0]), row("theirs", runs[1])], metrics=["perplexity"]))
    assert "Caution, scored in different ways: Perplexity: another vocabulary; s" in grid.notes


def test_scores_of_other_files_stand_beside(tmp_path: Path) -> None:
    run = run_of(tmp_path, "base", 1, {"bleu": both(20.0, 21.0)})
    entry = {"ter": {"score": 60.5, "signature": "tercom"}, "bleu": {"score": 1.0, "signature": "x"}}
    found = {domain: {**entry, "num_sentences": 50} for domain in ("law", "news")}
    path = tmp_path / "ter.json"
    run["others"] = [write(path, {"domains": found})]
    value = spec([row("base", [run])], metrics=["bleu", "ter"])
    texts = [cell.text for cell in build(value).rows[0].cells]
    assert texts == ["20.00", "21.00", "20.50", "60.50", "60.50", "60.50"]  # what both have is that of scores.json
