"""Finished runs, trained once for all tests of the room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_server import finished_run


@pytest.fixture(scope="session")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture
def finished(_folder: Path, make_spec: Any, toy_task: Path) -> Callable[[str], Path]:
    return lambda name: finished_run(name, _folder, make_spec, toy_task)
