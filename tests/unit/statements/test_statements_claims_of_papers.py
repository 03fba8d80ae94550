"""Every claim of every paper: reproduced where it holds, not where it fails, and not decided by one seed."""

from __future__ import annotations

import json
from pathlib import Path

import claim_evidence
import pytest

from mdnmt.config.claim_rule import Rule
from mdnmt.config.claims import Claim, load_claims
from mdnmt.statements.claims.decide import decide
from mdnmt.statements.claims.outcome import Outcome
from mdnmt.statements.claims.rules.noted import NotedRule
from mdnmt.statements.claims.spec import ClaimsSpec

CONFIG = Path(__file__).resolve().parents[3] / "config"


def without_reasons(claim: Claim) -> Claim:
    """Return a claim whose rules all give verdicts, also those that our own choice decides."""
    rules = [
        rule.model_copy(update={"not_tested": None}) if hasattr(rule, "not_tested") else rule for rule in claim.rules
    ]
    return claim.model_copy(update={"rules": tuple(rules)})


PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")
CLAIMS = [(name, claim) for paper in PAPERS for name, claim in load_claims(CONFIG, paper).items()]
NOTED = [(name, claim) for name, claim in CLAIMS if any(isinstance(rule, NotedRule) for rule in claim.rules)]
OWN_CHOICE = [(name, claim) for name, claim in CLAIMS if any(getattr(rule, "not_tested", None) for rule in claim.rules)]
DECIDED = [(name, without_reasons(claim)) for name, claim in CLAIMS if (name, claim) not in NOTED]
RULES = [
    pytest.param(claim, index, id=f"{name}-{index}") for name, claim in DECIDED for index in range(len(claim.rules))
]


def outcome_of(spec: ClaimsSpec) -> Outcome:
    (found,) = decide(spec).outcomes
    return found


def of_seeds(claim: Claim) -> bool:
    """Say whether a claim needs seeds: sizes and times of models do not."""
    return not any(quantity in str(claim.rules) for quantity in claim_evidence.QUANTITIES)


@pytest.mark.parametrize(("name", "claim"), DECIDED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_claim_that_holds_is_reproduced_and_by_one_seed_inconclusive(name: str, claim: Claim, tmp_path: Path) -> None:
    spec = claim_evidence.write(claim, tmp_path)
    found = outcome_of(spec)
    assert found.verdict == "reproduced", found.reason
    assert found.of == len(found.comparisons) > 0
    items = (*claim.tables, *claim.figures)
    assert set(found.evidence) == {item if item == "mdnmt-labels" else f"p-{item}" for item in items}

    few = outcome_of(claim_evidence.write(claim, tmp_path, seeds=1))
    assert few.of == found.of and few.holds == found.holds
    if of_seeds(claim):
        assert (found.num_seeds, few.num_seeds) == (8, 1)
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
    items = [*claim.tables, *claim.figures]
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


def test_what_nothing_can_decide_says_why() -> None:
    for name, claim in NOTED:
        found = outcome_of(ClaimsSpec(paper="p", title="P", claims={name: claim}))
        assert (found.verdict, found.reason) == ("not comparable", claim.rules[0].why)
        assert found.reason in found.rule_text


@pytest.mark.parametrize(("name", "claim"), OWN_CHOICE, ids=lambda value: value if isinstance(value, str) else "")
def test_what_our_own_choice_decides_is_not_tested(name: str, claim: Claim, tmp_path: Path) -> None:
    for failing in (None, *range(len(claim.rules))):
        found = outcome_of(claim_evidence.write(claim, tmp_path, failing=failing))
        fails_fairly = failing is not None and claim.rules[failing].not_tested is None
        assert found.verdict == ("not reproduced" if fails_fairly else "not tested"), failing
        if not fails_fairly:
            reasons = [rule.not_tested for rule in claim.rules if rule.not_tested]
            assert found.reason.startswith(reasons[0]) and "; holds in " in found.reason
    nothing = outcome_of(ClaimsSpec(paper="p", title="P", claims={name: claim}))
    assert nothing.verdict == "not comparable"


def reads_comet(claim: Claim) -> bool:
    return any(map(rule_reads_comet, claim.rules))


def rule_reads_comet(rule: Rule) -> bool:
    return any("comet" in use.metrics for use in rule.uses())


def without_comet(spec: ClaimsSpec) -> ClaimsSpec:
    """Empty the COMET columns of all tables, as where its weights cannot be had."""
    for path in spec.tables.values():
        assert path is not None
        table = json.loads(path.read_text())
        for index, header in enumerate(table["headers"]):
            if header["metric"] == "comet":
                header["missing"] = "needs weights that are not there"
                for row in table["rows"]:
                    row["cells"][index] = {}
        path.write_text(json.dumps(table))
    return spec


@pytest.mark.parametrize(("name", "claim"), DECIDED, ids=lambda value: value if isinstance(value, str) else "")
def test_comet_has_claims_of_its_own_and_only_they_need_it(name: str, claim: Claim, tmp_path: Path) -> None:
    if reads_comet(claim):
        assert all(map(rule_reads_comet, claim.rules)), "a rule could be decided without COMET"
    # Where no rule reads COMET, one outcome shows it.
    for failing in (None, *range(len(claim.rules))) if reads_comet(claim) else (None,):
        spec = claim_evidence.write(claim, tmp_path, failing=failing)
        whole, less = outcome_of(spec), outcome_of(without_comet(spec))
        toy = outcome_of(
            claim_evidence.write(claim, tmp_path, failing=failing).model_copy(
                update={"unusable": {"comet": "scored with a toy"}}
            )
        )
        assert whole.verdict == ("reproduced" if failing is None else "not reproduced")
        if reads_comet(claim):
            assert (less.verdict, less.of, toy.verdict, toy.of) == ("not comparable", 0, "not comparable", 0)
            assert "(needs weights that are not there)" in less.reason and "(scored with a toy)" in toy.reason
        else:
            assert less == toy == whole


def test_comet_is_asked_about_in_every_table_that_prints_it() -> None:
    claims = load_claims(CONFIG, "song2026")
    asked = {item for claim in claims.values() if reads_comet(claim) for item in claim.tables}
    assert asked == {"table3", "table5", "table6"}


def test_post_norm_compares_a_model_of_one_domain_on_its_own_domain_alone(tmp_path: Path) -> None:
    # Off the diagonal such a model is as bad with either norm: there is nothing to collapse.
    claim = load_claims(CONFIG, "jiang2020")["jiang-t8-postnorm-collapse"]
    spec = claim_evidence.write(claim, tmp_path)
    for path in spec.tables.values():
        assert path is not None
        table = json.loads(path.read_text())
        keys = [header["key"] for header in table["headers"]]
        for row in table["rows"]:
            if row["method"].startswith("single-"):
                own = row["method"].removeprefix("single-")
                row["cells"] = [row["cells"][keys.index(own)] if key == own else {"mean": 3.0} for key in keys]
        path.write_text(json.dumps(table))
    found = outcome_of(spec)
    singles = [one.what for one in found.comparisons if "SINGLE" in one.what]
    assert found.verdict == "reproduced"
    rows = [(domain.title(), f"SINGLE-{domain.upper()}") for domain in ("news", "ted")]
    assert singles == [f"BLEU on {domain}: {row} against {row} of Table 4" for domain, row in rows]
