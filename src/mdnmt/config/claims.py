"""A paper's sentences as rules that data can decide: config/claims/<paper>.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SerializeAsAny

from mdnmt.config.base import Frozen
from mdnmt.config.claim_rule import Rule, Use, require_known, rule_module
from mdnmt.config.loader import find_named, load_model
from mdnmt.config.paper import PaperConfig, PaperTable
from mdnmt.config.task import Name
from mdnmt.errors import ConfigError

ClaimKind = Literal["better", "worse", "smaller", "larger", "order", "shape", "collapse", "arithmetic"]
OWN = "mdnmt"  # our own tables and figures count as this paper; a rule calls them mdnmt-<exhibit>


class Claim(Frozen):
    """A sentence of a paper, in our words; it holds if each of its rules does."""

    where: str = Field(min_length=1, description="section, table or figure of the paper")
    says: str = Field(min_length=1, description="the sentence, in our words")
    kind: ClaimKind = Field(description="what sort of statement it is")
    rules: tuple[SerializeAsAny[Rule], ...] = Field(min_length=1, description="all of which must hold")

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the tables that decide it, each once, in the order of its rules."""
        return self._exhibits("tables")

    @property
    def figures(self) -> tuple[str, ...]:
        """Return the figures that decide it, each once, in the order of its rules."""
        return self._exhibits("figures")

    def _exhibits(self, folder: str) -> tuple[str, ...]:
        used = (use for rule in self.rules for use in rule.uses())
        return tuple(dict.fromkeys(use.exhibit for use in used if use.folder == folder))


class ClaimsConfig(Frozen):
    """One file of config/claims/."""

    claims: dict[Name, Claim] = Field(min_length=1, description="id -> claim")


def rule_modules(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return the modules of the kinds of rules that claims use."""
    return tuple(sorted({rule_module(rule.kind) for claim in claims for rule in claim.rules}))


def without_tables(claim: Claim, left_out: Collection[str]) -> Claim:
    """Return a claim without the tables that a study leaves out."""
    return claim.model_copy(update={"rules": tuple(rule.without(left_out) for rule in claim.rules)})


def is_own(exhibit: str) -> bool:
    """Say whether an exhibit is one of our own tables and figures, and not one of the paper's."""
    return exhibit.startswith(f"{OWN}-")


def load_claims(config_folder: Path, paper: str) -> dict[str, Claim]:
    """Return the claims of config/claims/<paper>.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    return load_model(find_named(config_folder / "claims", paper, "file of claims"), ClaimsConfig).claims


def row_names(table: PaperTable) -> dict[str, tuple[str, ...]]:
    """Return method -> its possible names in a table.

    Names carry the suffix of the table's variant; a method of a `best_of` may have the name of any method in it.
    """
    suffix = f"-{table.variant.suffix}" if table.variant is not None else ""
    found: dict[str, tuple[str, ...]] = {}
    for row in table.rows:
        plain = [name.removesuffix(suffix) if suffix else name for name in row.methods]
        found |= dict.fromkeys(plain, tuple(f"{name}{suffix}" for name in plain))
    return found


def check_claims(
    claims: Mapping[str, Claim], paper: PaperConfig, methods: Iterable[str], where: str, own: PaperConfig | None = None
) -> None:
    """Raise an error if a claim names something that does not exist.

    Args:
        claims: id -> claim, of one paper.
        paper: its tables and figures.
        methods: the names of config/methods.
        where: the file of the claims.
        own: the tables and figures of config/papers/mdnmt.yaml; None: no rule names one.

    Raises:
        ConfigError: a table or figure that the paper does not have, or a method or domain that it does not show.
    """
    known = set(methods)
    paper = _with_own(paper, own)
    for name, claim in claims.items():
        for index, rule in enumerate(claim.rules):
            try:
                for use in rule.uses():
                    _check_use(use, paper, known)
                rule.check(paper)
            except ConfigError as error:
                raise ConfigError(f"{where}: claims.{name}.rules.{index}: {error}") from None


def _check_use(use: Use, paper: PaperConfig, methods: set[str]) -> None:
    exhibits: Mapping[str, Any] = getattr(paper, use.folder)
    require_known(use.exhibit, exhibits, f"the paper has no {use.folder[:-1]}")
    table = paper.tables[use.exhibit] if use.folder == "tables" else None
    shown = row_names(table) if table else paper.figures[use.exhibit].methods
    for method in use.methods:
        require_known(method, methods | set(shown), "there is no method")
        require_known(method, shown, f"{use.exhibit} does not show")
    if table is None or table.kind != "scores":
        return
    for metric in use.metrics:
        require_known(metric, table.metrics, f"{use.exhibit} has no metric")


def _with_own(paper: PaperConfig, own: PaperConfig | None) -> PaperConfig:
    """Return the paper with our own tables and figures beside its own, as rules name them."""
    if own is None:
        return paper
    tables = {f"{OWN}-{exhibit}": table for exhibit, table in own.tables.items()}
    figures = {f"{OWN}-{exhibit}": figure for exhibit, figure in own.figures.items()}
    return paper.model_copy(update={"tables": {**paper.tables, **tables}, "figures": {**paper.figures, **figures}})
