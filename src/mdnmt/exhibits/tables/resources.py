"""Table of what each system costs: parameters, time, throughput, memory (Song et al. 2026, Table 4)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from mdnmt.exhibits.best_by_validation import choose_best
from mdnmt.exhibits.distinct_labels import distinct_rows
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons
from mdnmt.exhibits.published_cells import annotate, first_reason, with_published
from mdnmt.exhibits.registry import ComparedTableSpec, register
from mdnmt.exhibits.rows import ResourceRow
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, standard_deviation, thousands
from mdnmt.numbers.verdicts import Judgement, Printed, judge, judge_count

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

# key in measure.json, group above, label, divisor, decimals
QUANTITIES = (
    ("num_parameters", "Model", "Parameters (M)", 1e6, 2),
    ("parameters_per_domain", "Model", "per domain (M)", 1e6, 2),
    ("train_seconds_per_update", "Training", "s / update", 1, 3),
    ("epoch_seconds", "Training", "s / epoch", 1, 1),
    ("train_tokens_per_second", "Training", "tokens / s", 1, 0),
    ("epoch_watt_hours", "Training", "Wh / epoch", 1, 3),
    ("decode_seconds_per_batch", "Decoding", "s / batch", 1, 3),
    ("decode_sentences_per_second", "Decoding", "sentences / s", 1, 1),
    ("decode_tokens_per_second", "Decoding", "tokens / s", 1, 0),
    ("decode_joules_per_batch", "Decoding", "J / batch", 1, 1),
    ("peak_memory_mb", "Memory", "peak (MiB)", 1, 0),
)
# key in measure.json -> what the published number is called in ResourceRow.printed
PRINTED = {
    "num_parameters": "parameters",
    "train_seconds_per_update": "seconds_per_update",
    "epoch_seconds": "seconds_per_epoch",
    "decode_seconds_per_batch": "seconds_per_batch",
    "peak_memory_mb": "memory",
}
# A speed relative to the baseline row comes after the quantity it is computed from.
RELATIVE = {"train_tokens_per_second": "relative", "decode_tokens_per_second": "relative"}

ENERGY = ("epoch_watt_hours", "decode_joules_per_batch")

# If other processes take more than this share of all cores during a measurement, its results are in doubt.
BUSY_PERCENT = 15.0


def _shown(value: float, divisor: float, places: int) -> str:
    return thousands(value) if places == 0 else half_up(value / divisor, places)


OTHER_MACHINE = "measured on another machine than the paper's"


def _cells(
    spec: ResourcesTable, row: ResourceRow, measured: dict[str, Any], baseline: dict[str, Any], keys: set[str]
) -> list[Cell]:
    cells = []
    for key, _, _, divisor, places in QUANTITIES:
        if key not in keys:
            continue
        value = measured.get(key)
        cell = Cell()
        if value is not None:
            cell = Cell(text=_shown(value, divisor, places), values=(value,), mean=value, num_seeds=1)
            spread = standard_deviation(tuple(measured.get("values", {}).get(key, ())))
            if spread is not None:
                cell = cell.model_copy(update={"sd": spread, "spread": _shown(spread, divisor, places)})
        printed = row.printed.get(PRINTED.get(key, key))
        cells.append(with_published(cell, printed, _judgement(spec, key, value, printed), percent=True))
        if key in RELATIVE:
            reference = baseline.get(key)
            ratio = value / reference if value is not None and reference else None
            text = "\N{EN DASH}" if ratio is None else f"{half_up(ratio, 2)}\N{MULTIPLICATION SIGN}"
            cells.append(Cell(text=text, mean=ratio, num_seeds=0 if ratio is None else 1))
    return cells


def _judgement(spec: ResourcesTable, key: str, value: float | None, printed: Printed | None) -> Judgement | None:
    """Return the verdict; only numbers of parameters can be compared, since the paper used another machine."""
    differs = first_reason(spec.differs, spec.metric_differs.get(PRINTED.get(key, key)))
    if key == "num_parameters":
        return judge_count(value, printed, differs)
    return judge(() if value is None else (value,), printed, differs or OTHER_MACHINE)


def _headers(keys: set[str], baseline_label: str | None) -> list[Header]:
    headers = []
    for key, group, label, _, places in QUANTITIES:
        if key not in keys:
            continue
        headers.append(Header(key=key, label=label, metric=key, group=group, places=places))
        if key in RELATIVE:
            name = f"vs {baseline_label}" if baseline_label else "relative"
            headers.append(Header(key=f"{key}_relative", label=name, metric=f"{key}_relative", group=group))
    return headers


def _notes(spec: ResourcesTable, measured: dict[str, Any], baseline_label: str | None) -> list[str]:
    notes = []
    hardware = measured.get("hardware", {})
    if hardware:
        cores = hardware.get("cores")
        parts = [str(hardware.get("cpu", "unknown processor")), f"{cores} cores" if cores else ""]
        device = str(hardware.get("device", ""))
        parts.append(f"on {hardware.get('gpu') or device}" if device and device != "cpu" else "on the CPU")
        notes.append(f"Measured on {', '.join(part for part in parts if part)}; {_company(hardware)}.")
    repeats = {row.get("repeats") for row in measured.get("rows", {}).values()} - {None}
    if repeats:
        several = "; shown is their median, \N{PLUS-MINUS SIGN} their standard deviation" if max(repeats) > 1 else ""
        notes.append(f"Repeats of each measurement: {' or '.join(str(n) for n in sorted(repeats))}{several}.")
    if hardware and not any(name in row for row in measured["rows"].values() for name in ENERGY):
        notes.append("Energy: this machine does not report it (docs/robustness.md#resources).")
    if baseline_label:
        notes.append(f"vs {baseline_label}: tokens per second relative to {baseline_label}.")
    return [*notes, *spec.notes]


@register
class ResourcesTable(ComparedTableSpec):
    """Parameters, time, throughput and memory of each system (Song et al. 2026, Table 4)."""

    kind: Literal["resources"] = "resources"
    rows: tuple[ResourceRow, ...]
    measure: Path | None = None  # measure.json; None: not measured, the reason in `missing`
    missing: str | None = None
    baseline: str | None = None
    baseline_label: str | None = None  # its label if no row shows it
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        rows = (
            ResourceRow(
                group=row.group,
                label=row.label or runs[0].label,
                method=runs[0].directory,
                missing=runs[0].missing,
                printed=request.printed.resources(row, runs[0]),
                **request.choice(choice, runs),
            )
            for row, runs, choice in request.rows()
        )
        return cls(
            **request.common,
            **request.compared_with_print,
            **request.baseline,
            **request.measured(),
            rows=distinct_rows(*rows),
        )

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        records = [path for row in self.rows for path in row.records]
        return records + ([self.measure] if self.measure else [])

    def needs(self) -> tuple[ResourceRow, ...]:
        """Return its rows."""
        return self.rows

    @property
    def cells_of_row(self) -> int:
        """Return how many cells a row has."""
        return len(QUANTITIES)

    def build(self) -> Grid:
        """Return the table.

        Raises:
            DataError: measure.json is damaged.
        """
        measured: dict[str, Any] = read_json(self.measure) if self.measure else {}
        found: dict[str, dict[str, Any]] = measured.get("rows", {})
        baseline: ResourceRow | None = next((row for row in self.rows if row.method == self.baseline), None)
        label = baseline.label if baseline else self.baseline_label
        chosen, choices = choose_best(self.rows)
        spec = self.model_copy(update={"rows": chosen, "notes": (*choices, *self.notes)})
        keys = {key for key, *_ in QUANTITIES if any(found.get(r.method, {}).get(key) is not None for r in spec.rows)}
        keys |= {key for key, name in PRINTED.items() if any(name in row.printed for row in spec.rows)}
        keys = keys or {"num_parameters", "train_tokens_per_second", "decode_tokens_per_second", "peak_memory_mb"}
        reasons, rows = Reasons(), []
        for row in spec.rows:
            marks = []
            if row.missing or row.method not in found:
                marks.append(reasons.mark(row.missing or spec.missing or "not measured"))
            elif why := _shared(found[row.method]):
                marks.append(reasons.mark(why))
            cells = _cells(spec, row, found.get(row.method, {}), found.get(spec.baseline or "", {}), keys)
            rows.append(
                GridRow(group=row.group, label=row.label, method=row.method, cells=tuple(cells), marks=tuple(marks))
            )
        grid = Grid(
            kind="resources",
            title=spec.full_title,
            where=spec.where,
            headers=tuple(_headers(keys, label)),
            rows=tuple(rows),
            baseline=spec.baseline,
            baseline_label=label,
            reasons=tuple(reasons.texts),
            notes=tuple(_notes(spec, measured, label)),
            busy=is_busy(measured.get("hardware", {})),
        )
        return annotate(grid, spec.margin)


def _shared(measured: dict[str, Any]) -> str | None:
    """Return how other processes disturbed the measurement of a row; None if nothing is recorded."""
    on_gpu = measured.get("others_on_gpu")
    if on_gpu:
        return "time and energy were measured while other processes used the same GPU"
    share = measured.get("others_percent", 0.0)
    if share > BUSY_PERCENT:
        return f"time and energy were measured while other processes took more than {BUSY_PERCENT:g} % of the machine"
    return None


def is_busy(record: dict[str, Any]) -> bool:
    """Return whether other processes used the machine so much that time, energy and memory are in doubt.

    Args:
        record: of one measurement or of all: how much of the cores and of the GPU other processes used.
    """
    share = record.get("others_percent", record.get("busy_percent"))
    return bool(record.get("others_on_gpu")) or (share or 0.0) > BUSY_PERCENT


def _company(hardware: dict[str, Any]) -> str:
    """Return in words how much other processes used the machine; if too much, claims on time and memory stay open."""
    busy, on_gpu = hardware.get("busy_percent"), hardware.get("others_on_gpu")
    if busy is None and on_gpu is None:
        return "one run after the other"
    if not is_busy(hardware):
        return "one run after the other, with the machine to itself"
    who = "other processes used the GPU" if on_gpu else f"other processes took up to {busy:.0f} % of the machine"
    return (
        f"one run after the other, but {who}: these figures do not compare the methods; measure again when it is idle"
    )
