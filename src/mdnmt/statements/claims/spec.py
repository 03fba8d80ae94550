"""Spec of the command `claims`: the claims of one paper, and the paths of the tables and figures that decide them."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.claims import Claim, is_own
from mdnmt.config.task import Name


class ClaimsSpec(Frozen):
    """The claims of one paper; an exhibit is a table or figure by its key in config/papers, such as `table2`."""

    paper: str  # a file of config/papers
    title: str
    claims: dict[Name, Claim]
    tables: dict[str, Path | None] = Field({})  # exhibit -> what `mdnmt exhibit` wrote; None: not made
    figures: dict[str, Path | None] = Field({})  # exhibit -> what `mdnmt exhibit` wrote beside the drawing
    made_with: dict[str, str] = Field({})  # file -> hash of the options that it must have been made with
    missing: dict[str, str] = Field({})  # exhibit -> why it is not made
    rows: dict[str, dict[str, tuple[str, ...]]] = Field({})  # exhibit -> the `row_names` of its table; default: itself
    domains: dict[str, dict[str, str]] = Field(
        {}
    )  # exhibit -> domain of the paper's own task -> column; default: itself
    on_other_text: dict[str, str] = Field({})  # exhibit -> why its text is not the paper's
    left_out: dict[str, tuple[str, ...]] = Field({})  # claim -> exhibits that the study decides it without
    printed_bleu: dict[str, str] = Field({})  # exhibit -> our metric to compare with its printed BLEU; default: bleu
    decision: int = 1  # `decide.VERSION` of the code that made this specification; 1: before there were versions
    unusable: dict[str, str] = Field({})  # metric -> why its scores decide nothing

    def names(self, exhibit: str, method: str) -> tuple[str, ...]:
        """Return the names that a method may have in a table or figure."""
        return self.rows.get(exhibit, {}).get(method, (method,))

    def key(self, exhibit: str) -> str:
        """Return how a study names an exhibit: <paper>-<exhibit>."""
        return exhibit if is_own(exhibit) else f"{self.paper}-{exhibit}"

    def why_missing(self, exhibit: str) -> str:
        """Return why an exhibit is not there."""
        return self.missing.get(exhibit, "not part of this study")
