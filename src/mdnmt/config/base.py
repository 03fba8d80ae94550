"""The base of every configuration model: frozen, and unknown keys are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, WrapValidator

from mdnmt.plugin_kinds import Kind
from mdnmt.plugins import find_own, load


class Frozen(BaseModel):
    """A configuration value that cannot change after it was read; its numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


def or_plugin(kind: Kind, key: str) -> WrapValidator:
    """Return a validator for a union of options that also takes those of plug-ins, whose class is their `Options`.

    Args:
        kind: what the options are of.
        key: the option that names it, with dashes; the name of a plug-in's file has `_` for them.
    """

    def validate(value: Any, handler: Callable[[Any], Any]) -> Any:
        name = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
        plugin = find_own(kind, name.replace("-", "_")) if isinstance(name, str) else None
        if plugin is None:
            return handler(value)
        options = load(kind, plugin).Options
        return options.model_validate(value)

    return WrapValidator(validate)
