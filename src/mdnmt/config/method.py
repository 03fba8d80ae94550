"""A method as a row of a table: which builder, with which options, trained on which domains."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model, validate_model
from mdnmt.config.training import Training


class MethodConfig(Frozen):
    """One file of config/methods/."""

    label: str = Field(
        min_length=1, description="as printed in tables; {domain} is replaced by the domain of a single-domain run"
    )
    builder: str = Field(
        description="a method of mdnmt, or a plug-in (docs/your-own-method.md); or mbart50, pretrained weights"
    )
    train_on: Literal["all", "each"] = Field("all", description="each: one run per domain, on the text of that domain")
    initialise_from: str | None = Field(
        None, description="start from the trained model of this method: same task, same seed, all domains"
    )
    deliberately_broken: bool = Field(
        False, description="demonstrates a known failure; tests do not require it to be right"
    )
    architecture: dict[str, Any] = Field({}, description="options of the builder, where they differ from the defaults")
    training: dict[str, Any] = Field({}, description="options of the recipe, where they differ from the defaults")


def load_method(config_folder: Path, name: str) -> MethodConfig:
    """Return config/methods/<name>.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    path = find_named(config_folder / "methods", name, "method")
    method = load_model(path, MethodConfig)
    validate_model(method.training, Training, f"{path}: training")
    return method
