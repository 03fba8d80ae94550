"""Numbers that pages state of the project are those of the configuration, and pages agree with each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fast_cases import fast_cases
from pages import PAGES, ROOT, read

from mdnmt.config.claims import load_claims
from mdnmt.config.deviations import load_deviations
from mdnmt.config.method import load_method
from mdnmt.config.published import load_published
from mdnmt.studies.resolve import resolve

CONFIG = ROOT / "config"
STUDIES = sorted(path.stem for path in (CONFIG / "studies").glob("*.yaml"))
PAPERS = sorted(path.stem for path in (CONFIG / "published").glob("*.tsv"))


def studies_table() -> dict[str, str]:
    """Return study -> what docs/studies.md says of the number of its runs."""
    section = read(ROOT / "docs" / "studies.md").partition("## The studies of this repository")[2].partition("\n## ")[0]
    found: dict[str, str] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            found |= dict.fromkeys(re.findall(r"`([^`]+)`", cells[0]), cells[3])
    return found


def status_row(name: str) -> str:
    return next(line for line in read(ROOT / "docs" / "status.md").splitlines() if line.startswith(f"| {name} |"))


def test_every_study_stands_in_the_list_of_studies() -> None:
    assert sorted(studies_table()) == STUDIES


@pytest.mark.parametrize("study", fast_cases(STUDIES, "demo", "replication"))
def test_the_list_of_studies_has_the_number_of_runs(study: str, tmp_path: Path) -> None:
    found = resolve(CONFIG, study, tmp_path)
    seeds = len(found.config.seed_list)
    runs = len(found.runs) // seeds
    expected = f"{runs} a seed, {seeds} seeds" if seeds > 1 else str(runs)
    expected = str(len(found.runs)) if found.config.seeds_of else expected
    assert studies_table()[study] == expected, f"docs/studies.md: {study}: write {expected!r} as the number of runs"


def test_the_page_on_what_is_built_counts_printed_numbers_claims_and_contradictions() -> None:
    # A line without a value is a cell of a table that we do not have.
    cells = [cell for paper in PAPERS for cell in load_published(CONFIG, paper).numbers.values()]
    numbers = sum(cell.value is not None for cell in cells)
    claims = sum(len(load_claims(CONFIG, paper)) for paper in PAPERS)
    wrong = sum(map(int, re.findall(r"^does not agree: (\d+)", read(ROOT / "docs" / "audit.md"), flags=re.MULTILINE)))
    for row, expected in (
        ("printed numbers", f"the {numbers} "),
        ("claims", f"{claims} "),
        ("audit", f" {wrong} places"),
    ):
        assert expected in status_row(row), f"docs/status.md: {row}: write {expected.strip()!r}"


def test_the_synthetic_page_counts_its_models(tmp_path: Path) -> None:
    study = resolve(CONFIG, "synthetic", tmp_path)
    each = len(study.runs) // len(study.tasks)
    text = read(ROOT / "docs" / "synthetic.md")
    assert f"trains {each} small models on each of two tasks" in text, f"docs/synthetic.md: write {each}"


def test_the_initialisation_of_the_naive_model_is_the_same_everywhere() -> None:
    method = load_method(CONFIG, "naive-edc-init")
    claim = load_claims(CONFIG, "phan2022")["phan-edc-fails"]
    row = next(row for row in load_deviations(CONFIG) if row.id == "naive-initialisation")
    assert method.architecture["initialisation"] == "xavier" and method.initialise_from is None
    for text in (claim.says, row.said, read(ROOT / "docs" / "methods" / "naive-waldm.md")):
        assert "Xavier" in text
    assert "from the mixed model" not in claim.says


def test_no_page_has_another_rule_for_p_values() -> None:
    for page in PAGES:
        assert "is the largest over the seeds" not in " ".join(read(page).split()), page.name
    assert "one test over seeds and sentences together" in " ".join(read(ROOT / "docs" / "tutorial.md").split())
