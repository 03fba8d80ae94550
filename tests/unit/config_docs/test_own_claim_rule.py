"""docs/your-own-claim-rule.md, done as it says: one plug-in makes a new kind of claim rule, and touches no other."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import DOCS_RULE, ROOT, named_files

from mdnmt import plugins
from mdnmt.cli import main
from mdnmt.errors import ConfigError
from mdnmt.exhibits.code_hashes import code_of_page
from mdnmt.extras.power.claim_contrasts import designs
from mdnmt.extras.power.seed_spread import SeedSpread, Spread
from mdnmt.fsio import read_json, write_sealed
from mdnmt.report.report_selection import paper_section
from mdnmt.statements.claims.decide import decide
from mdnmt.statements.claims.outcome import Outcome
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.statements.claims.write_claims import write_claims
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

DOMAINS = ("debian", "kde", "law")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a project with what the page adds."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "plugins").mkdir()
    for path, text in named_files(DOCS_RULE).items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    study = tmp_path / "config/studies/demo.yaml"
    value = yaml.safe_load(study.read_text(encoding="utf-8")) | {"seeds": 3}
    value["tables"]["mine-results"] = {"task": "demo-en-fr"}
    study.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MDNMT_PLUGINS", str(tmp_path / "plugins"))
    yield tmp_path
    plugins.forget()


def resolved() -> tuple[Study, ResultPaths]:
    study = resolve(Path("config"), "demo", Path("resources/corpora"))
    return study, ResultPaths(study, Path("results"))


def decided(study: Study, places: ResultPaths, rows: dict[str, list[list[float]]]) -> Outcome:
    """Decide the page's claim on a table with these BLEU: row -> values of each domain, one per seed."""
    spec = claims_spec(study, "mine", places)
    cells = {
        name: [{"mean": sum(values) / len(values), "num_seeds": len(values), "values": values} for values in domains]
        for name, domains in rows.items()
    }
    table: dict[str, Any] = {
        "format": 2,
        "kind": "scores",
        "title": "T",
        "headers": [{"key": name, "label": name, "metric": "bleu"} for name in DOMAINS],
        "rows": [{"group": "G", "label": name, "method": name, "cells": found} for name, found in cells.items()],
    }
    path = spec.tables["results"]
    assert path is not None
    write_sealed(path, table)
    (outcome,) = decide(spec).outcomes
    return outcome


def test_the_rule_decides_is_planned_and_told(project: Path) -> None:
    study, places = resolved()
    close, apart = [[20.0, 20.3, 20.1], [21.0, 21.1, 21.2], [22.0, 22.3, 22.2]], [[9.0, 9.1, 9.3]]
    found = decided(study, places, {"mixed": close, "waldm-edc": close})
    assert found.verdict == "reproduced" and found.of == 2
    gaps = [22.0 - 20.0, 22.3 - 20.3, 22.2 - 20.1]
    assert found.comparisons[0].left == pytest.approx(sum(gaps) / 3)
    assert "best domain minus that of the worst" in found.rule_text and "below 5" in found.rule_text
    assert decided(study, places, {"mixed": close, "waldm-edc": [*close[:2], *apart]}).verdict == "not reproduced"
    assert decided(study, places, {"mixed": close}).verdict == "not comparable"
    (design,) = designs(study, places, Spread(SeedSpread(made="", sources=(), domain={}, average={})))[-1:]
    assert (design.name, design.why_not, len(design.groups[0].contrasts)) == ("balanced", None, 2)
    assert set(design.rows) == {"demo-en-fr/mixed", "demo-en-fr/waldm-edc"}


@pytest.mark.slow
def test_an_edit_of_the_rule_judges_anew_and_a_comment_does_not(project: Path) -> None:
    rule, hashes = project / "plugins/balance.py", []
    text = rule.read_text(encoding="utf-8")
    for edited in (text, text + "# a comment\n", text.replace("max(values) - min(values)", "max(values)")):
        rule.write_text(edited, encoding="utf-8")
        plugins.forget()
        hashes.append([code_of_page(made, *resolved()) for made in ("claims", "numbers")])
    before, commented, changed = hashes
    assert before == commented and before[0] != changed[0] and before[1] == changed[1]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("kind: balanse", "no kind of claim rule 'balanse' (did you mean 'balance'?)"),
        ("rows: [mixde", "there is no method 'mixde' (did you mean 'mixed'?)"),
        ("belaw: 5", "unknown key 'claims.balanced.rules.0.belaw' (did you mean 'below'?)"),
    ],
)
def test_a_mistake_in_a_claim_is_one_line(project: Path, wrong: str, told: str) -> None:
    path = project / "config/claims/mine.yaml"
    right = {"kind: balanse": "kind: balance", "rows: [mixde": "rows: [mixed", "belaw: 5": "below: 5"}[wrong]
    path.write_text(path.read_text(encoding="utf-8").replace(right, wrong), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        resolved()
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_the_module_is_checked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-plugin", "plugins/balance.py"]) == 0
    assert "a claim rule" in capsys.readouterr().out
    path = project / "plugins/balance.py"
    path.write_text(path.read_text(encoding="utf-8").replace('Literal["balance"]', 'Literal["other"]'))
    plugins.forget()
    assert main(["check-plugin", "plugins/balance.py"]) == 2


def test_the_page_knows_the_code_of_the_rules_as_the_file_of_claims_records_it(project: Path) -> None:
    study, places = resolved()
    decided(study, places, {"mixed": [[20.0]] * 3, "waldm-edc": [[20.0]] * 3})
    path = Path("claims.json")
    write_claims(claims_spec(study, "mine", places).model_copy(update={"made_with": {}}), path)
    assert read_json(path)["made"]["code"] == paper_section(study, "mine", places).claims_code


def test_a_mistake_in_the_rule_is_one_line_with_its_place(project: Path) -> None:
    (path,) = (project / "plugins").glob("*.py")
    code = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(def comparisons\(.*\n)", r"\1        {}[0]\n", code, count=1), encoding="utf-8")
    plugins.forget()
    study, places = resolved()
    with pytest.raises(ConfigError, match=rf"^plugins/{path.name}:\d+: comparisons fails \(KeyError: 0\); [^\n]*$"):
        decided(study, places, {"mixed": [[20.0] * 3] * 3, "waldm-edc": [[20.0] * 3] * 3})
