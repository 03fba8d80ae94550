"""Which line of which file sets an option of a run, and which earlier ones it overrides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mdnmt.config.decoding import Decoding
from mdnmt.config.layers import Layer
from mdnmt.config.loader import did_you_mean, line_of
from mdnmt.config.training import ALTERNATIVES, Training
from mdnmt.errors import ConfigError
from mdnmt.methods import config_type, pretrained
from mdnmt.studies.method_options import Options
from mdnmt.studies.study import Study

PARTS = ("architecture", "training", "decoding")


@dataclass(frozen=True)
class Setting:
    """A place that sets an option.

    Attributes:
        option: the option, or one that excludes it (`config/training.py`).
        value: what it sets.
        place: file and line.
    """

    option: str
    value: Any
    place: str


@dataclass(frozen=True)
class Explained:
    """An option of a run.

    Attributes:
        key: the part of the options and its name: `training.learning_rate`.
        value: its value in the run.
        default: its value where nothing sets it.
        settings: what sets it; the last one decides.
    """

    key: str
    value: Any
    default: Any
    settings: tuple[Setting, ...]

    @property
    def is_set(self) -> bool:
        """Return whether a file sets the option itself, and none sets one that excludes it later on."""
        return bool(self.settings) and self.key.endswith(f".{self.settings[-1].option}")


def explain(study: Study, options: Options, task: str, method: str) -> Iterator[Explained]:
    """Yield every option of the runs of a method on a task.

    Raises:
        ConfigError: the study has no such run.
    """
    runs = {name: run for run in study.runs_of(task) for name in (run.method, run.directory)} if task else {}
    if method not in runs:
        known = sorted({f"{run.task}/{run.method}" for run in study.runs})
        hint = did_you_mean(f"{task}/{method}", known)
        raise ConfigError(f"study {study.name}: no run {task}/{method}{hint}; there are: {', '.join(known)}")
    run, of_task = runs[method], study.tasks[task]
    layers = options.layers(of_task, run.method)
    values: dict[str, dict[str, Any]] = {
        "architecture": options.architecture(of_task, run.method)[0],
        "training": options.training(of_task, run.method).model_dump(mode="json"),
        "decoding": study.decoding[task].model_dump(mode="json"),
    }
    defaults = _defaults(options, run.method)
    for part in PARTS:
        places = options.decoding_layers(of_task) if part == "decoding" else layers
        for name, value in values[part].items():
            found = tuple(_settings(places, part, name))
            yield Explained(f"{part}.{name}", value, defaults[part].get(name), found)


def _defaults(options: Options, method: str) -> dict[str, dict[str, Any]]:
    builder = options.methods[method].builder
    module = pretrained(builder)
    architecture = config_type(builder, builder) if module is None else module.config_type
    models = {"architecture": architecture, "training": Training, "decoding": Decoding}
    return {part: {name: one.default for name, one in model.model_fields.items()} for part, model in models.items()}


def _settings(layers: list[Layer], part: str, name: str) -> Iterator[Setting]:
    excluding = {other for pair in ALTERNATIVES if name in pair for other in pair if other != name}
    for layer in layers:
        given = getattr(layer, part)
        for option in (name, *excluding):
            if option in given and (option == name or given[option] is not None):
                yield Setting(option, given[option], _place(layer, part, option))


def _place(layer: Layer, part: str, option: str) -> str:
    for keys in ((*layer.keys, part, option), (*layer.keys, option), layer.keys):
        if line := line_of(layer.file, keys):
            return f"{layer.file}:{line}"
    return str(layer.file)
