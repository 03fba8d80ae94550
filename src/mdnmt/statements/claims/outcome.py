"""The outcome of a claim: its comparisons, its verdict and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mdnmt.config.base import Frozen
from mdnmt.exhibits.grid import Provenance, read_written
from mdnmt.numbers.verdicts import VERDICTS, Verdict


class Comparison(Frozen):
    """One comparison of a rule; with `missing`, one that could not be made."""

    what: str
    left: float | None = None
    right: float | None = None  # None: the number is compared with a threshold only
    difference: float | None = None  # left - times * right, which is compared with the threshold
    half_width: float | None = None  # of the 95 % interval of the difference; None: too few seeds, or none differs
    toward: bool | None = None  # whether the difference of the means fulfils the rule, whatever its interval
    holds: bool | None = None  # whether the whole interval fulfils it, uncorrected; None: undecided
    p: float | None = None  # two-sided, that the difference lies at the threshold; None: an exact fact, or undecided
    tested: bool = True  # False: too few seeds or doubtful numbers, so no p-value was computed
    num_seeds: int | None = None  # the fewer of both sides; None: it does not depend on a seed
    in_print: bool | None = None  # whether the paper's own numbers fulfil the rule; None: it does not print both
    doubt: str | None = None  # why it stays undecided, other than too few seeds
    missing: str | None = None  # what would be needed to make it
    group: str = ""  # a rule with `per_row` must hold within each group


class Outcome(Frozen):
    """A claim with its verdict."""

    id: str
    paper: str
    where: str
    says: str
    kind: str
    rule_text: str
    verdict: Verdict
    reason: str
    on_other_text: str | None = None  # how the text differs from the paper's, and which exhibits were left out
    holds: int  # comparisons whose means fulfil the rule
    of: int  # comparisons that were made
    holds_in_print: int = 0  # of the same comparisons, between the paper's own numbers
    of_in_print: int = 0
    num_seeds: int | None = None  # the fewest of all comparisons; None: none depends on a seed, or none was made
    comparisons: tuple[Comparison, ...] = ()
    evidence: tuple[str, ...] = ()  # <paper>-<exhibit>: the tables and figures that were read


class Outcomes(Frozen):
    """All claims of a paper."""

    paper: str
    title: str
    counts: dict[str, int]  # verdict -> how many claims
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()  # on the runs behind the evidence; added by `mdnmt exhibit`, like `made`
    made: Provenance | None = None


def count_verdicts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return verdict -> how many claims, in the order of `VERDICTS`."""
    return {verdict: sum(one.verdict == verdict for one in outcomes) for verdict in VERDICTS}


def read_outcomes(path: Path) -> Outcomes:
    """Return the outcomes in a file that `mdnmt exhibit` wrote.

    Raises:
        DataError: the file is not such output.
    """
    return read_written(path, Outcomes, "what `mdnmt exhibit` writes")
