"""Tables of what gpu_slot.py found, in Markdown as in docs/gpus.md: `python benchmarks/gpu_page.py gpu.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], str]]


def measured_rows(found: dict[str, Any]) -> Iterator[Row]:
    """Yield what was measured on this card, one row a case: card, torch, stage, case and figures.

    What failed, or could not be measured, and figures of tiny sizes are not among them.
    """
    stages = found["stages"]
    card = stages.get("card", {}).get("rows", {}).get("card", {})
    for stage, one in stages.items() if not found["tiny"] else ():
        for case, row in one["rows"].items():
            if "absent" not in row and "failed" not in row:
                yield {"card": card.get("name"), "torch": card.get("torch"), "stage": stage, "case": case, **row}


def tables(found: dict[str, Any]) -> str:
    """Return the tables of all stages that were done."""
    stages = found["stages"]
    parts = ["Tiny sizes: no figure here says anything about speed."] if found["tiny"] else []
    for stage, (title, columns) in TABLES.items():
        if stage in stages:
            parts.append(f"**{title}** ({stages[stage]['seconds']:,.0f} s)\n\n{_table(stages[stage]['rows'], columns)}")
    return "\n\n".join(
        [*parts, f"Code {found['code']}; all stages: {sum(one['seconds'] for one in stages.values()):,.0f} s."]
    )


def _table(rows: dict[str, Row], columns: list[Column]) -> str:
    """Return a table; a case without figures has its reason in the last column."""
    shown = [column for column in columns if any(column[1](row) for row in rows.values())]
    lines = [["", *(name for name, _ in shown), "not measured"], ["---", *("---:" for _ in shown), "---"]]
    for name, row in rows.items():
        why = f"failed: {row['failed']}" if "failed" in row else row.get("absent", "")
        lines.append([name, *(show(row) for _, show in shown), why.replace("|", "\\|")])
    if not any(line[-1] for line in lines[2:]):
        lines = [line[:-1] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(key: str, form: str = ",.0f", scale: float = 1.0) -> Callable[[Row], str]:
    return lambda row: format(scale * row[key], form) if isinstance(row.get(key), int | float) else ""


def _word(key: str) -> Callable[[Row], str]:
    return lambda row: {True: "yes", False: "no"}.get(row[key], str(row[key])) if key in row else ""


def _categories(row: Row) -> str:
    spent = sorted(row.get("kernel_ms", {}).items(), key=lambda one: -one[1])
    return ", ".join(f"{name} {ms:.1f}" for name, ms in spent)


SPEED: list[Column] = [
    ("parameters, 10⁶", _number("parameters", ",.1f", 1e-6)),
    ("tokens/s", _number("tokens_per_second")),
    ("ms per update", _number("seconds_per_update", ",.1f", 1e3)),
    ("% of the matrix rate", _number("share_of_rate", ".1f", 100)),
    ("launches", _number("launches_per_update")),
    ("synchronisations", _number("synchronisations_per_update")),
    ("updates replayed", _number("replayed_updates")),
    ("peak MiB", _number("peak_mib")),
]
TABLES: dict[str, tuple[str, list[Column]]] = {
    "card": (
        "The machine",
        [
            ("card", _word("name")),
            ("torch", _word("torch")),
            ("memory, MiB", _number("memory_mib")),
            ("cores", _number("cores")),
            ("MPS", _word("mps")),
            ("bf16 products, TFLOP/s", _number("matrix_rate", ",.2f", 1e-12)),
        ],
    ),
    "gate": (
        "Graphs against eager updates",
        [
            ("target tokens", _number("target_tokens")),
            ("updates replayed", _number("replayed_updates")),
            ("same bits", _word("bits_equal")),
            ("resumed, same bits", _word("resumed_bits_equal")),
            ("error", _number("error", ".1e")),
            ("why eager", _word("why_eager")),
        ],
    ),
    "papers": (
        "The papers' models at their printed size",
        [
            *SPEED,
            ("planned MiB", _number("planned_mib")),
            ("planned updates", _number("planned_updates")),
            ("hours", _number("hours", ",.1f")),
        ],
    ),
    "large": ("Batches of 25,000 tokens", SPEED),
    "kernels": (
        "Kernels of an eager update",
        [
            ("launches", _number("launches_per_update")),
            ("% of the time in kernels", _number("busy_share", ".0f", 100)),
            ("ms", _categories),
        ],
    ),
    "compiled": ("torch.compile of the plain Transformer", SPEED),
    "small": (
        "Small trainings side by side",
        [
            ("tokens/s, all together", _number("tokens_per_second")),
            ("% of updates replayed", _number("replayed_share", ".0f", 100)),
        ],
    ),
    "tests": ("tests/gpu", [("passed", _word("passed")), ("outcome", _word("outcome"))]),
    "study": (
        "The study",
        [("runs done", _number("runs_done")), ("runs", _number("runs")), ("minutes", _number("minutes", ".1f"))],
    ),
}


if __name__ == "__main__":
    print(tables(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
