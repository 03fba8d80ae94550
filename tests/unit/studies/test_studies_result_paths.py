"""What the path of a folder of translations tells."""

from __future__ import annotations

from pathlib import Path

from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths, TranslationsFolder

ROOT = Path(__file__).resolve().parents[3]


def test_folders_of_runs_and_of_external_systems_are_read_back() -> None:
    smoke = resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")
    places = ResultPaths(smoke, Path("results"))
    for run in smoke.makeable():
        for split in ("test", "valid"):
            found = TranslationsFolder.parse(places.test(run.on(split)).removeprefix("results/"))
            assert (found.task, found.split) == (run.task, split)
            assert found.run is not None and smoke.find(found.task, *found.run).address == run.address
    assert TranslationsFolder.parse("tasks/a-b-0123abcd/external-x-0123abcd") == TranslationsFolder("a-b", "test", None)
