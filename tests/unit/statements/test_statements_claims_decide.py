"""From comparisons to outcomes: reasons, what is read, the verb, and files that say the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mdnmt.numbers.verdicts import VERDICTS
from mdnmt.statements.claims.decide import decide
from mdnmt.statements.claims.markdown import to_markdown
from mdnmt.statements.claims.outcome import Outcome, read_outcomes
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.write_claims import write_claims

HOSTILE = "<script>alert(1)</script>|*_[x](y)`\\"


def cell(mean: float, seeds: int = 3, spread: float = 0.1) -> dict[str, Any]:
    values = [mean - spread, mean, mean + spread][:seeds] if seeds != 1 else [mean]
    return {"mean": sum(values) / len(values), "sd": spread, "num_seeds": seeds, "values": values}


def write_table(path: Path, rows: dict[str, list[dict[str, Any]]]) -> Path:
    table = {
        "format": 2,
        "kind": "scores",
        "title": "T",
        "headers": [{"key": key, "label": key.title(), "metric": "bleu"} for key in ("law", "news")],
        "rows": [{"group": "G", "label": name, "method": name, "cells": cells} for name, cells in rows.items()],
    }
    path.write_text(json.dumps(table))
    return path


def claim(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"where": "sec. 1", "says": "A is better.", "kind": "better", "rules": list(rules), **more}


def better(**more: Any) -> dict[str, Any]:
    return {"kind": "cells", "table": "table2", "rows": ["a"], "than": ["b"], **more}


def outcome(claims: dict[str, Any], **more: Any) -> Outcome:
    spec = ClaimsSpec.model_validate({"paper": "jiang2020", "title": "P", "claims": {"x": claims}, **more})
    return decide(spec).outcomes[0]


def test_reasons_say_what_decided(tmp_path: Path) -> None:
    def found(a: list[dict[str, Any]], b: list[dict[str, Any]], **more: Any) -> Outcome:
        return outcome(claim(better(**more)), tables={"table2": write_table(tmp_path / "t.json", {"a": a, "b": b})})

    high, low = [cell(30.0), cell(30.0)], [cell(20.0), cell(20.0)]
    one = found(high, low)
    assert (one.verdict, one.reason) == ("reproduced", "holds in 2 of 2 comparisons with 3 seeds")
    assert one.rule_text == "Table 2: BLEU on each domain of a is above that of b, in all comparisons."
    one = found(high, [cell(20.0), cell(40.0)])
    assert (one.verdict, one.holds, one.of) == ("not reproduced", 1, 2)
    assert one.reason == "does not hold: BLEU on News: a against b; holds in 1 of 2 comparisons with 3 seeds"
    one = found(high, [cell(20.0), cell(29.9)])
    assert one.verdict == "inconclusive"
    assert one.reason == (
        "the 95 % interval of 1 of 2 comparisons includes the threshold; holds in 2 of 2 comparisons with 3 seeds"
    )
    one = found([cell(30.0, 1), cell(30.0, 1)], low)
    assert (one.verdict, one.num_seeds) == ("inconclusive", 1)
    assert one.reason == "1 seed; a verdict needs 3; holds in 2 of 2 comparisons with 1 seed"
    one = found(high, [cell(20.0), {}])
    assert (one.verdict, one.holds, one.of) == ("not comparable", 1, 1)
    assert one.reason == "needs BLEU on News of b in Table 2 (no number); holds in 1 of 1 comparison with 3 seeds"
    assert found(high, [cell(40.0), {}]).verdict == "not reproduced"
    assert found(high, [cell(20.0), {}], needed="one").verdict == "reproduced"


def test_a_share_may_be_needed_of_each_row(tmp_path: Path) -> None:
    rows = {"a": [cell(30.0), cell(10.0)], "b": [cell(20.0), cell(20.0)], "c": [cell(10.0), cell(10.0)]}
    tables = {"table2": write_table(tmp_path / "t.json", rows)}
    rule = better(rows=["a", "c"], needed="one")
    assert outcome(claim(rule), tables=tables).verdict == "reproduced"
    assert outcome(claim({**rule, "per_row": True}), tables=tables).verdict == "not reproduced"


def test_evidence_and_text_are_those_of_the_items_that_are_there(tmp_path: Path) -> None:
    tables = {"table2": write_table(tmp_path / "t.json", {"a": [cell(2.0)] * 2, "b": [cell(1.0)] * 2}), "table3": None}
    text = {"table2": "other news", "table3": "other talks", "figure4": "other"}
    one = outcome(claim(better(), better(table="table3")), tables=tables, on_other_text=text)
    assert (one.verdict, one.evidence, one.on_other_text) == ("not comparable", ("jiang2020-table2",), "other news")
    assert one.reason == "needs Table 3 (not part of this study); holds in 2 of 2 comparisons with 3 seeds"
    assert outcome(claim(better()), tables=tables).on_other_text is None
    partly = outcome(claim(better()), tables=tables, left_out={"x": ("table5-en-de",)})
    assert partly.on_other_text == "decided without Table 5 (EN-DE), which this study leaves out"


def test_the_same_bytes_are_written_each_time(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.json", {"a": [cell(2.0)] * 2, "b": [cell(1.0)] * 2})
    claims = {"x": claim(better()), "y": claim({"kind": "noted", "why": HOSTILE}, says=HOSTILE)}
    value = {"paper": "jiang2020", "title": HOSTILE, "claims": claims, "tables": {"table2": str(table)}}
    for name in ("one", "two"):
        write_claims(ClaimsSpec.model_validate(value), tmp_path / f"{name}.json", tmp_path / f"{name}.md")
    written = (tmp_path / "one.json").read_text()
    assert written == (tmp_path / "two.json").read_text()
    found = read_outcomes(tmp_path / "one.json")
    assert found.counts == {**dict.fromkeys(VERDICTS, 0), "reproduced": 1, "not comparable": 1}
    assert [one.id for one in found.outcomes] == ["x", "y"]
    page = (tmp_path / "one.md").read_text()
    assert page == (tmp_path / "two.md").read_text() == to_markdown(found)
    assert page.count("\n| ") == 3 and "<script>" not in page.replace("\\<", "")
    assert "\n1 reproduced, 0 not reproduced, 0 inconclusive, 1 not comparable, 0 not tested.\n" in page
    told = "A is better. | reproduced | holds in 2 of 2 comparisons with 3 seeds |"
    assert f"| `x` | sec. 1 | {told}" in page.replace("\\.", ".")
    # A bar inside a cell would begin a new one.
    assert all(line.replace("\\|", "").count("|") == 6 for line in page.splitlines() if line.startswith("|"))


def test_comparisons_between_printed_numbers_are_counted(tmp_path: Path) -> None:
    rows = {
        "a": [{**cell(30.0), "published": 26.1}, {**cell(30.0), "published": 27.0}],
        "b": [{**cell(20.0), "published": 26.0}, cell(20.0)],
    }
    found = outcome(claim(better()), tables={"table2": write_table(tmp_path / "t.json", rows)})
    assert (found.of, found.holds_in_print, found.of_in_print) == (2, 1, 1)
