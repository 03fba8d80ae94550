"""The methods, one file each, and those of plug-ins. A module with `config_type` and `build` is a builder.

A module is imported when a model is built, because that imports PyTorch, which validating options does not need.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mdnmt import plugins
from mdnmt.config.architectures import ARCHITECTURES, architecture_type
from mdnmt.config.architectures.architecture import Architecture, VocabSizes, with_size
from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import canonical_json
from mdnmt.plugin_kinds import BLOCK, LOSS, METHOD, PRETRAINED, Plugin
from mdnmt.plugins import changed_code, find_all, folder, load, one_line

if TYPE_CHECKING:
    from mdnmt.methods.method import Method

# Modules of this package. Each offers `config_type` (its Architecture) and `build(config, vocab, num_domains)`.
BUILDERS = tuple(sorted({found.name for found in iter_modules(__path__)} - {"assembly", "meta_device", "method"}))


def find_own(builder: str) -> Plugin | None:
    """Return the plug-in that a builder names; None for a method of this package, or if there is none.

    Raises:
        ConfigError: the package has a method of this name too, or there are several plug-ins.
    """
    return plugins.find_own(METHOD, builder)


def pretrained(builder: str) -> ModuleType | None:
    """Return the plug-in of a model that others trained; None if the builder is a method."""
    plugin = find_own(builder) if builder not in BUILDERS else None
    return load(PRETRAINED, plugin) if plugin is not None and plugin.looks_like(PRETRAINED) else None


def code_of(builder: str, architecture: Mapping[str, Any] | None = None) -> Mapping[str, str]:
    """Return the code that is part of the address of a method's runs, as module -> hash; empty for the package's.

    Args:
        builder: the method's builder.
        architecture: its options, which may name plug-ins.

    Raises:
        ConfigError: there is no such plug-in, or a module that it imports is missing or is not Python.
    """
    plugin = find_own(builder)
    own = plugins.own_code(f"{__name__}.{builder}") if plugin is None and builder in BUILDERS else {}
    named = [(METHOD, builder)] if plugin is not None else []
    for kind, key in ((BLOCK, "blocks"), (LOSS, "losses")):
        named += [(kind, name) for name in (architecture or {}).get(key, ())]
    for kind, name in named:
        own = {**own, **plugins.code_of(kind, plugins.require(kind, name).name)}
    return own


def describe_own(builder: str, code: Mapping[str, str]) -> dict[str, str]:
    """Return what a run records of code that is not part of the package: builder, files and a hash."""
    plugin = find_own(builder)
    return {
        "name": builder,
        "file": plugin.place if plugin is not None else ", ".join(code),
        "code": hashlib.sha256(canonical_json(dict(code)).encode()).hexdigest()[:16],
    }


def validate(
    builder: str,
    options: dict[str, Any],
    *,
    where: str,
    code: Mapping[str, str] | None = None,
) -> Architecture:
    """Return the architecture that `options` describe for `builder`.

    Args:
        builder: the name of a module here, or of a plug-in.
        options: the options to set; all others keep their defaults.
        where: names the file in errors.
        code: the hashes of the code that the builder must have (`code_of`); None: any.

    Raises:
        ConfigError: unknown builder or option, a value that is not allowed, other code, or a plug-in with a mistake.
    """
    if changed := changed_code(code or {}):
        found = "other code" if find_own(builder) or builder in BUILDERS else f"none in {folder()}"
        raise ConfigError(
            f"{where}: its address names the code of {', '.join(changed)}, found {found}: put that code back (a run "
            "has a copy in its folder code/) or set MDNMT_PLUGINS to a folder that has it; to train with today's code, "
            "start snakemake again"
        )
    return validate_model(options, config_type(builder, where), f"{where}: architecture")


def config_type(builder: str, where: str) -> type[Architecture]:
    """Return the class of a builder's options; arguments and errors as in `validate`."""
    if builder in ARCHITECTURES and find_own(builder) is None:
        return architecture_type(builder)
    kind: type[Architecture] = _builder(builder, where).config_type
    return kind


def _builder(builder: str, where: str) -> ModuleType:
    plugin = find_own(builder)
    if plugin is None and builder not in BUILDERS:
        known = sorted({*BUILDERS, *(one.name for kind in (METHOD, PRETRAINED) for one in find_all(kind))})
        raise ConfigError(
            f"{where}: no builder {builder!r}{did_you_mean(builder, known)}; there are: {', '.join(known)}"
        )
    if plugin is None:
        return import_module(f"{__name__}.{builder}")
    module = load(METHOD, plugin)
    if not (isinstance(module.config_type, type) and issubclass(module.config_type, Architecture)):
        raise ConfigError(f"{plugin.place}: config_type is no class that extends mdnmt.methods.method.Architecture")
    if not callable(module.build):
        raise ConfigError(f"{plugin.place}: build is not a function")
    return module


def build(builder: str, architecture: Architecture, vocab: VocabSizes, num_domains: int) -> Method:
    """Return the method that `builder` makes of a validated architecture.

    Raises:
        ConfigError: the options do not fit together, or a plug-in's code fails.
    """
    from mdnmt.methods.method import Method

    plugin, make = find_own(builder), _builder(builder, builder).build
    sized = with_size(architecture, num_domains)
    sized.require_task(num_domains, joint=vocab.joint)
    with one_line(plugin, "build fails") if plugin is not None else nullcontext():
        method = make(sized, vocab, num_domains)
    if not isinstance(method, Method):
        place = plugin.place if plugin is not None else builder
        raise ConfigError(f"{place}: build returns {type(method).__name__}, expected a Method")
    if sized.blocks or sized.losses:
        losses = [*method.losses, *(plugins.make(LOSS, name, sized) for name in sized.losses)]
        # Only a method of one's own can say that its blocks know packed batches.
        return replace(method, losses=losses, packs=method.packs and not sized.blocks)
    return method
