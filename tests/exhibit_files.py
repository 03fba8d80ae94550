"""Write exhibits from specs that a test describes as JSON values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mdnmt.exhibits.registry import parse_figure, parse_table
from mdnmt.exhibits.save_figure import save
from mdnmt.report import write_table


def write(spec: dict[str, Any], *paths: Path) -> None:
    """Write a table in the formats that the endings of the paths name."""
    write_table.write_table(parse_table(json.dumps(spec)), {path.suffix[1:]: path for path in paths})


def draw(spec: dict[str, Any], png: Path) -> None:
    """Draw a figure."""
    save(parse_figure(json.dumps(spec)), png, None)
