"""The command on the page makes the same study again in a fresh clone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.cli import parse_config

from mdnmt.config.loader import load_yaml, validate_model
from mdnmt.config.project import RUNTIME, ProjectConfig
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

CONFIG = Path(__file__).parents[3] / "config"
COMMITTED: dict[str, Any] = load_yaml(CONFIG / "config.yaml")


def project(said: dict[str, Any]) -> ProjectConfig:
    """Return what Snakemake would read: the committed config.yaml, and over it what `--config` says."""
    return validate_model({**COMMITTED, **said}, ProjectConfig, "--config")


def study_of(given: ProjectConfig, corpora: Path) -> Study:
    return resolve(CONFIG, given.study, corpora, given.seeds)


def in_a_fresh_clone(command: str) -> ProjectConfig:
    program, *arguments = shlex.split(command)
    assert program == "snakemake" and arguments[:3] == ["--cores", "all", "--config"]
    return project(parse_config(arguments[3:]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"study": "demo"},
        {"study": "demo", "seeds": 3},
        {"study": "demo", "seeds": [7]},
        {"study": "synthetic", "seeds": [1, 5, 9], "on_nan": "rollback"},
    ],
    ids=str,
)
def test_the_command_gives_the_same_study(said: dict[str, Any], tmp_path: Path) -> None:
    here = project(said)
    there = in_a_fresh_clone(here.command)
    assert there == here
    made, again = study_of(here, tmp_path), study_of(there, tmp_path)
    addresses = [(run.task, run.directory, run.seed, run.fingerprint) for run in made.runs]
    assert addresses == [(run.task, run.directory, run.seed, run.fingerprint) for run in again.runs]
    assert made.config == again.config and made.decoding == again.decoding
    # The seeds do matter: without them it would be another study.
    if "seeds" in said:
        without = in_a_fresh_clone(f"snakemake --cores all --config study={here.study}")
        assert [run.seed for run in study_of(without, tmp_path).runs] != [run.seed for run in made.runs]


@pytest.mark.parametrize(("said", "found"), [("on", "on"), ("off", "off"), ("auto", "auto")])
def test_a_bare_on_or_off_is_a_word(said: str, found: str) -> None:
    config = project(yaml.safe_load(f"graphs: {said}"))
    assert config.graphs == found and (f"--graphs {found}" in config.training_options) == (found != "auto")


def test_a_committed_config_has_the_defaults() -> None:
    """Else a fresh clone would differ in what the command leaves out."""
    assert project({}) == ProjectConfig()


def test_options_of_a_machine_stay_there() -> None:
    options = {"device": "cpu", "workers": 2, "threads": 4, "save_every_minutes": 1, "tensorboard": True}
    command = project({**options, "stop_after_minutes": 30}).command
    assert command == "snakemake --cores all --config study=demo"
    assert ProjectConfig.model_fields.keys() > RUNTIME


def test_a_list_of_seeds_survives_a_shell() -> None:
    assert project({"seeds": [1, 7]}).command == "snakemake --cores all --config study=demo 'seeds=[1,7]'"
