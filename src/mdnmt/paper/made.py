"""The record of what made an exhibit: it stands in the file of every table, figure, audit and set of claims."""

from __future__ import annotations

from mdnmt.config.base import Frozen


class Made(Frozen):
    """Version, commit and code; the commit is None outside a repository."""

    mdnmt: str
    commit: str | None
    dirty: bool | None  # whether tracked files differed from the commit
    code: str  # hash of the modules that made it (mdnmt.code_hash)
