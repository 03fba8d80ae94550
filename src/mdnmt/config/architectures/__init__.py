"""The options of every method's model: what `architecture` of a method file, paper or study may set.

`mdnmt.methods` builds the models; it imports PyTorch, which takes longer than all the rest of a plan or a dry run.
These need only the options, so the options of each method have a file of their own here.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from mdnmt.config.architectures.architecture import Architecture

# The methods whose options are here, by the names of their modules in `mdnmt.methods`.
ARCHITECTURES = tuple(sorted({found.name for found in iter_modules(__path__)} - {"architecture"}))


def architecture_type(builder: str) -> type[Architecture]:
    """Return the class of the options of a method in `ARCHITECTURES`."""
    kind: type[Architecture] = import_module(f"{__name__}.{builder}").config_type
    return kind
