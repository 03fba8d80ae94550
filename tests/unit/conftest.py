from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.plugin_folder import Write

from mdnmt import plugins
from mdnmt.models.kernels import using
from mdnmt.studies import model_facts


@pytest.fixture(autouse=True)
def kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Select the kernels that a test is parametrised with; by default those for CPUs."""
    with using(getattr(request, "param", "cpu")):
        yield


@pytest.fixture(scope="session", autouse=True)
def model_facts_of_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what tests learn about models out of the project that they run in."""
    model_facts.FACTS = tmp_path_factory.mktemp("facts") / "facts.json"


@pytest.fixture
def write_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Return a function that writes a file of the folder of plug-ins, which is then read again."""
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    plugins.use_folder_beside(tmp_path / "config")

    def write(name: str, text: str) -> Path:
        path = tmp_path / "plugins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        plugins.forget()
        return path

    yield write
    plugins.forget()
    plugins._beside_config = None  # monkeypatch would put the folder back
