"""The Jinja environment of all HTML: every text is escaped, and a name that a template does not get is an error."""

from __future__ import annotations

from functools import cache
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined

from mdnmt.escape import visible


def read_part(name: str) -> str:
    """Return a template, style or script of the page."""
    return resources.files("mdnmt.report.sections").joinpath(name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Return the environment. Characters that act unseen, such as terminal controls, become blanks."""
    return Environment(
        loader=FunctionLoader(read_part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
