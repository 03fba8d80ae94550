"""The evidence in docs/replication stays readable: a clone checks it with the code of its own day."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.loader import parse_spec
from mdnmt.exhibits.registry import parse_figure, parse_table
from mdnmt.numbers.sources import NumberSources
from mdnmt.statements.claims.spec import ClaimsSpec

ARCHIVES = sorted((Path(__file__).resolve().parents[3] / "docs/replication").glob("*bundle/studies/*.tar.xz"))
READERS: dict[str, Callable[[str], Any]] = {
    "tables": parse_table,
    "figures": parse_figure,
    "numbers": lambda spec: parse_spec(spec, NumberSources),
    "claims": lambda spec: parse_spec(json.dumps({**json.loads(spec), "claims": {}}), ClaimsSpec),
}


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_todays_code_reads_every_committed_exhibit(archive: Path) -> None:
    with tarfile.open(archive) as files:
        member = files.extractfile("specs.json")
        assert member is not None
        specs = json.load(member)["specs"]
    for kind, read in READERS.items():
        for spec in specs.get(kind, {}).values():
            read(spec)
    assert specs["numbers"]
