"""Summarise in plain words what a results table shows, and no more than it shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from mdnmt.config.metrics import METRICS
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, lower_is_better
from mdnmt.exhibits.seed_scores import AVERAGE
from mdnmt.numbers.rounding import half_up, non_breaking, p_value


@dataclass(frozen=True)
class TableSummary:
    """A headline, a point for each domain, a summary of the tests, and caveats."""

    headline: str
    points: list[tuple[str, str]] = field(default_factory=list)  # (domain, sentence)
    summary: str = ""
    caveats: list[str] = field(default_factory=list)


def _ranked(grid: Grid, column: int) -> list[tuple[GridRow, Cell, float]]:
    """Return the trained systems with a number in the column, best first."""
    found = [(row, row.cells[column]) for row in grid.rows]
    known = [(row, cell, cell.mean) for row, cell in found if cell.mean is not None and cell.num_seeds > 0]
    return sorted(known, key=lambda item: item[2], reverse=not lower_is_better(grid.headers[column]))


def _ends(grid: Grid, column: int) -> tuple[str, str]:
    """Return where the column's good and bad scores are on the scale: ("high", "low") or ("low", "high")."""
    return ("low", "high") if lower_is_better(grid.headers[column]) else ("high", "low")


def _apart(one: float, other: float, label: str) -> str:
    """Return how far, and on which side, a score is from another system's."""
    return f"{half_up(abs(one - other), 2)} {'below' if one < other else 'above'} {label}"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _comparison(top: Cell, best: float, base: tuple[GridRow, Cell, float] | None, alpha: float | None) -> str:
    """Return how the best system compares with the baseline, and whether the difference is significant."""
    if base is None:
        return ""
    apart = _apart(best, base[2], base[0].label)
    if top.p is None:
        return f"{apart}; whether that is more than chance was not tested"
    if top.star:
        return f"{apart}, a significant difference ({p_value(top.p)})"
    if alpha is not None and top.p < alpha:
        return f"{apart}, but not significantly so with every seed"
    return f"{apart}, which may be chance ({p_value(top.p)}, not below {alpha or 0.05:g})"


def _floor(grid: Grid, column: int, best: float) -> str:
    """Return a remark on rows without training that score better than the best trained system."""
    good, _ = _ends(grid, column)
    cells = [(row.label, row.cells[column]) for row in grid.rows if row.cells[column].num_seeds == 0]
    better = [
        f"{label} ({cell.text})"
        for label, cell in cells
        if cell.mean is not None and (cell.mean < best if good == "low" else cell.mean > best)
    ]
    return f" {good.capitalize()}er with nothing learnt: {_joined(better)}." if better else ""


def _column(grid: Grid, index: int, metric: str) -> str | None:
    """Return the sentences on one column, or None if no trained system has a number in it."""
    ranked = _ranked(grid, index)
    return _leader(grid, index, ranked, metric) + _floor(grid, index, ranked[0][2]) if ranked else None


def _leader(grid: Grid, column: int, ranked: list[tuple[GridRow, Cell, float]], metric: str) -> str:
    top, best = ranked[0][1], f"{_ends(grid, column)[0]}est"
    tied = [row for row, cell, _ in ranked if cell.text == top.text]
    names = _joined([row.label for row in tied])
    if len(ranked) == 1:
        return f"only {names} has a score: {top.text} {metric}."
    if len(tied) > 1:
        return f"{names} share the {best} score, {top.text} {metric}."
    base = next((item for item in ranked if item[0].method == grid.baseline), None)
    if tied[0].method == grid.baseline:
        second, cell, _ = ranked[1]
        return f"{names}, the baseline, has the {best} score, {top.text} {metric}; next is {second.label}, {cell.text}."
    detail = _comparison(top, ranked[0][2], base, grid.alpha)
    return f"{names} has the {best} score, {top.text} {metric}" + (f", {detail}." if detail else ".")


def _headline(grid: Grid, index: int, metric: str) -> str | None:
    """Return the sentences on the average, which is not tested: only the spread over seeds is known."""
    ranked = _ranked(grid, index)
    if len(ranked) < 2:
        return None
    (row, top, best), (second, below, next_best) = ranked[:2]
    if top.text == below.text:
        return f"On average over the domains, {row.label} and {second.label} score the same: {top.text} {metric}."
    good, bad = _ends(grid, index)
    text = f"On average over the domains, {row.label} scores {good}est: {top.text} {metric}"
    other, cell, value = ranked[1]
    if row.method != grid.baseline:
        other, cell, value = next((item for item in ranked if item[0].method == grid.baseline), ranked[1])
    text += f", {_apart(best, value, other.label)}."
    spreads = [each.sd for each in (top, cell) if each.sd is not None]
    if spreads and abs(best - value) <= max(spreads):
        text += " That is no more than the standard deviation over seeds: do not read it as a difference."
    elif second.label != other.label:
        text += f" Next is {second.label}, {half_up(abs(best - next_best), 2)} {bad}er."
    return text + _floor(grid, index, best)


def _summary(grid: Grid, columns: list[tuple[int, Header]]) -> str:
    """Return where each system differs significantly from the baseline, in either direction."""
    if grid.alpha is None or grid.baseline_label is None:
        return ""
    parts, tested = [], 0
    for row in grid.rows:
        cells = [(header.label, row.cells[index]) for index, header in columns if row.cells[index].p is not None]
        tested += len(cells)
        better = [label for label, cell in cells if cell.star]
        worse = [label for label, cell in cells if cell.verdict == "worse"]
        differences = [f"better on {_joined(better)}"] if better else []
        differences += [f"worse on {_joined(worse)}"] if worse else []
        if differences:
            parts.append(f"{row.label} is {', '.join(differences)}")
    if not tested:
        return ""
    if not parts:
        return f"No system differs significantly from {grid.baseline_label} on any domain."
    level = non_breaking(f"p < {grid.alpha:g}")
    start = f"Significant differences from {grid.baseline_label} ({level})"
    return f"{start}: {'; '.join(parts)}. All others may be chance."


def _caveats(grid: Grid, columns: list[tuple[int, Header]], average: int | None, metric: str) -> list[str]:
    caveats = []
    shown = [index for index, _ in columns] or ([] if average is None else [average])
    seeds = {row.cells[index].num_seeds for row in grid.rows for index in shown} - {0}
    if seeds == {1}:
        caveats.append(
            "Each system was trained once, with one seed. The test compares these models on these sentences; "
            "it does not say what another training of the same method would give."
        )
    elif 1 in seeds:
        caveats.append("Some systems were trained with one seed only; their spread is not known.")
    tests = sum(row.cells[index].p is not None for row in grid.rows for index, _ in columns)
    if tests > 1 and grid.alpha is not None and grid.correction == "none":
        chance = half_up(tests * grid.alpha, 1)
        caveats.append(
            f"{tests} comparisons were made at the {grid.alpha:g} level without correction: "
            f"about {chance} would come out significant if no system differed at all."
        )
    elif tests > 1 and grid.alpha is not None:
        caveats.append(
            f"{tests} comparisons were made; their p-values are corrected for that: if no system differs, at most "
            f"one table in {half_up(1 / grid.alpha, 0)} shows a significant difference."
        )
    floors = [(row, row.cells[average]) for row in grid.rows] if average is not None else []
    for row, cell in floors:
        if cell.mean is not None and cell.num_seeds == 0:
            caveats.append(
                f"{row.label}, with nothing learnt, gives {cell.text} {metric} on average: that is the floor."
            )
    missing = [row.label for row in grid.rows if all(cell.mean is None for cell in row.cells)]
    if missing:
        caveats.append(f"Not in this comparison: {_joined(missing)}; the notes under the table say why.")
    return caveats


def summarise(grid: Grid) -> TableSummary:
    """Return what the first metric of a results table shows."""
    metric = grid.headers[0].metric
    name = METRICS[metric].label if metric in METRICS else metric
    columns = [(i, h) for i, h in enumerate(grid.headers) if h.metric == metric and h.key != AVERAGE]
    average = next((i for i, h in enumerate(grid.headers) if h.metric == metric and h.key == AVERAGE), None)
    points = [(header.label, text) for index, header in columns if (text := _column(grid, index, name))]
    headline = _headline(grid, average, name) if average is not None else None
    scored = points or (average is not None and _ranked(grid, average))
    if not scored:
        return TableSummary("No system has been scored yet.", caveats=_caveats(grid, columns, average, name))
    headline = headline or "No two systems have scores on every domain yet: there is no average to compare."
    return TableSummary(headline, points, _summary(grid, columns), _caveats(grid, columns, average, name))
