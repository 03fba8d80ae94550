"""The studies that rebuild the papers: how many runs they are, and that small ones show all of the large one."""

from __future__ import annotations

import shutil
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mdnmt.config.run import RunSpec
from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import comparison
from mdnmt.exhibits.request import columns, paper_table
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

CONFIG = Path(__file__).parents[3] / "config"
ONE_PAPER = ("jiang2020", "zhang2021", "song2026", "phan2022")
# Runs a seed by task, counted once where several tables share them. Jiang et al., two domains: 4 on one domain, 2 + 8
# baselines, 4 + 2 mixing rows, 6 combined with embeddings, 2 without labels are 28; EN-DE has two frozen ones and a
# sweep of four more. Four domains: 4 more on one domain are 32, and Table 8 has 8 + 10 + 2 + 2 of its own, post-norm.
# Mixed, fine-tuned on each domain, is a row of ours in the main tables of the three papers: a run for each domain.
RUNS = {
    "jiang-en-de": 50,
    "jiang-en-fr": 44,
    "jiang-zh-en": 80,
    "jiang-en-zh": 2,  # of Table 7
    "zhang-zh-en": 14,
    "zhang-en-fr": 9,
    "song-en-zh": 34,
    "song-zh-en": 3,
    "song-en-zh-characters": 3,
    "song-en-fr": 12,
    "phan-en-de": 7,
}


@cache
def study(name: str, folder: Path) -> Study:
    return resolve(CONFIG, name, folder)


@pytest.fixture
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Study]:
    """Return the studies, resolved where no corpus has been fetched."""
    folder = tmp_path_factory.getbasetemp() / "no-corpora"
    names = ("paper", *ONE_PAPER, "smoke", "registry", "registry-small", "open")
    return {name: study(name, folder) for name in names}


def shown(study: Study) -> set[tuple[str, str, str]]:
    """Return (table, row, column) of every cell, by what paper and task call them."""
    cells = set()
    for key in study.config.tables:
        table, task = paper_table(study, key)
        domains = [task.config.domains[column.name].stands_for or column.name for column in columns(task)]
        rows = [name for row in table.rows for name in row.methods] or ["-"]
        cells |= {
            (key, row, f"{metric} {column}") for row in rows for metric in table.metrics for column in (*domains, "avg")
        }
    return cells


def test_the_paper_study_has_every_run_of_every_table(found: dict[str, Study]) -> None:
    paper = found["paper"]
    assert paper.config.seed_list == (1, 2, 3)
    assert Counter(run.task for run in paper.runs if run.seed == 1) == RUNS
    assert len(paper.runs) == 3 * sum(RUNS.values())
    everything = {f"{name}-{item}" for name, one in paper.papers.items() for item in one.tables}
    # A user's study adds its rows to them.
    own = {"mdnmt-systems", "mdnmt-forgetting", "mdnmt-costs", "mdnmt-estimates"}
    assert set(paper.config.tables) == everything - own
    figures = {f"{name}-{item}" for name, one in paper.papers.items() for item in one.figures}
    # Not of the papers' recipes.
    own = {"mdnmt-curves", "mdnmt-proportions", "mdnmt-learning-rates", "mdnmt-intervals"}
    assert set(paper.config.figures) == figures - own


def test_the_runs_of_the_four_studies_of_one_paper_are_those_of_paper(found: dict[str, Study]) -> None:
    def planned(study: Study) -> dict[tuple[str, str, int], RunSpec | None]:
        return {(run.task, run.directory, run.seed): run.planned for run in study.runs}

    whole, parts = planned(found["paper"]), [planned(found[name]) for name in ONE_PAPER]
    # A `RunSpec` is all that the address of a run is the hash of.
    assert all(spec == whole[run] for part in parts for run, spec in part.items())
    assert {run for part in parts for run in part} == set(whole)


@pytest.mark.parametrize("name", ONE_PAPER)
def test_the_study_of_one_paper_shows_what_paper_shows_of_it(found: dict[str, Study], name: str) -> None:
    one, paper = found[name].config, found["paper"].config
    for kind in ("tables", "figures"):
        own = {key: shown for key, shown in getattr(one, kind).items() if not key.startswith("mdnmt-")}
        assert own == {key: shown for key, shown in getattr(paper, kind).items() if key.startswith(f"{name}-")}
        assert own
    for key in ("use_recipes", "seeds", "decoding", "comparison", "analysis", "comet", "copy_source"):
        assert getattr(one, key) == getattr(paper, key)
    assert found[name].claims[name] == found["paper"].claims[name]


@pytest.mark.parametrize("name", ["smoke", "registry", "registry-small"])
def test_the_others_show_the_same_cells_of_the_same_methods(found: dict[str, Study], name: str) -> None:
    assert shown(found[name]) == shown(found["paper"])
    assert set(found[name].config.figures) == set(found["paper"].config.figures)
    stand_in = found[name].config.stand_ins
    each = {method for method, one in found["paper"].methods.items() if one.train_on == "each"}  # other domains
    assert Counter((run.task, run.directory) for run in found[name].runs if run.method not in each) >= Counter(
        (stand_in[run.task], run.directory) for run in found["paper"].runs if run.seed == 1 and run.method not in each
    )


def test_fine_tuned_models_are_one_untested_row_below_the_printed_ones(found: dict[str, Study]) -> None:
    smoke = found["smoke"]
    for key in (
        *(f"jiang2020-table{number}" for number in (2, 3, 4)),
        *("zhang2021-table3-zh-en", "zhang2021-table3-en-fr", "song2026-table3", "song2026-table5"),
    ):
        _, task = paper_table(smoke, key)
        spec = table_spec(smoke, key, ResultPaths(smoke, Path("results")))
        assert isinstance(spec, ScoreTable)
        tuned = spec.rows[-1]
        assert {name: model.method for name, model in tuned.models.items()} == {
            name: f"finetuned-{name}" for name in task.config.domains
        }
        assert spec.needs()[-len(tuned.models) :] == tuple(tuned.models.values())
        assert "{" not in tuned.label and not tuned.printed
        tested = comparison(smoke, key, ResultPaths(smoke, Path("results")))["systems"]
        assert not [name for name in tested if name.startswith("finetuned")] and "mixed" in tested


def test_a_model_of_all_domains_has_no_own_domain(tmp_path: Path) -> None:
    shutil.copytree(CONFIG, tmp_path / "config")
    path = tmp_path / "config" / "studies" / "zhang2021.yaml"
    path.write_text(path.read_text().replace("method: finetuned, own", "method: dsa, own"))
    with pytest.raises(ConfigError, match="own_domain: dsa"):
        resolve(tmp_path / "config", "zhang2021", tmp_path)


def test_open_needs_no_form(found: dict[str, Study]) -> None:
    tasks = found["open"].tasks
    assert set(tasks) == {"jiang-en-de", "jiang-en-fr", "zhang-en-fr", "song-en-fr", "phan-en-de"}
    providers = {corpus.source.provider for task in tasks.values() for corpus in task.corpora.values()}
    assert providers == {"http", "opus", "hf", "git"}


def test_smoke_needs_no_network_and_leaves_nothing_out(found: dict[str, Study]) -> None:
    smoke = found["smoke"]
    assert not [run for run in smoke.runs if run.missing]
    providers = {corpus.source.provider for task in smoke.tasks.values() for corpus in task.corpora.values()}
    assert providers == {"generated"}
