"""Claims that were recorded under older rules are decided by today's; their numbers must still be the recorded ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdnmt.exchange.evidence import by_todays_rules
from mdnmt.exchange.verify import _older_claims
from mdnmt.fsio import write_sealed
from mdnmt.statements.claims.decide import VERSION, decide
from mdnmt.statements.claims.spec import ClaimsSpec


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """Return the specification and outcomes of one claim, and a folder of configuration with another rule for it."""
    monkeypatch.chdir(tmp_path)
    measures = [
        {"method": method, "label": method, "seed": seed, "name": "e", "at": {}, "value": value + 0.01 * seed}
        for method, value in (("a", 2.0), ("b", 1.0))
        for seed in (1, 2, 3)
    ]
    write_sealed(Path("figure1.json"), {"kind": "any", "title": "T", "measures": measures})
    rule = {"kind": "measure", "figure": "figure1", "name": "e", "methods": ["a"], "than": {"methods": ["b"]}}
    claim = {"where": "w", "says": "S.", "kind": "shape", "rules": [rule]}
    spec = {"paper": "p", "title": "P", "claims": {"x": claim}, "figures": {"figure1": "figure1.json"}}
    outcomes = decide(ClaimsSpec.model_validate(spec)).model_dump(mode="json")
    assert outcomes["outcomes"][0]["verdict"] == "reproduced"
    Path("config/claims").mkdir(parents=True)
    todays = {"claims": {"x": {**claim, "rules": [{**rule, "not_tested": "the rates are ours"}]}}}
    Path("config/claims/p.yaml").write_text(json.dumps(todays))
    # A kind of rule that today's code does not know must not matter.
    spec["claims"]["x"] = {**claim, "rules": [{"kind": "trend", "over": "layer"}]}
    return spec, outcomes, Path("config")


def test_verdicts_follow_todays_rules_and_the_line_says_which_differ(recorded: Any) -> None:
    spec, outcomes, config = recorded
    found = by_todays_rules(json.dumps(spec), config)
    assert found is not None and found.outcomes[0].verdict == "not tested"
    differs, text = _older_claims(outcomes, json.dumps(spec), config)
    assert differs == "" and "1 of 1 differ by today's: x reproduced, now not tested" in text
    assert by_todays_rules(json.dumps({**spec, "decision": VERSION}), config) is None


def test_comparisons_of_the_same_name_are_told_apart_by_their_order(recorded: Any) -> None:
    spec, _outcomes, config = recorded
    todays = json.loads((config / "claims" / "p.yaml").read_text())
    rule = todays["claims"]["x"]["rules"][0]
    todays["claims"]["x"]["rules"] = [rule, {**rule, "figure": "figure2"}]
    (config / "claims" / "p.yaml").write_text(json.dumps(todays))
    measures = json.loads(Path("figure1.json").read_text())["measures"]
    shifted = [{**one, "value": one["value"] + 5} for one in measures]
    write_sealed(Path("figure2.json"), {"kind": "any", "title": "T", "measures": shifted})
    spec["figures"]["figure2"] = "figure2.json"
    again = by_todays_rules(json.dumps(spec), config)
    assert again is not None
    both = again.model_dump(mode="json")
    assert len({one["what"] for one in both["outcomes"][0]["comparisons"]}) == 1
    assert _older_claims(both, json.dumps(spec), config)[0] == ""


def test_a_forged_number_is_found_under_older_rules_too(recorded: Any) -> None:
    spec, outcomes, config = recorded
    outcomes["outcomes"][0]["comparisons"][0]["left"] += 0.5
    differs, _ = _older_claims(outcomes, json.dumps(spec), config)
    assert "/left: recorded 2.52, computed 2.02" in differs


def test_without_todays_rules_nothing_is_compared(recorded: Any) -> None:
    spec, outcomes, _ = recorded
    differs, text = _older_claims(outcomes, json.dumps(spec), Path("nowhere"))
    assert differs == "" and "today's are not here" in text
