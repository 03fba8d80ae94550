"""Tables stand in the printed order, and under the printed number only where the task is the paper's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mdnmt.config.paper import PaperConfig, PaperTable, load_paper
from mdnmt.config.published import load_published
from mdnmt.config.task import TaskConfig, load_task
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.grid import Grid
from mdnmt.exhibits.headings import heading, why_other
from mdnmt.exhibits.request import paper_table
from mdnmt.exhibits.seed_scores import AVERAGE
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.task_selection import choice_spec
from mdnmt.report import report_selection
from mdnmt.report.render_latex import to_latex
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

CONFIG = Path(__file__).parents[3] / "config"


class ResultPaths:
    """Paths that mean nothing."""

    runs_table = "runs.tsv"

    def __getattr__(self, name: str) -> Any:
        return lambda *args: name


PLACES: Any = ResultPaths()


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return resolve(CONFIG, "paper", tmp_path_factory.mktemp("none"))


@pytest.fixture(scope="module")
def open_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return resolve(CONFIG, "open", tmp_path_factory.mktemp("none"))


def once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def kept(values: Iterable[str], wanted: Iterable[str]) -> list[str]:
    return [value for value in values if value in set(wanted)]


def printed_columns(table: PaperTable, names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        columns = table.printed_columns.get(name, ())
        found += [columns] if isinstance(columns, str) else columns
    return found


TABLES = [
    ("zhang2021-table3-zh-en", ["THESIS", "NEWS", "IWSLT", "LAWS"]),
    ("zhang2021-table3-en-fr", ["IWSLT", "KDE4", "ECB"]),
    ("song2026-table3", ["Law", "Thesis", "Science", "Spoken"]),
    ("song2026-table5", ["Ted", "New", "Ecb"]),
]


@pytest.mark.parametrize(("key", "columns"), TABLES)
def test_columns_of_the_known_tables(paper: Study, key: str, columns: list[str]) -> None:
    spec: Any = table_spec(paper, key, PLACES)
    table, task = paper_table(paper, key)
    names = [task.config.domains[column.name].stands_for or column.name for column in spec.columns]
    assert [column.rpartition("/")[2] for column in printed_columns(table, names)] == columns


def test_every_table_has_the_printed_order(paper: Study) -> None:
    compared = 0
    for key in paper.config.tables:
        table, _ = paper_table(paper, key)
        if not table.printed or key.startswith("jiang2020-table6"):  # the one column of Table 6 is unknown
            continue
        published = load_published(CONFIG, key.partition("-")[0])
        spec: Any = table_spec(paper, key, PLACES)
        if table.kind == "corpora":
            rows = printed_columns(table, [row.domain for row in spec.rows])
        else:
            shown: Any = [row for row in spec.rows if row.printed]
            rows = once(name for row in shown if (name := printed_row(table, row.label, row.method)))
            if table.kind == "scores":
                columns = printed_columns(table, [*(column.name for column in spec.columns), AVERAGE])
                of_rows = once(
                    place[2] for place in published.numbers if place[:2] in {(table.printed, row) for row in rows}
                )
                assert columns == kept(of_rows, columns), key
        assert rows and rows == kept(published.rows(table.printed), rows), key
        compared += 1
    assert compared > 15


def printed_row(table: PaperTable, label: str, directory: str) -> str | None:
    """Return the printed name of a row; of a model of one domain its printed column."""
    for row in table.rows:
        for method in row.methods:
            name = row.printed or row.label or label
            if "{domain}" in name and directory.startswith(f"{method}-"):
                domain = directory.removeprefix(f"{method}-")
                if domain in table.printed_columns:
                    return str(table.printed_columns[domain])
            elif directory == method:
                return name
    return None


def test_the_rows_of_the_slide(paper: Study) -> None:
    spec: Any = table_spec(paper, "phan2022-results", PLACES)
    labels = [row.label for row in spec.rows if row.printed]
    assert labels == ["direct-training", "E/DC", "E/DC-with-init", "Encoder"]


def test_zhang_table_1_ends_with_its_total(paper: Study) -> None:
    spec: Any = table_spec(paper, "zhang2021-table1", PLACES)
    assert [row.label for row in spec.rows] == ["News", "Laws", "Thesis", "IWSLT", "Total"]
    total = spec.rows[-1]
    assert {split: number.value for split, number in total.printed.items()} == {
        "train": 1_000_000,
        "valid": 3279,
        "test": 3486,
    }
    assert total.sum_of == ("news", "laws", "thesis", "iwslt")
    # Whatever keeps a domain from being compared keeps the sum from it.
    assert total.differs == spec.rows[0].differs


def test_a_number_for_several_pairs_names_the_pair_of_the_task() -> None:
    paper = load_paper(CONFIG, "song2026")
    table = paper.tables["table2-en-zh"]
    assert table.pairs == ("EN-ZH", "ZH-EN")
    for pair in table.pairs:
        task: Any = SimpleNamespace(pair=pair, of="song2026", domains={})
        assert heading("song2026", paper, table, task) == f"Table 2 ({pair})"


def test_a_table_on_its_own_task_has_its_number(paper: Study) -> None:
    places = {
        key: report_selection.labels(paper, key)["place"] for key in (*paper.config.tables, *paper.config.figures)
    }
    assert places["zhang2021-table3-zh-en"] == "Table 3 (ZH-EN)"
    assert places["zhang2021-table3-en-fr"] == "Table 3 (EN-FR)"
    assert places["song2026-table5"] == "Table 5"
    assert places["phan2022-results"] == 'slide "results"'
    assert places["jiang2020-figure8"] == "Figure 8"
    assert places["mdnmt-labels"] == ""
    assert places["jiang2020-table7"] == "Table 7"
    # The slides reprint a figure of Jiang et al. for a language pair that they have no task of.
    assert [key for key, place in places.items() if place.startswith("after")] == ["phan2022-proportion-words"]


def test_a_table_on_another_task_is_after_the_paper(open_study: Study, tmp_path: Path) -> None:
    demo = resolve(CONFIG, "demo", tmp_path)
    assert report_selection.labels(demo, "song2026-table5")["place"] == "after Song et al., Table 5"
    assert report_selection.labels(demo, "jiang2020-figure8")["place"] == "after Jiang et al., Figure 8"
    # The text of the paper, in another of its language pairs.
    assert report_selection.labels(open_study, "song2026-table4")["place"] == ("after Song et al., Table 4")
    spec: Any = table_spec(open_study, "song2026-table4", PLACES)
    assert spec.where == "after Song et al., Table 4" and "another task" in spec.differs
    assert not any(row.printed for row in spec.rows)
    # Drawings of the models are of no text.
    assert report_selection.labels(open_study, "song2026-architecture")["place"] == "Figures 1 and 2"


@pytest.mark.slow
def test_text_that_stands_in_for_the_papers_is_after_it(tmp_path: Path) -> None:
    registry, smoke = (resolve(CONFIG, name, tmp_path) for name in ("registry", "smoke"))
    for study in (registry, smoke):
        assert report_selection.labels(study, "zhang2021-table3-en-fr")["place"] == "after Zhang et al., Table 3"
        assert report_selection.labels(study, "jiang2020-table7")["place"] == "after Jiang et al., Table 7"


@pytest.mark.slow
def test_no_language_pair_stands_where_another_is_meant(open_study: Study, tmp_path: Path) -> None:
    """Every heading and title of every study names no pair but that of the task."""
    studies = [open_study, *(resolve(CONFIG, name, tmp_path) for name in ("demo", "registry", "smoke", "paper"))]
    pairs = re.compile(r"\b(?:EN|DE|FR|ZH)-(?:EN|DE|FR|ZH)\b")
    for study in studies:
        for key in (*study.config.tables, *study.config.figures):
            shown = study.config.tables.get(key) or study.config.figures[key]
            labels = report_selection.labels(study, key)
            named = pairs.findall(f"{labels['place']} {labels['title']}")
            assert set(named) <= {study.tasks[shown.task].config.pair}, (study.name, key)


def test_the_same_heading_stands_everywhere(tmp_path: Path) -> None:
    """The page, the table itself, its LaTeX caption and Snakemake's report agree."""
    demo = resolve(CONFIG, "demo", tmp_path)
    place = "after Jiang et al., Table 2"
    spec: Any = table_spec(demo, "jiang2020-table2", PLACES)
    assert spec.where == place == report_selection.labels(demo, "jiang2020-table2")["place"]
    grid = Grid(kind="scores", title=spec.full_title, where=spec.where, headers=(), rows=())
    assert rf"\caption{{{place}: " in to_latex(grid)
    section = report_selection.paper_section(demo, "jiang2020", PLACES)
    items = {item.id: item.where for item in section.items}
    assert items["jiang2020-table7"] == "after Jiang et al., Table 7"
    hidden = next(item for item in section.items if item.where.startswith("Table 8"))
    assert hidden.id is None  # not shown: its number in the paper alone
    assert items["jiang2020-figure9"] == "after Jiang et al., Figure 9"
    figures = {item.id: item.where for item in report_selection.report_spec(demo, PLACES, ()).figures}
    assert figures["jiang2020-figure9"] == "after Jiang et al., Figure 9"


def test_a_reversed_direction_that_the_paper_names_too_is_its_own() -> None:
    task = load_task(CONFIG, "song-en-zh")
    reverse = TaskConfig.model_validate({**task.model_dump(), "source_lang": "zh", "target_lang": "en"})
    table = PaperTable.model_validate(
        {"kind": "corpora", "title": "T", "where": "Table 2", "pairs": ["EN-ZH", "ZH-EN"]}
    )
    paper = PaperConfig(title="P", citation="Song, Chen, 2026", tables={"t": table})
    assert heading("song2026", paper, table, reverse) == "Table 2"
    assert why_other("song2026", table, reverse) is None
    one = table.model_copy(update={"pairs": ("EN-ZH",)})
    assert heading("song2026", paper, one, reverse) == "after Song, Table 2"
    assert why_other("song2026", one, reverse) == f"made from another task ({task.title})"


def test_table_7_is_of_the_printed_word_on_its_own_pair(paper: Study, open_study: Study) -> None:
    spec: Any = table_spec(paper, "jiang2020-table7", PLACES)
    assert (spec.words, spec.word_domains) == (("article",), ("laws", "news"))
    assert choice_spec(paper, "jiang-en-zh", PLACES)["words"] == ["article"]
    assert paper.tasks["jiang-en-zh"].config.pair == "EN-ZH"
    # On another pair the table has the words that are found there, and asks for no other.
    spec = table_spec(open_study, "jiang2020-table7", PLACES)
    assert (spec.words, spec.word_domains) == ((), ())
    assert "words" not in choice_spec(open_study, "jiang-en-de", PLACES)


def test_the_slides_three_figures_of_proportions(paper: Study) -> None:
    kinds = {"proportion-words": "ted", "proportions": None, "histograms": None}
    for name, domain in kinds.items():
        spec: Any = figure_spec(paper, f"phan2022-{name}", PLACES)
        assert spec.run.label == "E/DC"
        assert getattr(spec, "domain", None) == domain
    assert report_selection.labels(paper, "phan2022-histograms")["place"].startswith("slide ")
