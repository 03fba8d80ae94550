"""One browser for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser.chromium_pipe import Chromium, executable


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = executable()
    if program is None:
        pytest.skip("no Chromium here: `apt-get install chromium` (Debian, Ubuntu), then run this test again")
    with Chromium(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser
