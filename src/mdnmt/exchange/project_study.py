"""Open a study as config/config.yaml and the command line ask for it, for the workflow and for verbs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mdnmt.config.loader import load_yaml, validate_model
from mdnmt.config.project import ProjectConfig
from mdnmt.errors import ConfigError
from mdnmt.paths import RunPaths
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study
from mdnmt.workspace import config_file, config_files


@dataclass(frozen=True)
class ProjectStudy:
    """A study, and the project that it is opened in.

    Attributes:
        project: config/config.yaml with what overrides it.
        study: the study; with `finished_only`, without the runs that would have to be trained.
        places: the paths of its results.
    """

    project: ProjectConfig
    study: Study
    places: ResultPaths


def open_study(
    config_folder: Path, given: Mapping[str, Any], corpora: Path, results: Path, *, provisional: bool = False
) -> ProjectStudy:
    """Return the study that a project's configuration names.

    Args:
        config_folder: the folder config of the project.
        given: the keys and values of config.yaml, with those that override them.
        corpora: the folder of fetched corpora.
        results: the folder of all results.
        provisional: tasks that wait for first downloads get placeholder addresses, if the project allows these.

    Raises:
        ConfigError: a mistake in the project's configuration or in a file that the study names.
    """
    project = validate_model(dict(given), ProjectConfig, f"{config_folder}/config.yaml or --config")
    provisional = provisional and project.first_downloads
    study = resolve(config_folder, project.study, corpora, project.seeds, provisional=provisional)
    if project.finished_only:
        study = study.only(lambda run: RunPaths(results / "runs" / run.address).is_finished)
    audited = [path.stem for path in config_files(config_folder, "audit/*.yaml")]
    return ProjectStudy(project, study, ResultPaths(study, results, audited))


def arguments(project: ProjectConfig, config_folder: Path) -> str:
    """Return the arguments with which `mdnmt exhibit` opens the study of a project, quoted for a shell."""
    there = validate_model(read_given(config_folder, None, ()), ProjectConfig, f"{config_folder}/config.yaml")
    values = {key: getattr(project, key) for key in ("seeds", "finished_only")}
    pairs = [f"{key}={json.dumps(value)}" for key, value in values.items() if value != getattr(there, key)]
    folder = [] if config_folder == Path("config").absolute() else ["--config-folder", str(config_folder)]
    return shlex.join([*folder, *(["--config", *pairs, "--"] if pairs else []), project.study])


def read_given(config_folder: Path, study: str | None, pairs: Iterable[str]) -> dict[str, Any]:
    """Return the keys and values of config.yaml, overridden by a study's name and by KEY=VALUE pairs.

    Raises:
        ConfigError: a pair has no key or names a second study, its value is not YAML, or config.yaml cannot be read.
    """
    found = load_yaml(config_file(config_folder, "config.yaml")) or {}
    found |= {} if study is None else {"study": study}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigError(f"--config: found {pair!r}, expected KEY=VALUE; put the study's name before --config")
        if key == "study" and study is not None:
            raise ConfigError(f"--config: {pair} names a study beside {study}; name one study, without --config")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError(f"--config: the value of {key} is not YAML: {value!r}") from None
    return found
