from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mdnmt.code_hash import code_hash, modules_of
from mdnmt.config.exhibit_kinds import kinds_in
from mdnmt.config.paper import PaperFigure
from mdnmt.errors import ConfigError
from mdnmt.exhibits import registry
from mdnmt.exhibits.figure_request import FigureRequest, figure_spec
from mdnmt.exhibits.request import paper_figure
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

ROOT = Path(__file__).resolve().parents[3]
FIGURES, TABLES = kinds_in("figures"), kinds_in("tables")


def test_every_kind_has_its_module() -> None:
    assert len(FIGURES) >= 11 and len(TABLES) >= 8
    for figure in FIGURES:
        assert registry.figure_class(figure).model_fields["kind"].default == figure
    for table in TABLES:
        assert registry.table_class(table).model_fields["kind"].default == table


@pytest.mark.parametrize(
    ("writer", "room", "modules"),
    [
        ("mdnmt.report.write_table", "mdnmt.exhibits.tables", TABLES),
        ("mdnmt.exhibits.save_figure", "mdnmt.exhibits.figures", FIGURES),
    ],
)
def test_the_code_of_one_kind_is_not_that_of_another(writer: str, room: str, modules: tuple[str, ...]) -> None:
    for kind in modules:
        covered = set(modules_of(writer, f"{room}.{kind}"))
        assert f"{room}.{kind}" in covered
        others = {f"{room}.{other}" for other in modules} - {f"{room}.{kind}"}
        # It is the heat map, of one side and one domain.
        shared = {"proportion_words": {"mdnmt.exhibits.figures.proportion_heatmap"}}
        assert not others & covered - shared.get(kind, set()), kind


def test_the_code_of_a_figure_is_not_that_which_selects_its_runs() -> None:
    figures = modules_of("mdnmt.exhibits.save_figure", *(f"mdnmt.exhibits.figures.{kind}" for kind in FIGURES))
    tables = modules_of("mdnmt.report.write_table", *(f"mdnmt.exhibits.tables.{kind}" for kind in TABLES))
    selecting = r"mdnmt\.(studies|train\b|exhibits\.(\w+_)?request)"
    assert not [name for name in (*figures, *tables) if re.match(selecting, name)]


def test_kinds_have_hashes_of_their_own() -> None:
    assert registry.figure_code("curves") != registry.figure_code("tsne")
    assert registry.table_code("scores") == code_hash("mdnmt.report.write_table", "mdnmt.exhibits.tables.scores")


@pytest.mark.slow
def test_matplotlib_is_imported_only_to_draw() -> None:
    script = (
        "import sys; from mdnmt.exhibits.registry import figure_class; from mdnmt.config.exhibit_kinds import kinds_in;"
        "import mdnmt.exhibits.figure_request; print(len([figure_class(kind) for kind in kinds_in('figures')]));"
        "sys.exit(bool({'matplotlib', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unknown_kind_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"no kind of figure 'tsme' \(did you mean 'tsne'\?\); kinds are: ambiguity,"):
        registry.figure_class("tsme")


@pytest.fixture(scope="module")
def smoke() -> Study:
    return resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")


def requested(study: Study, key: str, **options: Any) -> registry.FigureSpec:
    figure, task = paper_figure(study, key)
    request = FigureRequest(study, key, task, ResultPaths(study, Path("results")), False, figure)
    changed = replace(request, figure=figure.model_copy(update={"options": options}))
    return registry.figure_class(figure.kind).select(changed)


def test_options_of_a_paper_reach_the_figure(smoke: Study) -> None:
    key = next(key for key in smoke.config.figures if paper_figure(smoke, key)[0].kind == "curves")
    spec: Any = requested(smoke, key, x="epochs", panels=["valid_bleu"])
    assert (spec.x, spec.panels) == ("epochs", ("valid_bleu",))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"axis": "epochs"}, "unknown key 'axis'; kind curves has: x, panels"),
        ({"title": "T"}, "unknown key 'title'; kind curves has"),
        ({"panel": ["valid_bleu"]}, r"unknown key 'panel' \(did you mean 'panels'\?\)"),
        ({"x": "hours"}, "x: .*'hours'"),
    ],
)
def test_a_mistake_in_options_is_one_line(smoke: Study, options: dict[str, Any], expected: str) -> None:
    key = next(key for key in smoke.config.figures if paper_figure(smoke, key)[0].kind == "curves")
    with pytest.raises(ConfigError, match=rf"^config/papers/\w+\.yaml: figures\.\w+\.options: {expected}"):
        requested(smoke, key, **options)


def test_former_keys_name_the_new_one() -> None:
    with pytest.raises(ValidationError, match=r"x is an option of the kind; write options: \{x: \.\.\.\}"):
        PaperFigure.model_validate({"kind": "curves", "title": "T", "caption": "C", "methods": ["m"], "x": "epochs"})


def test_a_figure_may_give_a_system_another_name(smoke: Study) -> None:
    spec = figure_spec(smoke, "mdnmt-post-norm", ResultPaths(smoke, Path("results")))
    found = {system["method"]: system["label"] for system in spec.model_dump()["systems"]}
    assert found["mixed"] == "Mixed" and found["mixed-post-norm"] == "Mixed, post-norm"


def test_a_name_for_a_system_that_the_figure_does_not_show_is_refused() -> None:
    figure = {"kind": "curves", "title": "T", "caption": "C", "methods": ["m"], "labels": {"n": "N"}}
    with pytest.raises(ValidationError, match="labels: n is not one of the figure's methods"):
        PaperFigure.model_validate(figure)


@pytest.mark.slow
def test_all_figures_of_all_papers_have_options_that_their_kinds_know() -> None:
    for name in ("paper", "smoke", "synthetic"):
        study = resolve(ROOT / "config", name, ROOT / "resources" / "corpora")
        for key in study.config.figures:
            assert figure_spec(study, key, ResultPaths(study, Path("results"))).kind == paper_figure(study, key)[0].kind
