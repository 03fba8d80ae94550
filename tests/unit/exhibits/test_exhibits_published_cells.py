"""Random cells in: mean, spread, bold, stars and verdicts of a table against an independent computation."""

from __future__ import annotations

import csv
import io
import math
import statistics
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import exhibit_files
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published_tables import DOMAINS, row, run_of, spec, write
from scipy import stats

from mdnmt.exhibits.grid import read_grid

Row = tuple[list[tuple[float, float]], list[float | None], list[bool]]  # scores of each seed; printed; starred there
SCORE = st.integers(500, 60_000).map(lambda thousandths: thousandths / 1000)


@st.composite
def systems(draw: st.DrawFn) -> list[Row]:
    found: list[Row] = []
    for _ in range(draw(st.integers(1, 4))):
        centres = [draw(SCORE), draw(SCORE)]
        # Seeds lie close together mostly, else hardly anything is conclusive.
        width = draw(st.sampled_from([0, 30, 300, 3000]))
        near = [st.integers(-width, width).map(lambda off, c=c: round(max(0.001, c + off / 1000), 3)) for c in centres]
        seeds = draw(st.lists(st.tuples(*near), min_size=1, max_size=5))
        means = [statistics.fmean(column) for column in zip(*seeds, strict=True)]
        targets = [*means, statistics.fmean(means)]
        offs = st.one_of(st.none(), st.integers(-150, 150), st.integers(-3000, 3000))
        printed = [None if (off := draw(offs)) is None else round(target + off / 100, 2) for target in targets]
        found.append((seeds, printed, [draw(st.booleans()) for _ in range(3)]))
    return found


def shown(value: float, places: str = "0.01") -> Decimal:
    return Decimal(repr(round(value, 9))).quantize(Decimal(places), ROUND_HALF_UP)


def expected_verdict(values: list[float], number: float, differs: str | None) -> str:
    """The rule, from its definition, by the distribution functions of scipy."""
    if differs:
        return "not comparable"
    if len(values) < 3 or max(values) - min(values) < 1e-9:
        return "inconclusive"
    n, away = len(values), abs(statistics.fmean(values) - number)
    spread = statistics.stdev(values)
    reach, least = stats.t(n - 1).ppf(0.975) * spread * math.sqrt(1 + 1 / n), stats.norm.ppf(0.975) * spread
    slack = 1e-9 * max(1, number)
    if away + reach + 0.005 <= 0.5 + slack:
        return "reproduced"
    if away - reach - 0.005 > 0.5 + slack:
        return "not reproduced"
    return "reproduced" if away <= 0.5 + slack <= least + 0.005 else "inconclusive"


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    systems(),
    st.sampled_from([None, "other text"]),
    st.lists(st.sampled_from(["better", "worse", None]), min_size=8, max_size=8),
)
def test_every_cell_equals_an_independent_computation(
    found: list[Row], news_differs: str | None, tests: list[str | None]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, tested = [], {}
        for number, (seeds, printed, stars) in enumerate(found):
            runs = [
                run_of(folder, f"s{number}", k, {"bleu": dict(zip(DOMAINS, pair, strict=True))})
                for k, pair in enumerate(seeds, 1)
            ]
            cells = {
                f"bleu/{key}": {"value": value, "raw": "" if value is None else f"{value:.2f}", "star": star}
                for key, value, star in zip((*DOMAINS, "avg"), printed, stars, strict=True)
            }
            # The order in which the runs are named decides nothing.
            rows.append(row(f"s{number}", runs[::-1], cells))
            if number:
                tested[f"s{number}"] = {
                    domain: {"bleu": {"delta": 0.0, "p": 0.5, "verdict": tests[2 * number + k - 2]}}
                    for k, domain in enumerate(DOMAINS)
                }
        value = spec(rows, baseline="s0", significance=write(folder / "s.json", {"baseline": "s0", "systems": tested}))
        value["columns"][1]["differs"] = news_differs
        out = {form: folder / f"out.{form}" for form in ("json", "csv")}
        exhibit_files.write(value, *out.values())
        grid = read_grid(out["json"])
        lines = list(csv.DictReader(io.StringIO(out["csv"].read_text(encoding="utf-8"))))

    columns = [[[pair[0] for pair in s], [pair[1] for pair in s], [sum(pair) / 2 for pair in s]] for s, _, _ in found]
    for number, (_, printed, stars) in enumerate(found):
        for column, key in enumerate((*DOMAINS, "avg")):
            cell, line, values = grid.rows[number].cells[column], lines[3 * number + column], columns[number][column]
            centre = statistics.fmean(values)
            assert cell.values == pytest.approx(values) and cell.num_seeds == len(values)
            assert cell.mean == pytest.approx(centre) and cell.text == str(shown(centre))
            if len(values) > 1:
                assert cell.sd == pytest.approx(statistics.stdev(values), abs=1e-9)
                assert cell.spread == str(shown(cell.sd or 0.0))
            else:
                assert cell.sd is None and cell.spread is None
            top = max(statistics.fmean(other[column]) for other in columns)
            assert cell.best == (len(found) > 1 and shown(centre) == shown(top))
            assert cell.star == bool(number and column < 2 and tests[2 * number + column - 2] == "better")
            published = printed[column]
            assert cell.published == published
            assert (line["column"], line["published"]) == (key, "" if published is None else repr(float(published)))
            if published is None:
                assert cell.judgement is None and cell.difference is None
                assert (line["verdict"], line["difference"]) == ("", "")
                continue
            assert cell.published_text == f"{published:.2f}" + "*" * stars[column]
            assert cell.difference == pytest.approx(centre - published)
            assert cell.judgement is not None
            differs = news_differs if column else None  # the average is of news too
            assert cell.judgement.verdict == expected_verdict(values, published, differs) == line["verdict"]
            assert line["reason"] == cell.judgement.reason != ""
