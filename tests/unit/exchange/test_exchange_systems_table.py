"""The table of systems shows means, spreads and Welch intervals, and goes between its marks in a page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import ttest_ind

from mdnmt.errors import MdnmtError
from mdnmt.exchange.bundle import Bundle
from mdnmt.exchange.results_page import END, begin_mark, fill, systems, systems_table

ROOT = Path(__file__).resolve().parents[3]
SCORES = {
    "waldm": {1: (22.0, 10.0), 2: (25.0, 12.0), 3: (23.0, 11.5)},
    "mixed": {1: (20.0, 10.0), 2: (21.0, 9.0), 3: (22.5, 9.5)},
    "dsa": {1: (20.5, 9.0)},
}


def _numbers() -> pd.DataFrame:
    columns = ["task", "method", "variant", "label_condition", "seed", "split", "domain", "metric", "value"]
    rows = [
        ("text", method, None, "gold", seed, "test", domain, "bleu", value)
        for method, seeds in SCORES.items()
        for seed, values in seeds.items()
        for domain, value in zip(("law", "news"), values, strict=True)
    ]
    other = [
        ("text", "mixed", None, "wrong", 1, "test", "law", "bleu", 1.0),
        ("text", "mixed", None, "gold", 1, "valid", "law", "bleu", 2.0),
        ("text", "mixed", "mixed-post-norm", "gold", 1, "test", "law", "bleu", 0.5),
        ("text", "mixed", "mixed-post-norm", "gold", 1, "test", "news", "bleu", 0.25),
    ]
    return pd.DataFrame([*rows, *other], columns=columns)


def test_rows_have_means_spreads_and_welch_intervals() -> None:
    task, _, head, _, baseline, dsa, variant, waldm = systems_table(_numbers(), "mixed").splitlines()
    assert task == "**text**"
    assert head == "| system | seeds | law | news | mean | difference to `mixed` |"
    assert baseline.replace("\N{NO-BREAK SPACE}", " ") == "| `mixed` | 1, 2, 3 | 21.17 | 9.50 | 15.33 ± 0.58 |  |"
    assert dsa == "| `dsa` | 1 | 20.50 | 9.00 | 14.75 | −0.58 |"
    assert variant == "| `mixed-post-norm` | 1 | 0.50 | 0.25 | 0.38 | −14.96 |"
    means = {method: [sum(values) / 2 for values in seeds.values()] for method, seeds in SCORES.items()}
    interval = ttest_ind(means["waldm"], means["mixed"], equal_var=False).confidence_interval()
    shown = f"+1.92 [{interval.low:+.2f},\N{NO-BREAK SPACE}{interval.high:+.2f}]".replace("-", "−")
    assert waldm.endswith(f"| {shown} |")


def test_the_table_replaces_what_stood_between_the_marks() -> None:
    begin = begin_mark("long")
    page = f"before\n\n{begin_mark('short')}\nkept\n{END}\n{begin}\nold\n{END}\n\nafter\n"
    assert fill(page, "long", "new") == page.replace("old\n", "\nnew\n\n")
    assert fill(fill(page, "long", "other"), "long", "new") == fill(page, "long", "new")
    with pytest.raises(MdnmtError, match="the table goes between them"):
        fill(page, "another", "new")


@pytest.mark.slow
@pytest.mark.parametrize("study", ["replication-long", "replication-long-zh-en"])
def test_the_committed_page_shows_the_systems_of_the_committed_bundle(study: str) -> None:
    folder = ROOT / "docs" / "replication"
    page = (folder / "details.md").read_text(encoding="utf-8")
    assert page == fill(page, study, systems(Bundle(folder / "bundle"), study))
