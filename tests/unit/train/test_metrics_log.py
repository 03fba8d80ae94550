"""The metrics log survives kills; the curves do not show them."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import pytest

from mdnmt.train.metrics_log import MetricsLog, deduplicate, read_metrics, write_curves


def point(update: int, split: str = "train", **more: object) -> dict[str, object]:
    return {"update": update, "epoch": 1, "split": split, **more}


def test_records_come_back_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    records = [point(1, loss=0.1 + 0.2), point(2, "valid", domain="économie", bleu=12.5), {"event": "resumed"}]
    for record in records:
        with MetricsLog(path) as log:
            log.append(record)
            log.close()
    assert read_metrics(path) == records
    assert path.read_text(encoding="utf-8").count("\n") == 3


def test_each_record_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        for update in range(3):
            log.append(point(update))
            assert len(read_metrics(path)) == update + 1


def test_a_torn_line_costs_itself_only(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.append(point(1, loss=1.0))
        log.append(point(2, loss=2.0))
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole)):
        path.write_bytes(whole[:length])
        assert read_metrics(path) == [point(1, loss=1.0)]
        with MetricsLog(path) as log:
            log.append(point(3, loss=3.0))
            log.append(point(4, loss=4.0))
        found = read_metrics(path)
        assert found[0] == point(1, loss=1.0)
        assert found[-2:] == [point(3, loss=3.0), point(4, loss=4.0)]
        # Only a line that lacked nothing but its newline may be back.
        assert found[1:-2] == ([point(2, loss=2.0)] if length == len(whole) - 1 else [])


@pytest.mark.parametrize("room", [0, 10])
def test_a_full_disk_is_named_and_costs_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    path, write = tmp_path / "metrics.jsonl", os.write

    def full(file: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[:room])

    with MetricsLog(path) as log:
        log.append({"update": 1})
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left") as caught:
            patch.setattr(os, "write", full)
            log.append({"update": 2})
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
        log.append({"update": 3})
    assert [record["update"] for record in read_metrics(path)] == [1, 3]


def test_no_file_and_foreign_lines_are_no_records(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "none.jsonl") == []
    (tmp_path / "odd.jsonl").write_bytes(b'[1]\n\xff\n\n{"update": 1}\n7\n')
    assert read_metrics(tmp_path / "odd.jsonl") == [{"update": 1}]


def test_numbers_without_json_are_strings_that_float_reads(tmp_path: Path) -> None:
    with MetricsLog(tmp_path / "m.jsonl") as log:
        log.append({"update": 1, "values": [math.inf, -math.inf, math.nan, 1.0]})
    line = (tmp_path / "m.jsonl").read_text()
    values = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))["values"]
    assert [float(value) for value in values][:2] == [math.inf, -math.inf]
    assert math.isnan(float(values[2]))


def test_the_last_of_several_measurements_wins() -> None:
    records = [
        point(1, loss=1.0),
        point(1, "valid", domain="trade", loss=2.0),
        {"event": "resumed"},
        point(1, loss=9.0),
        point(1, "valid", domain="economy", loss=3.0),
        {"event": "resumed"},
    ]
    assert deduplicate(records) == [
        point(1, loss=9.0),
        records[1],
        records[2],
        records[4],
        records[5],
    ]


def test_curves_are_the_same_with_and_without_a_restart(tmp_path: Path) -> None:
    straight = [
        point(10, loss=1 / 3, learning_rate=1e-3, seconds=12.5),
        point(20, loss=0.25, learning_rate=5e-4, seconds=25.0),
        point(20, "valid", domain="trade", loss=0.5, nll=0.4, ppl=math.exp(0.4), accuracy=0.9, bleu=11.0),
        point(20, "valid", domain="economy", loss=0.75),
    ]
    resumed = [*straight[:2], {"event": "killed"}, {**straight[1], "seconds": 3.0}, *reversed(straight[2:])]
    write_curves(straight, tmp_path / "a.tsv")
    write_curves(resumed, tmp_path / "b.tsv")
    text = (tmp_path / "a.tsv").read_text()
    assert text == (tmp_path / "b.tsv").read_text()
    lines = [line.split("\t") for line in text.splitlines()]
    assert " ".join(lines[0]) == "update epoch split domain loss nll ppl accuracy bleu learning_rate"
    assert all(len(line) == len(lines[0]) for line in lines)
    assert [line[:4] for line in lines[1:]] == [
        ["10", "1", "train", ""],
        ["20", "1", "train", ""],
        ["20", "1", "valid", "economy"],
        ["20", "1", "valid", "trade"],
    ]
    assert float(lines[1][4]) == 1 / 3
    assert float(lines[4][6]) == math.exp(0.4)
    assert "12.5" not in text


def test_records_without_a_point_are_not_in_the_curves(tmp_path: Path) -> None:
    write_curves([{"event": "start"}, {"update": 3}], tmp_path / "c.tsv")
    assert len((tmp_path / "c.tsv").read_text().splitlines()) == 1


def test_the_former_name_of_tokens_per_second_is_read(tmp_path: Path) -> None:
    with MetricsLog(tmp_path / "m") as log:
        log.append({"update": 1, "words_per_second": 9.0})
    assert read_metrics(tmp_path / "m") == [{"update": 1, "tokens_per_second": 9.0}]
