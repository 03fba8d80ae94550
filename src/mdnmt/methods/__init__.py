"""One file a published method; `BUILDERS` is the list of them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mdnmt.config.loader import validate_model
from mdnmt.errors import ConfigError
from mdnmt.methods import transformer, waldm
from mdnmt.methods.method import Architecture, Method, VocabSizes

# A module here offers `config_type` (its Architecture) and `build(config, vocab, num_domains)`.
BUILDERS: dict[str, ModuleType] = {"transformer": transformer, "waldm": waldm}


def validate(builder: str, options: dict[str, Any], *, where: str) -> Architecture:
    """Return the architecture that `options` describe for `builder`.

    Raises:
        ConfigError: unknown builder or option, or a value that is not allowed; `where` names the file.
    """
    if builder not in BUILDERS:
        raise ConfigError(f"{where}: no builder {builder!r}; there are: {', '.join(sorted(BUILDERS))}")
    kind: type[Architecture] = BUILDERS[builder].config_type
    return validate_model(options, kind, f"{where}: architecture")


def build(builder: str, architecture: Architecture, vocab: VocabSizes, num_domains: int) -> Method:
    """Return the method that `builder` makes of a validated architecture."""
    method: Method = BUILDERS[builder].build(architecture, vocab, num_domains)
    return method
