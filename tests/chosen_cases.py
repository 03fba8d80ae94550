"""Which cases of a parametrised test are run; `make long` runs the others too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def chosen_cases(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return the cases as parameters, in their order, with all but the `chosen` ones marked as long.

    Raises:
        ValueError: a chosen case is none of the cases.
    """
    cases = list(cases)
    if unknown := [case for case in chosen if case not in cases]:
        raise ValueError(f"no such cases: {unknown}")
    return [case if case in chosen else pytest.param(case, marks=pytest.mark.long) for case in cases]
