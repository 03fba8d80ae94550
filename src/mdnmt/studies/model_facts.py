"""What models on the meta device have shown, kept in a file, so that the next start need not import PyTorch.

A fact is a list of integers under a key that covers all that decides it: options and code.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from mdnmt import fsio
from mdnmt.code_hash import modules_of, sources

FACTS = Path("resources/model-facts.json")


def key_of(module: str, *options: object) -> str:
    """Return the key of what a module of this package finds about models with these options."""
    return hashlib.sha256(" ".join((*map(str, options), _code(module))).encode()).hexdigest()


@cache
def known() -> dict[str, tuple[int, ...]]:
    """Return key -> fact, of earlier processes; those of this one are added."""
    try:
        return {key: tuple(map(int, fact)) for key, fact in fsio.read_json(FACTS).items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError):  # missing, damaged, or of another version
        return {}


def learn(key: str, fact: tuple[int, ...]) -> None:
    """Keep a fact; a folder that is missing or read-only is no error."""
    known()[key] = fact
    if FACTS.parent.is_dir():
        with suppress(OSError):
            fsio.write_sealed(FACTS, dict(sorted(known().items())))


@cache
def _code(module: str) -> str:
    """Return the code that decides what a module finds: its own and that of models, not all that these import."""
    deciding = ("mdnmt.config.architectures", "mdnmt.methods", "mdnmt.models", "mdnmt.train.initialise", module)
    return " ".join(sources().hash_of(name) for name in modules_of(module) if name.startswith(deciding))
