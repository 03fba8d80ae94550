"""From comparisons to the verdict on a claim, with the reason."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from mdnmt import plugins
from mdnmt.config.claim_rule import Needed, Rule
from mdnmt.config.claims import Claim
from mdnmt.numbers.verdicts import MIN_SEEDS, Verdict
from mdnmt.plugin_kinds import CLAIM_RULE
from mdnmt.statements.claims.evidence import Evidence
from mdnmt.statements.claims.outcome import Comparison, Outcome, Outcomes, count_verdicts
from mdnmt.statements.claims.seed_samples import ALPHA
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.wording import claim_words, title_of

VERSION = 2  # how rules and numbers become verdicts; a bundle of another version is decided anew, not compared
MOST_NAMED = 3  # failed or missing comparisons that a reason lists


def count_needed(needed: Needed, number: int) -> int:
    """Return how many of `number` comparisons must hold."""
    if needed == "all":
        return number
    if needed == "most":
        return number // 2 + 1
    return 1 if isinstance(needed, str) else max(1, math.ceil(needed * number - 1e-9))


def verdict_of(needed: Needed, found: Sequence[Comparison], rules: int = 1) -> Verdict:
    """Return the verdict on comparisons of which a share must hold.

    Both verdicts are corrected for the number of comparisons, m. At least k of them are shown to hold if the k-th
    smallest p in favour is at most 0.05 / (m - k + 1), which is Holm's bound: 0.05 for each if all must hold, and
    0.05 / m for the smallest if one must (Benjamini and Heller 2008, "Screening for partial conjunction hypotheses").
    Fewer than k are shown to hold if m - k + 1 are shown to fail in the same way, at 0.05 / k. This bound is divided
    by `rules` as well, because a claim fails if any of its rules fails. A comparison that cannot be tested, such as one
    with a single seed, might hold or fail, but it cannot give a false verdict. So it counts among the m of which k must
    hold, but not among those that the correction divides by. A comparison that could not be made leaves the rule open
    unless the others already decide it.

    Args:
        needed: how many must hold.
        found: the comparisons.
        rules: how many rules, or groups of one, the claim has: each could refute it.
    """
    made = [one for one in found if one.missing is None]
    if not made:
        return "not comparable"
    enough = count_needed(needed, len(made))
    tested = [one for one in made if one.tested]
    holds = _shown(tested, True, enough, ALPHA)
    fails = _shown(tested, False, len(made) - enough + 1, ALPHA / rules)
    if len(made) < len(found):
        if needed == "one" and holds:
            return "reproduced"
        return "not reproduced" if needed == "all" and fails else "not comparable"
    return "reproduced" if holds else "not reproduced" if fails else "inconclusive"


def _shown(tested: Sequence[Comparison], holds: bool, number: int, alpha: float) -> bool:
    """Return whether at least `number` comparisons are shown to hold (or to fail), at an error rate of alpha."""
    p_values = sorted(_p_value(one, holds) for one in tested)
    return number <= len(tested) and p_values[number - 1] * (len(tested) - number + 1) <= alpha


def _p_value(one: Comparison, holds: bool) -> float:
    """Return the p-value of a comparison against the opposite of `holds`; a fact without a p-value is certain."""
    if one.p is None:
        return 0.0 if one.holds is holds else 1.0
    return one.p if one.toward is holds else 1.0


def combined_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on several that must all hold: the first of these that one of them has."""
    order: tuple[Verdict, ...] = ("not reproduced", "not tested", "not comparable", "inconclusive", "reproduced")
    return min(verdicts, key=order.index)


@dataclass(frozen=True)
class Decided:
    """A rule with its comparisons and its verdict."""

    rule: Rule
    found: tuple[Comparison, ...]
    verdict: Verdict


def decide_rule(rule: Rule, evidence: Evidence, rules: int = 1) -> Decided:
    """Return the verdict on one rule, from all that it compares; `rules` is how many its claim has.

    Raises:
        ConfigError: the code of a rule of the user's own fails.
    """
    plugin = plugins.find_own(CLAIM_RULE, rule.kind)
    with nullcontext() if plugin is None else plugins.one_line(plugin, "comparisons fails"):
        every = list(rule.comparisons(evidence))
    made = [one for one in every if one.missing is None]
    missing = list(dict.fromkeys(one for one in every if one.missing is not None))  # each missing exhibit is named once
    found = (*made, *missing)
    if rule.never is not None:
        return Decided(rule, found, "not comparable")
    if made and rule.not_tested:
        return Decided(rule, found, "not tested")
    groups = dict.fromkeys(one.group for one in made) or {"": None}
    of_group = [[one for one in made if one.group == group] for group in groups]
    rules *= len(of_group)
    return Decided(
        rule, found, combined_verdict([verdict_of(rule.needed, [*some, *missing], rules) for some in of_group])
    )


def decide(spec: ClaimsSpec) -> Outcomes:
    """Return the verdict on every claim of a paper.

    Raises:
        DataError: a file is not the table or figure that it should be.
    """
    evidence = Evidence(spec)
    outcomes = tuple(_outcome(name, claim, evidence) for name, claim in spec.claims.items())
    return Outcomes(paper=spec.paper, title=spec.title, counts=count_verdicts(outcomes), outcomes=outcomes)


def _outcome(name: str, claim: Claim, evidence: Evidence) -> Outcome:
    spec = evidence.spec
    decided = [decide_rule(rule, evidence, len(claim.rules)) for rule in claim.rules]
    verdict = combined_verdict([one.verdict for one in decided])
    found = [comparison for one in decided for comparison in one.found]
    made = [comparison for comparison in found if comparison.missing is None]
    exhibits = (*claim.tables, *claim.figures)
    here = [exhibit for exhibit in exhibits if spec.tables.get(exhibit) or spec.figures.get(exhibit)]
    other = list(dict.fromkeys(spec.on_other_text[exhibit] for exhibit in here if exhibit in spec.on_other_text))
    return Outcome(
        id=name,
        paper=spec.paper,
        where=claim.where,
        says=claim.says,
        kind=claim.kind,
        rule_text=claim_words(claim),
        verdict=verdict,
        reason=reason(verdict, decided),
        on_other_text="; ".join([*other, *_left_out(name, spec)]) or None,
        holds=sum(one.toward is True for one in made),
        of=len(made),
        holds_in_print=sum(one.in_print is True for one in made),
        of_in_print=sum(one.in_print is not None for one in made),
        num_seeds=min((one.num_seeds for one in made if one.num_seeds is not None), default=None),
        comparisons=tuple(found),
        evidence=tuple(spec.key(exhibit) for exhibit in here),
    )


def _left_out(name: str, spec: ClaimsSpec) -> Iterator[str]:
    if exhibits := spec.left_out.get(name):
        yield f"decided without {', '.join(title_of(exhibit) for exhibit in exhibits)}, which this study leaves out"


def reason(verdict: Verdict, decided: Sequence[Decided]) -> str:
    """Return the reason for a verdict in one sentence, with the number of comparisons that hold so far."""
    noted = [one.rule.never for one in decided if one.rule.never]
    found = [comparison for one in decided for comparison in one.found]
    made = [comparison for comparison in found if comparison.missing is None]
    so_far = _so_far(made)
    if verdict == "reproduced":
        return so_far
    if verdict == "not reproduced":
        failed = [c.what for one in decided if one.verdict == verdict for c in one.found if c.holds is False]
        return f"does not hold: {_some(failed)}; {so_far}"
    if verdict == "not tested":
        choices = [one.rule.not_tested for one in decided if one.verdict == verdict and one.rule.not_tested]
        return f"{'; '.join(dict.fromkeys(choices))}; {so_far}"
    if verdict == "not comparable":
        missing = list(dict.fromkeys(one.missing for one in found if one.missing is not None))
        needed = f"needs {_some(missing, '; ')}" if missing else ""
        return "; ".join(part for part in (*noted, needed, so_far if made else "") if part) or "nothing to compare"
    return f"{_undecided(made)}; {so_far}"


def _undecided(made: Sequence[Comparison]) -> str:
    open_ones = [one for one in made if one.holds is None]
    doubts = list(dict.fromkeys(one.doubt for one in open_ones if one.doubt is not None))
    if doubts:
        return "; ".join(doubts)
    few = min((one.num_seeds for one in open_ones if one.num_seeds is not None), default=MIN_SEEDS)
    if few < MIN_SEEDS:
        return f"{few} seed{'' if few == 1 else 's'}; a verdict needs {MIN_SEEDS}"
    fails = sum(one.holds is False for one in made)
    if open_ones and not fails:
        return f"the 95 % interval of {len(open_ones)} of {len(made)} comparisons includes the threshold"
    return (
        f"of {len(made)} comparisons {len(made) - len(open_ones) - fails} hold, {fails} fail and {len(open_ones)} are "
        "open, each tested alone; with Holm's correction this is not enough for a verdict"
    )


def _so_far(made: Sequence[Comparison]) -> str:
    toward = sum(one.toward is True for one in made)
    seeds = min((one.num_seeds for one in made if one.num_seeds is not None), default=None)
    with_seeds = "" if seeds is None else f" with {seeds} seed{'' if seeds == 1 else 's'}"
    return f"holds in {toward} of {len(made)} comparison{'' if len(made) == 1 else 's'}{with_seeds}"


def _some(names: Sequence[str], between: str = "; ") -> str:
    more = f"{between}and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return between.join(names[:MOST_NAMED]) + more
