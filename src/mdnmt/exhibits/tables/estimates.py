"""Table of the differences from the baseline: printed, ours with simultaneous intervals, and what would narrow them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from mdnmt.exhibits.baseline_differences import ComparedSystems, Effect, effects, family_of
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons
from mdnmt.exhibits.registry import TableSpec, register
from mdnmt.exhibits.rows import ScoreRow, files_of
from mdnmt.exhibits.seed_scores import row_runs
from mdnmt.numbers.dunnett import Family
from mdnmt.numbers.rounding import half_up, p_value, signed
from mdnmt.numbers.verdicts import MIN_SEEDS

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

PLACES = 2
NARROW = 0.5  # half the width of an interval that says which of two systems is better by a BLEU point
COLUMNS = (
    ("printed", "Printed", "Difference in BLEU"),
    ("difference", "Ours", "Difference in BLEU"),
    ("low", "From", "95 % interval"),
    ("high", "To", "95 % interval"),
    ("p", "p", "Dunnett"),
    ("seeds", "System", "Seeds"),
    ("baseline_seeds", "Baseline", "Seeds"),
    ("seeds_needed", f"for \N{PLUS-MINUS SIGN}{NARROW:g}", "Seeds"),
)
FEW = f"fewer than {MIN_SEEDS} seeds: describes these runs, and is in no test"


@register
class EstimatesTable(TableSpec):
    """Differences in mean BLEU from the baseline; the systems of one table are one family of tests (Dunnett 1955)."""

    kind: Literal["estimates"] = "estimates"
    tables: tuple[ComparedSystems, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study, from those tables in `tables` that the study shows for the task."""
        return cls(**request.common, tables=request.compared_systems)

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        return list(dict.fromkeys(files_of(self.needs())))

    def needs(self) -> tuple[ScoreRow, ...]:
        """Return the scores of all systems and baselines, those of models of single domains apart."""
        return tuple(part for one in self.tables for row in one.rows for part in row.parts)

    @property
    def cells_of_row(self) -> int:
        """Return how many cells a row has."""
        return len(COLUMNS)

    def build(self) -> Grid:
        """Return the table.

        Raises:
            DataError: a file is invalid, or the systems of a table were not scored on the same test sets.
        """
        reasons, rows, notes = Reasons(), [], []
        for one in self.tables:
            found = effects(one, "dunnett")
            family = family_of(found)
            base = one.baseline_label or one.baseline
            if family is not None:
                notes.append(
                    f"{one.label}: {len(family.reaches)} comparisons with {base}; pooled standard deviation "
                    f"between seeds {half_up(family.sd, PLACES)} BLEU."
                )
            rows += [_row(one.label, effect, family, reasons) for effect in found]
        headers = (Header(key=key, label=label, metric=key, group=group) for key, label, group in COLUMNS)
        return Grid(
            kind=self.kind,
            title=self.full_title,
            where=self.where,
            headers=tuple(headers),
            rows=tuple(rows),
            reasons=tuple(reasons.texts),
            notes=(*self._notes(), *notes, *self.notes),
        )

    def _notes(self) -> list[str]:
        return [
            "Mean BLEU over domains, less that of the baseline. Printed: on the paper's own text.",
            "Intervals and p are those of all systems of a table with at least "
            f"{MIN_SEEDS} seeds together, over seeds: Dunnett's test with pooled variance.",
            f"Seeds for \N{PLUS-MINUS SIGN}{NARROW:g}: of each system, for such an interval at the same spread, if the "
            "baseline has \N{SQUARE ROOT}m times as many for m systems.",
        ]


def _row(label: str, effect: Effect, family: Family | None, reasons: Reasons) -> GridRow:
    difference, reach = effect.ours, effect.reach
    known = difference is not None and reach is not None
    ours, base = effect.values
    numbers: dict[str, float | None] = {
        "printed": effect.printed,
        "difference": difference,
        "low": difference - reach if known else None,  # type: ignore[operator]
        "high": difference + reach if known else None,  # type: ignore[operator]
        "p": effect.p,
        "seeds": effect.num_seeds and len(ours),
        "baseline_seeds": effect.num_seeds and len(base),
        "seeds_needed": family.seeds_for(NARROW) if family is not None and reach is not None else None,
    }
    why = effect.row.why_missing or (FEW if effect.num_seeds < MIN_SEEDS else None)
    return GridRow(
        group=label,
        label=effect.row.label,
        method=effect.row.method,
        cells=tuple(_cell(key, numbers[key], effect.num_seeds) for key, *_ in COLUMNS),
        marks=(reasons.mark(why),) if why else (),
        runs=row_runs(effect.row),
    )


def _cell(key: str, value: float | None, num_seeds: int) -> Cell:
    if value is None or (key.endswith("seeds") and not value):
        return Cell()
    if key == "p":
        text = p_value(value).removeprefix("p\N{NO-BREAK SPACE}").removeprefix("=\N{NO-BREAK SPACE}")
    else:
        text = half_up(value, 0) if "seeds" in key else signed(value, PLACES)
    return Cell(text=text, mean=float(value), num_seeds=0 if key == "printed" else num_seeds)
