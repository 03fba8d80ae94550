"""Two states of the training code are recorded as equivalent only if the tiny runs have the same bits."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import yaml
from golden.equivalent_code import differing, merged

from mdnmt.training_code import EQUIVALENT


def state(**changes: Any) -> dict[str, Any]:
    values = {"losses": [{"nll": 3.25}], "weights": "ab", "translations": [[4]], "scores": [-1.5]}
    run = {"options": {"builder": "waldm"}, "double": {**values}, "single": {**values, **changes}}
    return {"runs": {"waldm-edc": run}, "code": {"waldm": "1" * 16}, "failed": {}}


@pytest.mark.parametrize("changes", [{"losses": [{"nll": 3.2500000000000004}]}, {"weights": "ac"}, {"scores": [1.5]}])
def test_another_bit_is_another_code(changes: dict[str, Any]) -> None:
    assert differing(state(), state()) == {"waldm": ""}
    [why] = differing(state(), state(**changes)).values()
    assert "waldm-edc" in why and "single precision" in why and next(iter(changes)) in why


def test_what_cannot_be_computed_is_not_equivalent() -> None:
    without = {"runs": {}, "code": {}, "failed": {"waldm-edc": "KeyError: 'x'"}}
    assert "KeyError" in differing(state(), without)["waldm"]


def test_equivalence_is_transitive() -> None:
    sets = {"waldm": [["a", "b"], ["c", "d"]], "dmoe": [["e"]]}
    merged(sets, "waldm", "b", "x")
    assert sets == {"waldm": [["a", "b", "x"], ["c", "d"]], "dmoe": [["e"]]}
    merged(sets, "waldm", "x", "c")
    assert sets["waldm"] == [["a", "b", "c", "d", "x"]]


def test_the_committed_file_is_what_the_command_writes() -> None:
    found = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8"))
    hashes = [code for sets in found.values() for same in sets for code in same]
    assert hashes and all(isinstance(code, str) and re.fullmatch(r"[0-9a-f]{16}", code) for code in hashes)
    assert max(Counter(hashes).values()) == 1
