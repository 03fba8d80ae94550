from __future__ import annotations

from collections.abc import Iterator

import pytest

from mdnmt.models.kernels import using


@pytest.fixture(autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Select the kernels that a test is parametrised with; by default those for CPUs."""
    with using(getattr(request, "param", "cpu")):
        yield
