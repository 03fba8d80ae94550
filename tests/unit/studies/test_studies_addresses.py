"""The addresses of all tasks and runs of the shipped studies are those that were recorded."""

from __future__ import annotations

import pytest
from golden.addresses import addresses, recorded

pytestmark = pytest.mark.slow
STUDIES = sorted({name.partition("\t")[0] for name in recorded()})


@pytest.mark.parametrize("study", STUDIES)
def test_no_task_or_run_has_a_new_address(study: str) -> None:
    known, now = recorded(), dict(addresses(study))
    gone = [name for name in known if name.startswith(f"{study}\t") and name not in now]
    # "missing": a corpus that this checkout has not, or had not when the address was recorded.
    moved = [
        f"{name}: {known.get(name)} -> {found}"
        for name, found in now.items()
        if known.get(name) != found and "missing" not in (found, known.get(name))
    ]
    assert not gone + moved
