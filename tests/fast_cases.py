"""Which cases of a parametrised test `make test` runs; `make test-all` and CI run all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def fast_cases(cases: Iterable[Any], *fast: Any) -> list[Any]:
    """Return the cases as parameters, in their order, with all but the `fast` ones marked as slow.

    Raises:
        ValueError: a fast case is none of the cases.
    """
    cases = list(cases)
    if unknown := [case for case in fast if case not in cases]:
        raise ValueError(f"no such cases: {unknown}")
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
