"""The forms of computation among config/methods: a few methods in which each value of each option occurs.

Tests that compute are parametrised over these forms, not over all methods: most differ in a size, or combine
options that another one has already. The files are read, so a method with a new option or value becomes a form.
"""

from __future__ import annotations

from pathlib import Path

from mdnmt.config.method import MethodConfig, MethodIndex
from mdnmt.methods import BUILDERS, validate

CONFIG = Path(__file__).resolve().parents[1] / "config"
SIZES = {"size", "model_dim", "ffn_dim", "num_heads", "encoder_layers", "decoder_layers"}
INDEX = MethodIndex(CONFIG)
ALL = {name: INDEX.load(name) for name in sorted(INDEX.names)}
# Not a pretrained model: its own tests are in tests/unit/pretrained.
CONFIGS = {name: config for name, config in ALL.items() if config.builder in BUILDERS}


def _traits(name: str, config: MethodConfig) -> set[str]:
    """Return the builder's options with their values, sizes left out, defaults included."""
    options = validate(config.builder, config.architecture, where=name).model_dump()
    return {f"{config.builder}.{key}={value}" for key, value in options.items() if key not in SIZES}


def _forms() -> list[str]:
    """Return names of methods that have all traits together: each time the one that adds most of them."""
    # Of two that add as much the one with the plain size.
    plain = sorted(CONFIGS, key=lambda name: "size" in CONFIGS[name].architecture)
    traits = {name: _traits(name, CONFIGS[name]) for name in plain}
    missing, chosen = set[str]().union(*traits.values()), list[str]()
    while missing:
        best = max(traits, key=lambda name: len(traits[name] & missing))
        chosen.append(best)
        missing -= traits[best]
    return chosen


FORMS = _forms()
# The first form of a builder is the method that sets most of its options.
FORM_OF_BUILDER = {CONFIGS[name].builder: name for name in reversed(FORMS)}
