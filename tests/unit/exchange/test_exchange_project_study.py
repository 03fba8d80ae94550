"""A study is opened as config.yaml and the command line ask for it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mdnmt.config.project import ProjectConfig
from mdnmt.errors import ConfigError
from mdnmt.exchange.project_study import arguments, open_study, read_given

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"


@pytest.mark.parametrize("allowed", [True, False])
def test_tasks_that_wait_for_downloads_have_addresses_only_if_the_project_downloads(
    allowed: bool, tmp_path: Path
) -> None:
    given = read_given(CONFIG, "open", [f"first_downloads={allowed}"])
    opened = open_study(CONFIG, given, tmp_path / "corpora", tmp_path / "results", provisional=True)
    waiting = [task for task in opened.study.tasks.values() if task.first_downloads]
    assert waiting and all((task.spec is not None) == allowed for task in waiting)


def test_the_command_line_overrides_the_file() -> None:
    given = read_given(CONFIG, "smoke", ["seeds=[4, 5]", "device=cpu"])
    assert (given["study"], given["seeds"], given["device"]) == ("smoke", [4, 5], "cpu")
    for pair, said in (("seeds", "expected KEY=VALUE"), ("seeds=[", "the value of seeds is not YAML")):
        with pytest.raises(ConfigError, match=said):
            read_given(CONFIG, None, [pair])


@pytest.mark.slow
def test_a_job_opens_the_same_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = read_given(CONFIG, "smoke", ["seeds=[4, 5]", "finished_only=true"])
    project = open_study(CONFIG, given, tmp_path / "corpora", tmp_path / "results").project
    words = shlex.split(arguments(project, CONFIG))
    assert words == [*("--config-folder", str(CONFIG), "--config", "seeds=[4, 5]", "finished_only=true", "--", "smoke")]
    given = read_given(CONFIG, words[-1], words[3:5])
    assert open_study(CONFIG, given, tmp_path / "corpora", tmp_path / "results").project == project
    monkeypatch.chdir(ROOT)
    assert arguments(ProjectConfig(), CONFIG) == "demo"  # nothing that config.yaml does not say
