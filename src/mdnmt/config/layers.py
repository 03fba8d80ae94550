"""The layers that the options of a run pass, from the paper's recipe to the study, each with its place in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdnmt.config.training import merge_recipes


@dataclass(frozen=True)
class Layer:
    """Options that one place of a file sets; those of a later layer override those of an earlier one.

    Attributes:
        file: the file.
        keys: where in the file: keys, and numbers in lists.
        architecture: options of the builder.
        training: options of the recipe.
        decoding: options of translation.
    """

    file: Path
    keys: tuple[str | int, ...]
    architecture: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    decoding: Mapping[str, Any] = field(default_factory=dict)


def architecture_of(layers: Iterable[Layer]) -> dict[str, Any]:
    """Return the options of the builder that the layers set together."""
    return {key: value for layer in layers for key, value in layer.architecture.items()}


def training_of(layers: Iterable[Layer]) -> dict[str, Any]:
    """Return the options of the recipe that the layers set together."""
    return merge_recipes(layer.training for layer in layers)
