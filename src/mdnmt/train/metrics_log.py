"""Log measurements during training as JSON lines, and write the table of learning curves from them."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from mdnmt.energy import Meter, energy_meter
from mdnmt.fsio import write_text

_CHECKSUM = "crc32"  # key of the checksum of a record's other keys
# A third value of `split` is "train": the training batches themselves, with dropout.
VALIDATION = "valid"
TRAINING_SAMPLE = "train-sample"
# Only quantities that are determined by data, configuration and seed: no times, no speeds.
CURVE_COLUMNS = ("update", "epoch", "split", "domain", "loss", "nll", "ppl", "accuracy", "bleu", "learning_rate")


class MetricsLog:
    """An append-only file of JSON lines that survives kills and restarts.

    Numbers that JSON cannot represent are written as the strings "NaN", "Infinity" and "-Infinity". `mirror`, if it is
    set, receives every record after it is written.

    The log also measures energy. An attempt begins with an event that names its device. To this record, and to each
    later one with `seconds`, the log adds `energy` if the reading has changed. Where nothing measures energy, only the
    first record says so.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mirror: Callable[[Mapping[str, Any]], None] | None = None
        self._energy: Meter | None = None
        self._reading: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        # Appended directly, not through fsio: records must survive a kill, so they cannot wait for a rename.
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record with one system call.

        Raises:
            OSError: the line was not written completely; the error names the file. Readers skip a partial line.
        """
        if "event" in record and "device" in record:
            self._energy, self._reading = energy_meter(record["device"], record.get("workers", 1)), {}
        plain = _json_safe(dict(record))
        if self._energy is not None and ("device" in record or "seconds" in record):
            reading = self._energy.read()
            if reading != self._reading:
                plain["energy"] = self._reading = reading
        line = f"{json.dumps({**plain, _CHECKSUM: _checksum(plain)}, ensure_ascii=False, allow_nan=False)}\n".encode()
        size = os.fstat(self._file).st_size
        # If a kill left the previous line incomplete, start a new line.
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            line = b"\n" + line
        try:
            written = os.write(self._file, line)
        except OSError as error:
            error.filename = str(self.path)  # os.write does not know the name
            raise
        if written != len(line):  # the disk filled up in the middle of the line
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        if self.mirror is not None:
            self.mirror(record)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
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
    """Return all records in the order in which they were written; an empty list if there is no file.

    Truncated or altered lines are skipped with a message on stderr.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    records = []
    # What follows the last newline may be truncated even if it parses as JSON.
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        record = _record(line)
        if record is not None:
            records.append(record)
        elif line:
            print(f"mdnmt: {path}: line {number} was cut short or altered and is left out", file=sys.stderr)
    return records


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    # Lines of earlier versions have no checksum.
    if not isinstance(record, dict) or record.pop(_CHECKSUM, None) not in (None, _checksum(record)):
        return None
    if "words_per_second" in record:  # the field's name up to version 7 of the stage `train`
        record["tokens_per_second"] = record.pop("words_per_second")
    return record


def _checksum(record: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(record, ensure_ascii=False).encode())


def deduplicate(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the last record of each (update, split, domain): a resumed run measures some points again.

    Records without an update (events such as a resume) are all kept.
    """
    chosen: dict[Any, dict[str, Any]] = {}
    for position, record in enumerate(records):
        key = _key(record) if "update" in record else position
        chosen[key] = dict(record)
    return list(chosen.values())


def lost_validations(records: Iterable[Mapping[str, Any]], every: int, last: int) -> list[int]:
    """Return the updates up to `last` at which a validation was due but has no record in `records`."""
    measured = {record.get("update") for record in records if record.get("split") == VALIDATION}
    return [update for update in range(every, last + 1, every) if update not in measured]


def write_curves(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write `CURVE_COLUMNS` of every measured point to `path`: tab-separated, sorted, empty if not measured.

    Floats are written so that they read back exactly. The file depends on the measurements alone, so a run that was
    stopped and resumed gives the same bytes as one that was not.
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


def _json_safe(value: Any) -> Any:
    """Return the value with NaN and infinities as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(item) for item in value]
    return value
