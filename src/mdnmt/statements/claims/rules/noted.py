"""A claim that is listed for the record: nothing that a study makes can decide it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from mdnmt.config.claim_rule import Rule, Use, claim_rule
from mdnmt.statements.claims.evidence import Evidence
from mdnmt.statements.claims.outcome import Comparison


@claim_rule
class NotedRule(Rule):
    """Nothing that a study makes can decide it."""

    kind: Literal["noted"] = Field(description="for the record")
    why: str = Field(min_length=1, description="why nothing here can decide it")

    @property
    def never(self) -> str:
        """Return why nothing can decide it."""
        return self.why

    def uses(self) -> Iterator[Use]:
        """Yield nothing."""
        return iter(())

    def words(self) -> str:
        """Return the rule as a sentence."""
        return f"Nothing that a study makes can decide it: {self.why}."

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        """Yield nothing."""
        return iter(())
