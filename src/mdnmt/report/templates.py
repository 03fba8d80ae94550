"""The Jinja environment of all HTML: every text is escaped, and an undefined name is an error."""

from __future__ import annotations

from functools import cache, partial
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined

from mdnmt.escape import visible


def read_part(package: str, name: str) -> str:
    """Return a template, style or script from the folder of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def environment(package: str) -> Environment:
    """Return the environment for the templates of a package.

    Invisible characters with an effect, such as terminal controls, become blanks. Each caller names its own package,
    because the code hash counts the files of every package that a module names.
    """
    return Environment(
        loader=FunctionLoader(partial(read_part, package)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
