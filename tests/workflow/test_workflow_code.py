"""Dry runs of a finished study after an edit of the code: cheap stages are made again, and only those that run it."""

from __future__ import annotations

import shutil

import pytest
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

SHOWN = {"table", "figure", "claims", "report"}
PAGE = {"report"}
NOTED = {"table", "claims", "numbers"} | PAGE


@pytest.fixture
def checkout(project: Project) -> Project:
    """Return a finished project with a copy of the package, which is the one that runs."""
    # With its bytecode, so that not every test compiles the package; what is being written there is left out.
    being_written = shutil.ignore_patterns("*.pyc.*", ".*")
    shutil.copytree(ROOT / "src" / "mdnmt", project.path("src/mdnmt"), ignore=being_written)
    project.is_checkout = True
    return project


def change(project: Project, module: str) -> None:
    """Add a line of code to a module."""
    path = project.path(f"src/mdnmt/{module}.py")
    path.write_text(f"{path.read_text()}\nCHANGED = True\n")


def test_comments_and_docstrings_make_nothing(checkout: Project) -> None:
    for path in sorted(checkout.path("src/mdnmt").rglob("*.py"))[::10]:
        text = path.read_text()
        assert text.startswith('"""')
        path.write_text(f'"""Another docstring.\n\n{text[3:]}\n# A comment.\n')
    assert checkout.plan().outputs == {}


def test_the_code_of_one_kind_of_figure_makes_its_figures_again(checkout: Project) -> None:
    change(checkout, "exhibits/figures/proportion_heatmap")
    plan = checkout.plan()
    assert {name.split("/")[-1].split(".")[0] for name in plan.outputs["figure"]} == {"jiang2020-figure8"}
    assert plan.rules - {"claims"} == {"figure", "numbers"} | PAGE
    checkout.snakemake("--cores", "2")
    assert checkout.plan().outputs == {}


@pytest.mark.parametrize(
    ("module", "rules"),
    [
        ("score/metrics/string_based/bleu", {"score", "score_copy", "significance", "numbers"} | SHOWN),
        pytest.param("score/significance/holm", {"significance", "numbers"} | SHOWN, marks=pytest.mark.long),
        ("statements/claims/rules/cells", {"claims"} | PAGE),
        pytest.param("statements/audit/sweeps", {"audit"} | PAGE, marks=pytest.mark.long),
        ("report/sections/exhibit_sections", PAGE),
        # Nothing is trained or translated anew, but what shows the runs' numbers names them.
        pytest.param("decode/beam", NOTED, marks=pytest.mark.long),
        pytest.param("energy", PAGE, marks=pytest.mark.long),
    ],
)
def test_other_code_makes_what_runs_it(checkout: Project, module: str, rules: set[str]) -> None:
    change(checkout, module)
    plan = checkout.plan()
    assert plan.rules <= rules, "makes more than what runs the code"
    # What lies behind a stage is planned when the stage is done, or already now.
    first = rules - PAGE - ({"numbers"} | SHOWN if "significance" in rules else set())
    assert first <= plan.rules


def test_an_edited_command_of_a_cheap_stage_makes_its_outputs_again(checkout: Project) -> None:
    checkout.edit("workflow/rules/score.smk", "mdnmt score --copy-source", "mdnmt score --metrics bleu --copy-source")
    checkout.edit("workflow/rules/decode.smk", "--spec {params.spec:q}", "--spec '{{}}'")
    assert {"score_copy"} <= checkout.plan().rules <= {"score_copy", "significance", "numbers"} | SHOWN
    # What has an address is not made again, and other options are refused at this address.
    [hypotheses] = checkout.path("results/runs/tiny/mixed").glob("seed1-*/test-*/hyp")
    shutil.rmtree(hypotheses)
    printed = checkout.snakemake("--cores", "2", str(hypotheses.relative_to(checkout.folder)), status=1)
    assert "these options have the hash" in printed and "Traceback" not in printed


def test_what_other_code_made_is_not_made_again_and_is_noted_beside_the_numbers(checkout: Project) -> None:
    change(checkout, "commands/decode")
    checkout.snakemake("--cores", "2")
    assert checkout.plan().outputs == {}
    own = checkout.path("results/tiny")
    assert "seed 1: translated by other code" in (own / "tables/jiang2020-table2.md").read_text()
    for name in ("numbers.csv", "report.html", "claims/jiang2020.md"):
        assert "translated by other code" in (own / name).read_text(), name
    # Likewise where the code of a block is another: what shows the numbers is made again, and no run.
    change(checkout, "models/feed_forward")
    assert checkout.plan().rules - {"audit"} == NOTED  # the audit counts the parameters of models


def test_the_package_of_another_checkout_makes_nothing(checkout: Project) -> None:
    checkout.is_checkout = False
    printed = checkout.snakemake("-n", status=1)
    assert "the package that runs is " in printed and str(checkout.path("src/mdnmt")) in printed
    checkout.environment["MDNMT_OTHER_PACKAGE"] = "1"
    assert checkout.plan().outputs == {}
