"""Plain tables for the report, among them those with the statistics of a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdnmt.exhibits.rows import Column
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, thousands

NONE = "\N{EN DASH}"
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Entry:
    """A cell of a plain table, or a fact about a run: its text, the number to sort by, and its link."""

    text: str
    sort: float | None = None
    code: bool = False
    link: str = ""


@dataclass(frozen=True)
class PlainTable:
    """A table without groups or stars; `numeric` says which columns are numbers, `wide` which are sentences."""

    caption: str
    headers: list[str]
    rows: list[list[Entry]] = field(default_factory=list)
    numeric: list[bool] = field(default_factory=list)
    wide: frozenset[str] = frozenset()


def number(value: Any, places: int = 0, factor: float = 1.0, unit: str = "") -> Entry:
    """Return a cell for a number; a dash for None."""
    if not isinstance(value, int | float):
        return Entry(NONE)
    scaled = value * factor
    return Entry((thousands(scaled) if places == 0 else half_up(scaled, places)) + unit, scaled)


def any_number(value: float | None) -> Entry:
    """Return a cell for a number of any size, with more decimals the smaller it is."""
    if value is None:
        return Entry(NONE)
    if abs(value) >= 1000 or isinstance(value, int):
        return number(value)
    if 0 < abs(value) < 0.01:
        return Entry(f"{value:.2g}".replace("-", "\N{MINUS SIGN}"), value)
    text = half_up(value, 2 if abs(value) >= 1 or value == 0 else 3)
    return Entry(text.replace("-", "\N{MINUS SIGN}"), value)


def optional_json(path: Path | None) -> Any:
    """Return the JSON value in a file; None if there is no file."""
    return read_json(path) if path is not None and path.is_file() else None


def statistics(stats: dict[str, Any], domains: tuple[Column, ...]) -> PlainTable:
    """Return sentences, tokens and vocabulary of each domain and split (stats.json)."""
    measures = ("tokens", 0, 1.0, ""), ("types", 0, 1.0, ""), ("pieces_per_token", 2, 1.0, "")
    rates = ("oov_rate", 2, 100.0, "%"), ("unseen_word_rate", 1, 100.0, "%")
    names = ["tokens", "types", "pieces / token", "unknown words", "unseen words"]
    headers = ["Domain", "Split", "Sentences"]
    headers += [f"{side} {name}" for side in ("Source", "Target") for name in names]
    table = PlainTable(
        "Sentences, words and vocabulary by domain and split", headers, numeric=[False, False] + [True] * 11
    )
    for domain in domains:
        splits = stats.get("domains", {}).get(domain.name, {})
        for split in SPLITS:
            if split not in splits:
                continue
            row = [Entry(domain.label), Entry(split), number(splits[split].get("sentences"))]
            for side in ("source", "target"):
                found = splits[split].get(side, {})
                row += [number(found.get(key), places, factor, unit) for key, places, factor, unit in measures + rates]
            table.rows.append(row)
    return table


def leakage(found: dict[str, Any], domains: tuple[Column, ...]) -> PlainTable:
    """Return how many training sentences are also held out, and how many of them remain.

    `Near` counts held-out sentences that are similar to a remaining training sentence. `Also in test` counts validation
    sentences; these are not removed.
    """
    headers = ["Domain", "Split", "Same source", "Same target", "Same pair", "Removed", "Left"]
    headers += ["Near source", "Near target", "Also in test"]
    table = PlainTable("Training sentences that are also held out", headers, numeric=[False, False] + [True] * 8)
    in_test = found.get("valid_in_test", {})
    for domain in domains:
        for split, counts in found.get("domains", {}).get(domain.name, {}).items():
            keys = ("source", "target", "pair", "removed", "left")
            near = counts.get("near", {})
            values = [*(counts.get(key) for key in keys), near.get("source"), near.get("target")]
            values.append(in_test.get(domain.name) if split == "valid" else None)
            table.rows.append([Entry(domain.label), Entry(split), *map(number, values)])
    return table
