"""The printed numbers reach the cells that they belong to, and no others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.published import load_published
from mdnmt.exhibits.request import paper_table
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.examples import ExamplesTable
from mdnmt.exhibits.tables.notation import NotationTable
from mdnmt.numbers.verdicts import Printed
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study

CONFIG = Path(__file__).parents[3] / "config"


class ResultPaths:
    """Paths that mean nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: name


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return resolve(CONFIG, "paper", tmp_path_factory.mktemp("none"))


def spec_of(study: Study, key: str) -> Any:
    places: Any = ResultPaths()
    return table_spec(study, key, places)


def printed(study: Study, key: str) -> list[Printed]:
    spec = spec_of(study, key)
    if isinstance(spec, NotationTable | ExamplesTable):
        return []
    # Of two sizes one will be shown: both carry the numbers of their row.
    seen, found = set(), []
    for row in spec.rows:
        choice = getattr(row, "choice", None)
        if choice is None or choice not in seen:
            found += row.printed.values()
        seen.add(choice)
    return found


def test_every_printed_number_stands_beside_a_cell_of_ours(paper: Study) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for key in paper.config.tables:
        name, _, _ = key.partition("-")
        table, _ = paper_table(paper, key)
        if table.printed and table.split == "test":  # a table of validation text shows the same numbers again
            found[name, table.printed] += len(printed(paper, key))
    for name in paper.papers:
        numbers = load_published(CONFIG, name).numbers
        there = Counter((name, place[0]) for place in numbers)
        for table, count in there.items():
            assert found[table] >= count, table
            if table != ("jiang2020", "T6"):  # one unknown column, shown for each language pair
                assert found[table] == count, table


def test_they_stand_in_the_right_cells(paper: Study) -> None:
    rows = {row.method: row for row in spec_of(paper, "jiang2020-table2").rows}
    assert rows["mixed"].printed["bleu_tok/news"].value == 26.06
    assert rows["single-ted"].printed["bleu_tok/ted"].value == 29.09
    assert rows["single-ted"].printed["bleu_tok/news"].value == 4.90
    assert rows["waldm-edc-released-code"].printed == {}
    # Our default reading of the domain loss stands beside the printed number, the other one does not.
    assert rows["advl"].printed["bleu_tok/news"].value == 25.68
    assert rows["advl-summed"].printed == {}
    rows = {row.method: row for row in spec_of(paper, "song2026-table6").rows}
    assert rows["damha"].printed["dbleu_tok/avg"].value == 1.63
    rows = {row.method: row for row in spec_of(paper, "song2026-table4").rows}
    assert rows["mixed"].printed["seconds_per_epoch"].value == 911.86
    rows = {row.method: row for row in spec_of(paper, "jiang2020-table8").rows}
    assert rows["single-post-norm-speech"].printed["bleu_tok/speech"].value == 6.19
    rows = {row.label: row for row in spec_of(paper, "zhang2021-table2").rows}
    assert rows["ECB"].printed["train"].value == 194000


def test_the_number_of_tokenised_text_is_what_jiang_is_held_against(paper: Study) -> None:
    for key in ("jiang2020-table2", "jiang2020-table4", "jiang2020-table8"):
        spec = spec_of(paper, key)
        assert spec.metrics == ("bleu", "bleu_tok")
        assert spec.differs is None and not spec.metric_differs.keys() & {"bleu", "bleu_tok"}
        printed = [place for row in spec.rows for place in row.printed]
        assert printed and all(place.startswith("bleu_tok/") for place in printed)
    other = spec_of(paper, "zhang2021-table3-en-fr")
    assert all(place.startswith("bleu/") for row in other.rows for place in row.printed)


def test_a_printed_metric_says_how_it_was_counted_as_far_as_it_is_known(paper: Study, tmp_path: Path) -> None:
    for key in ("song2026-table3", "song2026-table6"):
        spec = spec_of(paper, key)
        places = {place.partition("/")[0].removeprefix("d") for row in spec.rows for place in row.printed}
        assert places == {"bleu_tok", "chrf", "comet"}
        assert "jieba" in spec.metric_notes["bleu_tok"] and "chrF" in spec.metric_notes["bleu_tok"]
    for key in ("zhang2021-table3-zh-en", "zhang2021-table3-en-fr", "song2026-table5"):
        spec = spec_of(paper, key)
        assert any(place.startswith("bleu/") for row in spec.rows for place in row.printed)
        assert "tokenisation" in spec.metric_notes["bleu"]
    # Where no printed number stands there is nothing to say of one.
    assert spec_of(resolve(CONFIG, "open", tmp_path), "song2026-table6").metric_notes == {}


def test_a_table_says_where_text_differs_though_it_is_compared(paper: Study) -> None:
    of_chinese = ("table4", "table4-validation", "table5-zh-en", "table6-zh-en", "table8")
    cut = "Chinese is split by jieba, in the paper by the Stanford Segmenter"
    found = {key: spec_of(paper, key) for key in paper.config.tables if paper_table(paper, key)[0].kind == "scores"}
    said = {key: spec.tokenizers for key, spec in found.items() if spec.tokenizers}
    assert said == dict.fromkeys((f"jiang2020-{name}" for name in of_chinese), cut)
    remarks = {column.name: column.remark for column in found["song2026-table3"].columns}
    assert {name: text for name, text in remarks.items() if text} == {
        "law": "the paper has 457 test sentences, UM-Corpus 456",
        "thesis": "the paper has 626 test sentences, UM-Corpus 625",
        "science": "the paper has 504 test sentences, UM-Corpus 503",
    }
    sizes = {row.domain: row.printed["test"].note for row in spec_of(paper, "song2026-table2-en-zh").rows}
    assert sizes == {**{name: text or "" for name, text in remarks.items()}, "spoken": sizes["spoken"]}


def test_missing_numbers_are_not_available_rather_than_absent(paper: Study) -> None:
    numbers = printed(paper, "jiang2020-table3")
    assert len(numbers) == 22 and {number.value for number in numbers} == {None}


def test_a_task_of_no_paper_gets_no_printed_number(tmp_path: Path) -> None:
    demo = resolve(CONFIG, "demo", tmp_path)
    for key in demo.config.tables:
        assert printed(demo, key) == []
    assert "another task" in spec_of(demo, "jiang2020-table2").differs


@pytest.mark.slow
def test_a_stand_in_says_why_it_cannot_be_compared(tmp_path: Path) -> None:
    registry = resolve(CONFIG, "registry", tmp_path)
    spec = spec_of(registry, "zhang2021-table3-en-fr")
    assert "registries" in spec.differs
    rows = {row.method: row for row in spec.rows}
    assert rows["dsa"].printed["bleu/economy"].value is not None  # ECB's
