"""The methods, one file each. A module with `config_type` and `build` is a builder; there is no list to add it to."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.errors import ConfigError
from mdnmt.methods.method import Architecture, Method, VocabSizes, with_size

_MODULES = {found.name: import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)}
# Each offers `config_type` (its Architecture) and `build(config, vocab, num_domains)`.
BUILDERS: dict[str, ModuleType] = {name: module for name, module in _MODULES.items() if hasattr(module, "build")}


def validate(builder: str, options: dict[str, Any], *, where: str, others: Iterable[str] = ()) -> Architecture:
    """Return the architecture that `options` describe for `builder`.

    Args:
        builder: the name of a module here.
        options: the options to set; all others keep their defaults.
        where: names the file in errors.
        others: builders that are not modules here, for the list in the error about an unknown one.

    Raises:
        ConfigError: unknown builder or option, or a value that is not allowed.
    """
    if builder not in BUILDERS:
        known = sorted([*BUILDERS, *others])
        raise ConfigError(
            f"{where}: no builder {builder!r}{did_you_mean(builder, known)}; there are: {', '.join(known)}"
        )
    kind: type[Architecture] = BUILDERS[builder].config_type
    return validate_model(options, kind, f"{where}: architecture")


def build(builder: str, architecture: Architecture, vocab: VocabSizes, num_domains: int) -> Method:
    """Return the method that `builder` makes of a validated architecture."""
    method: Method = BUILDERS[builder].build(with_size(architecture, num_domains), vocab, num_domains)
    return method
