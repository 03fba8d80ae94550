"""Recompute what any table of scores allows without the paper's text: averages, differences, bold, stars.

A paper may have computed an average or a difference from scores before they were rounded. A printed number is therefore
compared with the interval of all values that the printed scores allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

from mdnmt.statements.audit.printed_numbers import mean, show, show_signed
from mdnmt.statements.audit.score_sheet import DIFFERENCE, Column, Number, ScoreSheet
from mdnmt.statements.audit.sweeps import CheckedNumber


def averages(sheet: ScoreSheet) -> Iterator[CheckedNumber]:
    """Compare each average with the mean of the row's other scores in the same metric."""
    for column in sheet.columns:
        if not column.is_average or column.is_difference:
            continue
        parts = [
            other.name
            for other in sheet.columns
            if other.metric == column.metric and not (other.is_average or other.is_difference)
        ]
        for row, cells in sheet.rows.items():
            if column.name in cells and len(parts) > 1 and all(name in cells for name in parts):
                of = [cells[name] for name in parts]
                true, slack = mean(one.value for one in of), mean(one.unit / 2 for one in of)
                yield _compared(row, column.name, cells[column.name], true, slack, show(true))


def differences(sheet: ScoreSheet) -> Iterator[CheckedNumber]:
    """Compare each column of differences with its scores minus those of the baseline."""
    for column in sheet.columns:
        scores = _scores_of(sheet, column)
        base = sheet.rows[sheet.baseline].get(scores) if scores else None
        if scores is None or base is None:
            continue
        for row, cells in sheet.rows.items():
            if row != sheet.baseline and scores in cells and column.name in cells:
                own = cells[scores]
                text = f"{own.raw} - {base.raw} = {show_signed(own.value - base.value)}"
                slack = (own.unit + base.unit) / 2
                yield _compared(row, column.name, cells[column.name], own.value - base.value, slack, text)


def _scores_of(sheet: ScoreSheet, column: Column) -> str | None:
    """Return the column of scores that a column of differences is about: by name, or the one before it if unnamed."""
    if not column.is_difference:
        return None
    bare = DIFFERENCE.sub("", column.name, count=1)
    names = [other.name for other in sheet.columns if not other.is_difference]
    if bare in names:
        return bare
    before = [other for other in sheet.columns[: sheet.columns.index(column)] if not other.is_difference]
    return before[-1].name if bare in ("", f"/{column.metric}", column.metric) and before else None


def bold(sheet: ScoreSheet) -> Iterator[CheckedNumber]:
    """Compare bold numbers with the best of their column; skip columns without bold numbers."""
    for column in sheet.columns:
        cells = {row: found[column.name] for row, found in sheet.rows.items() if column.name in found}
        if not any(cell.bold for cell in cells.values()):
            continue
        choose = min if column.lower_is_better and not column.is_difference else max
        best = choose(cell.value for cell in cells.values())
        for row, cell in cells.items():
            if cell.bold or cell.value == best:
                agrees = cell.bold == (cell.value == best)
                comment = "" if agrees else "Bold, but not the best." if cell.bold else "The best, but not bold."
                yield CheckedNumber(f"{row} | {column.name}", agrees, cell.raw, f"best: {show(best)}", comment)


def stars(sheet: ScoreSheet) -> Iterator[CheckedNumber]:
    """Compare each starred score with the baseline: it should be better."""
    for column in sheet.columns:
        base = sheet.rows[sheet.baseline].get(column.name)
        for row, cells in sheet.rows.items():
            cell = cells.get(column.name)
            if cell is None or not cell.star or row == sheet.baseline:
                continue
            against = Decimal(0) if column.is_difference else base.value if base else None
            if against is not None:
                gain = (against - cell.value) if column.lower_is_better else (cell.value - against)
                where = "no difference" if column.is_difference else f"baseline {show(against)}"
                comment = "" if gain > 0 else "Starred, but not better; a star for worse systems needs another mark."
                yield CheckedNumber(f"{row} | {column.name}", gain > 0, f"{cell.raw}*", where, comment)


def _compared(row: str, column: str, printed: Number, true: Decimal, slack: Decimal, text: str) -> CheckedNumber:
    distance = abs(printed.value - true)
    agrees = distance <= slack + printed.unit / 2
    comment = "" if agrees else f"Off by {show(distance)}; rounding explains {show(slack + printed.unit / 2)} at most."
    return CheckedNumber(f"{row} | {column}", agrees, printed.raw, text, comment)


CHECKS: dict[str, tuple[str, Callable[[ScoreSheet], Iterator[CheckedNumber]]]] = {
    "average": ("averages", averages),
    "difference": ("differences to the baseline", differences),
    "bold": ("bold numbers", bold),
    "star": ("stars", stars),
}


def four_points(sheet: ScoreSheet) -> dict[str, str]:
    """Return the questions of Marie et al. (2021, "Scientific Credibility of Machine Translation Research"), answered.

    All four are asked so that "yes" is good.
    """
    metrics = sorted({column.metric for column in sheet.columns})
    others = [name for name in metrics if name.lower() not in ("bleu", "sacrebleu")]
    tested = sheet.about.get("test", "")
    copied = sheet.about.get("copied", "")
    same = sheet.about.get("same data", "")
    starred = any(cell.star for cells in sheet.rows.values() for cell in cells.values())
    return {
        "A metric besides BLEU, or people?":
            f"yes: {', '.join(others)}" if others
            else _text_or_hint(sheet.about.get("better metric", ""), "better metric"),
        "Tested for significance?":
            ("no" if tested.lower() in ("no", "none") else f"yes: {tested}") if tested
            else "stars, but the file does not say which test (`# test:`)" if starred else _text_or_hint("", "test"),
        "All scores computed for this paper?":
            ("yes" if copied.lower() in ("no", "none") else f"no, copied: {copied}") if copied
            else _text_or_hint("", "copied"),
        "Compared systems trained and tested on the same data?": _text_or_hint(same, "same data"),
    }  # fmt: skip


def _text_or_hint(text: str, key: str) -> str:
    return text or f"not said; add `# {key}: ...`"


def report(sheet: ScoreSheet) -> str:
    """Return what does not agree, how much was compared, and the four points."""
    lines, wrong = [sheet.about.get("title") or "Table", f"baseline: {sheet.baseline}", ""], []
    for name, (title, check) in CHECKS.items():
        found = list(check(sheet))
        agreed = sum(one.agrees for one in found)
        lines.append(f"{title}: {agreed} of {len(found)} agree" if found else f"{title}: none in this table")
        wrong += [(name, one) for one in found if not one.agrees]
    lines += ["", "Does not agree" if wrong else "Everything that was compared agrees."]
    for name, one in wrong:
        lines.append(
            f"  {name:<11} {one.cell}: printed {one.printed}, recomputed {one.recomputed}. {one.comment}".rstrip()
        )
    lines += ["", "Marie et al. (2021)"]
    lines += [f"  {question} {answer}" for question, answer in four_points(sheet).items()]
    return "\n".join(lines) + "\n"


def as_json(sheet: ScoreSheet) -> dict[str, object]:
    """Return the checks and the four points as JSON data."""
    found = [
        {
            "check": name, "cell": one.cell, "agrees": one.agrees, "printed": one.printed, "recomputed": one.recomputed,
            "comment": one.comment,
        }
        for name, (_, check) in CHECKS.items()
        for one in check(sheet)
    ]  # fmt: skip
    return {
        "title": sheet.about.get("title", ""),
        "baseline": sheet.baseline,
        "compared": found,
        "marie2021": four_points(sheet),
    }
