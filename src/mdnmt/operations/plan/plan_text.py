"""Print the plan in 80 columns: rounded numbers, ranges, and the source of each estimate."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from math import floor, log10

from mdnmt.operations.plan.exhibit_needs import TableNeeds
from mdnmt.operations.plan.run_plan import RunPlan
from mdnmt.operations.plan.study_plan import Plan
from mdnmt.operations.plan.time_estimates import Estimate, total

WIDTH = 80
DASH = "\N{EN DASH}"
NONE = "-"


def round_estimate(value: float) -> str:
    """Round an estimate to one significant digit, or to two if the first is 1 or 2 (0.13, 4, 27, 300)."""
    if value <= 0:
        return "0"
    power = floor(log10(value))
    digits = 1 if value / 10**power < 3 else 0
    rounded = round(value, digits - power)
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def format_range(low: float, high: float) -> str:
    """Return a range of rough numbers; one number where both are the same."""
    ends = round_estimate(low), round_estimate(high)
    return ends[0] if ends[0] == ends[1] else DASH.join(ends)


def format_time(found: Estimate | None) -> str:
    """Return a time in seconds, minutes (below two hours) or hours."""
    if found is None:
        return "not known"
    if found.high == 0:
        return NONE
    unit, seconds = ("h", 3600) if found.high >= 7200 else ("min", 60) if found.high >= 60 else ("s", 1)
    return f"{format_range(found.low / seconds, found.high / seconds)} {unit}"


def format_bytes(low: int, high: int) -> str:
    """Return a number of bytes in decimal units."""
    if high == 0:
        return NONE
    units = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}
    unit, size = next((found for found in units.items() if high >= found[1]), ("kB", 10**3))
    return f"{format_range(low / size, high / size)} {unit}"


class Sources:
    """Numbers the sources of estimates; a source that occurs again keeps its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, estimates: Iterable[Estimate | None]) -> str:
        """Return the numbers of the sources of some estimates, such as `[1]` or `[1, 2]`."""
        texts = dict.fromkeys(one.source for one in estimates if one is not None and one.source)
        self.texts += [text for text in texts if text not in self.texts]
        found = [str(self.texts.index(text) + 1) for text in texts]
        return f"[{', '.join(found)}]" if found else ""


def plan_text(plan: Plan) -> str:
    """Return the whole plan."""
    sources = Sources()
    parts = [_head(plan), _tasks(plan, sources), _runs(plan, sources), _tables(plan), _missing(plan)]
    parts += ["\n".join(line for note in plan.notes for line in wrapped(note)), _sources(plan, sources)]
    return "\n\n".join(part for part in parts if part)


def cells_text(plan: Plan, table: TableNeeds) -> str:
    """Return which runs the cells of a table need, row by row."""
    ready, to_come, never = plan.cells(table)
    lines = [
        *wrapped(f"{table.key}: {table.title}"),
        f"{ready} cells ready, {to_come} to come, {never} cannot be made",
    ]
    if table.missing:
        lines += wrapped(table.missing)
    lacking = [one for one in plan.absences if table.key in one.cells]
    numbers = {one.reason: str(number) for number, one in enumerate(lacking, start=1)}
    for row in table.rows:
        lines += ["", *wrapped(f"{row.label} ({_number(row.cells, 'cell')})")]
        if row.never:
            marks = ", ".join(numbers[reason] for reason in row.absent)
            lines.append(f"  {'' if row.never == row.cells else f'{row.never} '}cannot be made [{marks}]")
        if not row.runs and row.never < row.cells:
            lines.append(f"  needs no training; {'ready' if row.is_ready else 'not made yet'}")
        for name in row.runs:
            run = plan.by_name[name]
            state = "scored" if run.translated else run.state
            lines.append(in_columns((name, 48), (state, 14), (format_time(total(_left(run))), -16), indent=2))
    lines += [""] if lacking else []
    for one in lacking:
        cells, of = one.cells[table.key]
        lines += wrapped(f"[{numbers[one.reason]}] {cells} of {of} cells cannot be made: {one.reason}")
    return "\n".join(lines)


def _head(plan: Plan) -> str:
    study, unit = plan.study, "GPU" if plan.device == "cuda" else "CPU thread"
    unit = f"{unit}, an {plan.card.name}" if plan.card else unit
    unit += " of the cluster" if plan.on_cluster else ""
    states = [one.state for one in plan.runs]
    counts = ", ".join(
        f"{states.count(state)} {state}" for state in ("done", "begun", "to do", "cannot be made") if state in states
    )
    shown = sum(len(table.runs) for table in plan.tables)
    counts_of_seeds = sorted({len(study.config.seeds_for(run.run.method)) for run in plan.runs})
    seeds = _number(counts_of_seeds[-1], "seed") if counts_of_seeds else "no seed"
    seeds = f"{counts_of_seeds[0]} to {seeds}" if len(counts_of_seeds) > 1 else seeds
    spent = sum(one.spent_seconds or 0 for one in plan.runs)
    lines = [
        *wrapped(f"{study.name}: {study.config.title}"),
        *wrapped(
            f"{len(plan.runs)} runs ({_number(len(study.tasks), 'task')}, {seeds}): {counts}."
            + (f" The tables use them {shown} times; each is trained once." if shown > len(plan.runs) else "")
        ),
    ]
    left = plan.left
    lines += wrapped(
        f"Time of one {unit}: {format_time(left) if left.high else 'none'} left to train and translate"
        + (f"; {format_time(Estimate(spent, spent, ''))} spent on what is done." if spent else ".")
    )
    lines += _measured(plan)
    low, high = plan.to_add
    used = format_bytes(plan.used_bytes, plan.used_bytes) if plan.used_bytes else "nothing"
    lines += wrapped(f"Disk: {format_bytes(low, high) if high else 'nothing'} to come, {used} used so far.")
    if study.config.external:
        labels = ", ".join(system.label for system in study.config.external.values())
        lines += wrapped(f"External systems, not trained here: {labels}.")
    if plan.memory_bytes:
        where = "of the GPU" if plan.device == "cuda" else "of a node" if plan.on_cluster else "of a machine"
        need = format_bytes(plan.memory_bytes, plan.memory_bytes)
        has = f"; an {plan.card.name} has {plan.card.memory_gb:g} GB" if plan.card else ""
        lines += wrapped(f"Memory {where}: about {need} for the largest training{has}.")
    everything = plan.if_all
    if everything.high > left.high:
        more = plan.to_add_if_all
        lines += wrapped(
            f"Including what cannot be made now: {format_time(everything)} and {format_bytes(*more)} of disk for runs."
        )
    return "\n".join(lines)


def _measured(plan: Plan) -> Iterator[str]:
    """Say whose measured speed the times of a GPU are from, or how to measure it."""
    if plan.device != "cuda" or (plan.is_measured and plan.card is None):
        return iter(())
    if plan.card is None:
        return wrapped(
            "No training was measured on this GPU: the times are a rule of thumb. `make gpu` in a clone measures some; "
            "`--card NAME` plans for a card of config/cards.yaml."
        )
    if not plan.is_measured:
        return wrapped(
            f"No training was measured on an {plan.card.name}: the times are a rule of thumb for any GPU. `make gpu` "
            "in a clone measures some, and `python benchmarks/card_speeds.py` adds them to config/cards.yaml."
        )
    peaks = [one.peak_mib * 2**20 / 1e9 for one in plan.card.measured if one.peak_mib]
    most = f"; they needed {min(peaks):.0f} to {max(peaks):.0f} GB of its memory" if peaks else ""
    return wrapped(
        f"Speed: scaled from {_number(len(plan.card.measured), 'training')} measured on an {plan.card.name} "
        f"(config/cards.yaml){most}. Validations and checkpoints are not in them."
    )


def _tasks(plan: Plan, sources: Sources) -> str:
    lines = [in_columns(("Task data", 28), ("state", 15), ("corpora", -8), ("time", -12), ("disk", -11))]
    for task in plan.tasks:
        there = sum(one.fetched for one in task.corpora)
        disk = format_bytes(task.used_bytes, task.used_bytes)
        if task.state != "done":
            disk = "not known" if task.to_add is None else format_bytes(task.to_add, task.to_add)
        lines.append(
            in_columns(
                (task.name, 28),
                (task.state, 15),
                (f"{there}/{len(task.corpora)}", -8),
                (format_time(task.make), -12),
                (disk, -11),
                indent=2,
            )
            + f" {sources.mark([task.make])}".rstrip()
        )
        if found := ", ".join(f"{name} {of['bleu']:.1f}" for name, of in task.ceilings.items() if "bleu" in of):
            lines += wrapped(f"BLEU of a perfect system: {found}", 4)
    new = dict.fromkeys(name for task in plan.study.tasks.values() for name in task.first_downloads)
    if new:
        lines += wrapped(f"Downloaded first, and their checksums recorded: {', '.join(new)}.", 2)
    return "\n".join(lines)


def _runs(plan: Plan, sources: Sources) -> str:
    several = len(plan.study.tasks) > 1
    heads = (("Runs, one line per method", 30), ("done", -5), ("params", -8), ("time left", -13), ("disk", -12))
    lines = [in_columns(*heads)]
    for task in plan.study.tasks:
        if several:
            lines.append(f"  {task}")
        rows: dict[str, list[RunPlan]] = {}
        for one in plan.runs:
            if one.run.task == task:
                rows.setdefault(one.run.directory, []).append(one)
        lines += [_run_line(directory, ones, sources) for directory, ones in rows.items()]
    return "\n".join(lines)


def _run_line(directory: str, ones: list[RunPlan], sources: Sources) -> str:
    done = sum(one.state == "done" for one in ones)
    state = "begun" if len(ones) == 1 and ones[0].state == "begun" else f"{done}/{len(ones)}"
    left = [part for one in ones for part in _left(one)]
    known = all(one.train is not None for one in ones)
    low, high = (sum(one.to_add[end] for one in ones) for end in (0, 1))
    parameters = f"{round_estimate(ones[0].parameters / 1e6)} M" if ones[0].parameters else NONE
    line = in_columns(
        (directory, 30),
        (state, -5),
        (parameters, -8),
        (format_time(total(left)) if known else "not known", -13),
        (format_bytes(low, high), -12),
        indent=2,
    )
    return f"{line} {sources.mark(left)}".rstrip()


def _tables(plan: Plan) -> str:
    if not plan.tables:
        return ""
    lines = [in_columns(("Tables", 34), ("runs", -6), ("cells", -8), ("ready", -8), ("to come", -10), ("cannot", -9))]
    for table in plan.tables:
        ready, to_come, never = plan.cells(table)
        numbers = ((len(table.runs), -6), (table.cells, -8), (ready, -8), (to_come, -10), (never, -9))
        lines.append(in_columns((table.key, 34), *((str(value), width) for value, width in numbers), indent=2))
    lines.append(f"  `mdnmt plan {plan.study.name} --cells TABLE` says which runs the cells need")
    return "\n".join(lines)


def _missing(plan: Plan) -> str:
    lines = ["Cannot be made"] if plan.absences else []
    for absence in plan.absences:
        lines += wrapped(str(absence), 2)
    return "\n".join(lines)


def _sources(plan: Plan, sources: Sources) -> str:
    lines = ["Where the times are from"] if sources.texts else []
    for number, text in enumerate(sources.texts, start=1):
        lines += wrapped(f"[{number}] {text}", 2)
    if plan.guessed and any(one.parameters for one in plan.runs):
        lines += wrapped(f"Vocabularies not built yet, sizes guessed from their merges: {', '.join(plan.guessed)}.", 2)
    if lines:
        lines += wrapped("Scores, tests, tables and figures take minutes and are not counted.", 2)
    return "\n".join(lines)


def _left(one: RunPlan) -> list[Estimate]:
    return [part for part in (one.train, one.decode) if part is not None]


def _number(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def in_columns(*cells: tuple[str, int], indent: int = 0) -> str:
    """Return a line of cells, each with its width; a negative width aligns the cell to the right."""
    texts = [text.ljust(width) if width > 0 else text.rjust(-width) for text, width in cells]
    first, width = " " * indent + cells[0][0], cells[0][1]
    # A long name gets its own line, so that the other columns stay aligned.
    texts[0] = first.ljust(width) if len(first) < width else f"{first}\n{' ' * width}"
    return "".join(texts).rstrip()


def wrapped(text: str, indent: int = 0) -> Iterator[str]:
    """Return a text as lines of `WIDTH` columns."""
    blank = " " * indent
    after = blank + "  " * (indent > 0)
    return iter(textwrap.wrap(text, WIDTH, initial_indent=blank, subsequent_indent=after, break_on_hyphens=False))
