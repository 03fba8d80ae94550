from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt import fingerprint as module
from mdnmt.fingerprint import STAGE_VERSIONS, canonical_json, fingerprint, sha256_file

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_it_is_what_the_docstring_says_and_stays_so() -> None:
    text = '{"stage":"task","value":{"a":1},"version":1}'
    assert fingerprint("task", {"a": 1}) == hashlib.sha256(text.encode()).hexdigest()[:8]


@pytest.mark.slow
@settings(deadline=None)
@given(PLAIN)
def test_one_spelling_for_one_value(value: object) -> None:
    text = canonical_json(value)
    assert text.isascii() and "\n" not in text
    assert canonical_json(json.loads(text)) == text


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(st.text(), PLAIN, min_size=2))
def test_order_of_keys_does_not_count(value: dict[str, object]) -> None:
    assert fingerprint("train", value) == fingerprint("train", dict(reversed(value.items())))


def test_order_of_lists_types_stage_and_version_count(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [[1, 2], [2, 1], [1.0, 2], ["1", 2], {"1": 2}]
    found = {fingerprint(stage, value) for value in values for stage in STAGE_VERSIONS}
    assert len(found) == len(values) * len(STAGE_VERSIONS)
    monkeypatch.setitem(module.STAGE_VERSIONS, "task", STAGE_VERSIONS["task"] + 1)
    assert fingerprint("task", [1, 2]) not in found


def test_unknown_stages_and_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(KeyError):
        fingerprint("trainn", 1)
    with pytest.raises(ValueError):
        canonical_json(float("nan"))


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_sha256_of_a_file(tmp_path: Path, size: int) -> None:
    data = b"x" * size
    (tmp_path / "file").write_bytes(data)
    assert sha256_file(tmp_path / "file") == hashlib.sha256(data).hexdigest()
