"""What was measured during training: JSON lines that only ever grow, and the table of curves made from them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from mdnmt.fsio import write_text

# Only what is a function of data, configuration and seed: no seconds, no speeds.
CURVE_COLUMNS = ("update", "epoch", "split", "domain", "loss", "nll", "ppl", "accuracy", "bleu", "learning_rate")


class MetricsLog:
    """An append-only file of JSON lines that survives kills and restarts.

    Numbers that JSON cannot hold are written as the strings "NaN", "Infinity" and "-Infinity".
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not through fsio: a log that must outlive a kill cannot wait for a rename.
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record in one piece.

        Raises:
            OSError: the file system did not take the whole line; what it took is skipped by readers.
        """
        line = f"{json.dumps(_finite(dict(record)), ensure_ascii=False, allow_nan=False)}\n".encode()
        size = os.fstat(self._file).st_size
        # A writer killed in the middle of its line must not spoil ours.
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(self._file, line) != len(line):
            raise OSError(f"{self.path}: only part of a line could be written")

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return all records in the order in which they were written; torn lines are skipped, no file gives none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    records = []
    # Without its newline even a line that reads as JSON may be cut short: {"loss":1.25} has no prefix that parses,
    # but the rule should not rest on that.
    for line in data.split(b"\n")[:-1]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def deduplicate(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one record for each (update, split, domain), the last one: a resumed run measures some points again.

    Records without an update (remarks, resumes) are left as they are.
    """
    chosen: dict[Any, dict[str, Any]] = {}
    for position, record in enumerate(records):
        key = _key(record) if "update" in record else position
        chosen[key] = dict(record)
    return list(chosen.values())


def write_curves(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write `CURVE_COLUMNS` of every measured point to `path`: tab-separated, sorted, empty where not measured.

    Floats are written so that they read back exactly. The file is a function of the measurements alone, so a run that
    was stopped and resumed gives the bytes of one that was not.
    """
    points = [record for record in deduplicate(records) if "update" in record and "split" in record]
    points.sort(key=_key)
    lines = ["\t".join(CURVE_COLUMNS)]
    lines += ["\t".join(_cell(point.get(column)) for column in CURVE_COLUMNS) for point in points]
    write_text(path, "".join(f"{line}\n" for line in lines))


def _key(record: Mapping[str, Any]) -> tuple[int, str, str]:
    return record["update"], record.get("split") or "", record.get("domain") or ""


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
