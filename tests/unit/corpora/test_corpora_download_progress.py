"""Progress of downloads as lines: complete ones, and not too many."""

from __future__ import annotations

import io

import pytest

from mdnmt.corpora.providers.http import INTERVAL_S, ProgressLines


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (10_000_000, "a.zip: 4.0 of 10.0 MB (40 %), 0.3 MB/s\na.zip: 8.0 of 10.0 MB (80 %), 0.4 MB/s\n"),
        (None, "a.zip: 4.0 MB, 0.3 MB/s\na.zip: 8.0 MB, 0.4 MB/s\n"),
    ],
)
def test_a_line_at_each_interval_with_the_rate_since_the_last_one(total: int | None, expected: str) -> None:
    now, out = 0.0, io.StringIO()
    with ProgressLines("a.zip", 1_000_000, total, out, clock=lambda: now) as lines:
        lines.update(1_000_000)
        assert out.getvalue() == ""
        now = INTERVAL_S
        lines.update(2_000_000)
        lines.update(3_000_000)
        now = 2 * INTERVAL_S
        lines.update(1_000_000)
    assert out.getvalue() == expected
