"""Every claim of every paper: reproduced where it holds, not where it fails, and not decided by one seed."""

from __future__ import annotations

from pathlib import Path

import claim_evidence
import pytest

from mdnmt.claims.decide import decide
from mdnmt.claims.outcome import Outcome
from mdnmt.claims.spec import ClaimsSpec
from mdnmt.config.claims import Claim, NotedRule, load_claims, needs

CONFIG = Path(__file__).resolve().parents[3] / "config"
PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")
CLAIMS = [(name, claim) for paper in PAPERS for name, claim in load_claims(CONFIG, paper).items()]
NOTED = [(name, claim) for name, claim in CLAIMS if any(isinstance(rule, NotedRule) for rule in claim.rules)]
DECIDED = [(name, claim) for name, claim in CLAIMS if (name, claim) not in NOTED]
RULES = [
    pytest.param(claim, index, id=f"{name}-{index}") for name, claim in DECIDED for index in range(len(claim.rules))
]


def outcome_of(spec: ClaimsSpec) -> Outcome:
    (found,) = decide(spec).outcomes
    return found


def of_seeds(claim: Claim) -> bool:
    """Say whether a claim needs seeds: sizes and times of models do not."""
    return "decode_sentences_per_second" not in str(claim.rules) and "epoch_seconds" not in str(claim.rules)


@pytest.mark.parametrize(("name", "claim"), DECIDED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_claim_that_holds_is_reproduced_and_by_one_seed_inconclusive(name: str, claim: Claim, tmp_path: Path) -> None:
    found = outcome_of(claim_evidence.write(claim, tmp_path))
    assert found.verdict == "reproduced", found.reason
    assert found.of == len(found.comparisons) > 0
    assert set(found.evidence) == {f"p-{item}" for item in (*needs(claim).tables, *needs(claim).figures)}

    few = outcome_of(claim_evidence.write(claim, tmp_path, seeds=1))
    assert few.of == found.of and few.holds == found.holds
    if of_seeds(claim):
        assert (found.num_seeds, few.num_seeds) == (3, 1)
        assert few.verdict == "inconclusive" and few.reason.startswith("1 seed; a verdict needs 3; holds in ")
    else:
        assert few.verdict == "reproduced"


@pytest.mark.parametrize(("claim", "index"), RULES)
def test_a_claim_of_which_one_rule_fails_is_not_reproduced(claim: Claim, index: int, tmp_path: Path) -> None:
    found = outcome_of(claim_evidence.write(claim, tmp_path, failing=index))
    assert found.verdict == "not reproduced"
    assert found.reason.startswith("does not hold: ")
    few = outcome_of(claim_evidence.write(claim, tmp_path, seeds=2, failing=index))
    assert few.verdict == ("inconclusive" if of_seeds(claim) else "not reproduced")


@pytest.mark.parametrize(("name", "claim"), DECIDED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_claim_without_its_evidence_is_not_comparable(name: str, claim: Claim, tmp_path: Path) -> None:
    spec = claim_evidence.write(claim, tmp_path)
    items = [*needs(claim).tables, *needs(claim).figures]
    for item in items:
        less = spec.model_copy(
            update={
                "tables": {key: path for key, path in spec.tables.items() if key != item},
                "figures": {**spec.figures, **({item: None} if item in spec.figures else {})},
                "missing": {item: "needs a corpus that is not there"},
            }
        )
        found = outcome_of(less)
        if "needed='one'" not in str(claim.rules):
            assert found.verdict == "not comparable"
            assert "needs a corpus that is not there" in found.reason
    none = outcome_of(spec.model_copy(update={"tables": {}, "figures": {}}))
    assert (none.verdict, none.of, none.evidence) == ("not comparable", 0, ())
    assert "not part of this study" in none.reason


@pytest.mark.parametrize(("name", "claim"), NOTED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_nothing_can_decide_says_why(name: str, claim: Claim) -> None:
    found = outcome_of(ClaimsSpec(paper="p", title="P", claims={name: claim}))
    assert (found.verdict, found.reason) == ("not comparable", claim.rules[0].why)
    assert found.reason in found.rule_text
