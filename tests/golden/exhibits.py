"""What a finished study shows: every cell, measure, verdict and number, as they were recorded.

Whoever rewrites the way from scores to the page makes `smoke` or `demo`, then compares it number by number:

    PYTHONPATH=tests .venv/bin/python tests/golden/exhibits.py smoke            # exit 1 and a line for each difference
    PYTHONPATH=tests .venv/bin/python tests/golden/exhibits.py smoke --record

Measured times, energy and memory differ from run to run and are left out. All other numbers are the same on machines
with the same kind of processor; the first line names the one that recorded them.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mdnmt.provenance import cpu_model

GOLDEN = Path(__file__).parent
# About the making of a file, not about what it shows.
MAKING = {"format", "made", "made_from", "made_with", "runs", "seal", "sealed_at"}
MEASURED = {"others_percent", "peak_memory_mb"}
COLUMNS = ("task", "method", "variant", "label_condition", "seed", "split", "domain", "metric", "at")


def flat(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Yield (key, value as JSON) of each leaf; what is null or empty is what an absent key is."""
    if isinstance(value, dict):
        for name, inner in sorted(value.items()):
            if name not in MAKING:
                yield from flat(inner, f"{key}/{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from flat(inner, f"{key}/{place}")
    elif value not in (None, "", False):
        yield key, json.dumps(value, ensure_ascii=False)


def of_table(grid: dict[str, Any], key: str) -> Iterator[tuple[str, str]]:
    """Yield what a table shows; of one with measured resources, its layout and the printed numbers."""
    if grid["kind"] == "resources":
        grid = {name: grid[name] for name in ("title", "where", "headers", "rows")}
        for row in grid["rows"]:
            row["cells"] = [{"published": cell.get("published")} for cell in row["cells"]]
    rows = {f"{place} {row['group']} {row['label']}": row for place, row in enumerate(grid.pop("rows"))}
    heads = [f"{head['group']} {head['label']}" for head in grid["headers"]]
    yield from flat(grid, key)
    for name, row in rows.items():
        cells = row.pop("cells")
        yield from flat(row, f"{key}/{name}")
        for place, (head, cell) in enumerate(zip(heads, cells, strict=True)):
            yield from flat(cell, f"{key}/{name}/{place} {head}")


def of_figure(found: dict[str, Any], key: str) -> Iterator[tuple[str, str]]:
    """Yield the measures of a figure, by what they measure."""
    yield f"{key}/title", json.dumps(found["title"], ensure_ascii=False)
    for measure in found["measures"]:
        value = measure.pop("value")
        yield f"{key}/{json.dumps(measure, ensure_ascii=False, sort_keys=True)}", repr(value)


def of_claims(found: dict[str, Any], measured: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the verdicts on a paper's claims; of those that rest on a table in `measured`, the rule alone."""
    for outcome in found["outcomes"]:
        shown = {"rule": outcome["rule_text"]} if measured & set(outcome["evidence"]) else outcome
        yield from flat(shown, f"claims/{outcome['id']}")


def of_numbers(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the rows of numbers.csv."""
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["metric"] not in MEASURED and "second" not in row["metric"]:
                key = "/".join(row[name] for name in COLUMNS)
                yield f"numbers/{key}", f"{row['value']} {row['n']} {row['signature']}"


def shown(study: str) -> dict[str, str]:
    """Return key -> value of everything that a finished study shows."""
    folder = Path("results", study)
    found, measured = dict(of_numbers(folder / "numbers.csv")), set[str]()
    for path in sorted((folder / "tables").glob("*.json")):
        grid = json.loads(path.read_text(encoding="utf-8"))
        if grid["kind"] == "resources":
            measured.add(path.stem)
        found |= of_table(grid, f"tables/{path.stem}")
    for path in sorted((folder / "figures").glob("*.json")):
        found |= of_figure(json.loads(path.read_text(encoding="utf-8")), f"figures/{path.stem}")
    for path in sorted((folder / "claims").glob("*.json")):
        found |= of_claims(json.loads(path.read_text(encoding="utf-8")), measured)
    return found


def main() -> int:
    """Compare or record; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", help="a study whose results are in results/")
    parser.add_argument("--record", action="store_true", help="write them instead of comparing")
    args = parser.parse_args()
    now, path = shown(args.study), GOLDEN / f"{args.study}.tsv.xz"
    if args.record:
        lines = [f"processor\t{cpu_model()}", *(f"{key}\t{value}" for key, value in sorted(now.items()))]
        path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))
        return 0
    head, *lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    recorded = {key: value for key, _, value in (line.partition("\t") for line in lines)}
    differ = [key for key in sorted(now.keys() | recorded.keys()) if now.get(key) != recorded.get(key)]
    for key in differ:
        print(f"{key}: {recorded.get(key, 'not there')} before, {now.get(key, 'not there')} now")
    print(f"{len(recorded)} recorded on {head.partition(chr(9))[2]}, {len(differ)} differ")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
