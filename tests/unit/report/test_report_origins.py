from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exhibit_files import draw, write

from mdnmt import fsio, provenance
from mdnmt.cli import main
from mdnmt.config.claims import load_claims
from mdnmt.fsio import DamagedFile
from mdnmt.report import contents, report_page
from mdnmt.report.png_metadata import read_picture
from mdnmt.report.runs_table import COLUMNS
from mdnmt.report.sections import run_details
from mdnmt.report.sections.origins import NOT_RECORDED, Origins, origins
from mdnmt.report.sections.runs import RunRecord
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.write_claims import claims_code, write_claims

NOTATION = {"kind": "notation", "title": "Symbols", "where": "Table 1", "lines": [["x", "sec. 1", "a word"]]}
FIGURE = {"kind": "tsne", "title": "Vectors", "systems": [{"label": "x", "missing": "no run"}]}
OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> contents.ReportSpec:
    """Return a page with a table and a figure that were made at commit NEW."""
    monkeypatch.setattr(provenance, "_commit_of_this_process", lambda: {"commit": NEW, "dirty": False})
    write(NOTATION, tmp_path / "t.json")
    draw(FIGURE, tmp_path / "f.png")
    table = contents.ReportTable(id="t", title="Symbols", kind="notation", data=tmp_path / "t.json")
    figure = contents.ReportFigure(id="f", title="Vectors", kind="tsne", png=tmp_path / "f.png", caption="")
    return contents.ReportSpec(study="s", title="T", tables=(table,), figures=(figure,))


def change_record(path: Path, **changes: Any) -> None:
    value = fsio.read_json(path)
    value["made"] = {**value["made"], **changes}
    fsio.write_sealed(path, value)


LINE = dict.fromkeys(COLUMNS, "x")


def run(commit: str | None, dirty: bool = False) -> RunRecord:
    return RunRecord({}, {"provenance": {"commit": commit, "dirty": dirty}})


def texts(found: Origins) -> list[list[str]]:
    return [[entry.text for entry in row] for row in found.table.rows]


def test_one_commit_is_named_once_and_nothing_is_said_of_a_mixture(page: contents.ReportSpec) -> None:
    found = origins(page, [run(NEW), run(NEW)], {"commit": NEW, "dirty": False})
    assert texts(found) == [[NEW, "yes", "all 2", "2"]]
    assert found.mixed is None and found.stale == []


def test_a_table_of_another_commit_but_the_same_code_is_listed_under_its_commit(page: contents.ReportSpec) -> None:
    change_record(page.tables[0].data, commit=OLD)
    found = origins(page, [run(OLD), run(NEW)], {"commit": NEW, "dirty": False})
    assert [row[0] for row in texts(found)] == [NEW, OLD]
    assert [row[2] for row in texts(found)] == ["Vectors", "Symbols"]
    assert found.stale == [] and found.mixed is not None
    assert "2 states of the code" in found.mixed and "is still the same" in found.mixed


def test_a_table_of_other_code_is_named_at_the_head_of_the_page(page: contents.ReportSpec) -> None:
    change_record(page.tables[0].data, code="0" * 16)
    found = origins(page, [], {"commit": NEW, "dirty": False})
    assert len(found.stale) == 1 and "Symbols" in found.stale[0]
    assert found.mixed is not None and "other code" in found.mixed and "Symbols" in found.mixed
    html = report_page.render(page)
    head = html[html.index("<header>") : html.index("</header>")]
    assert "Made by other code than the current one" in head and "Symbols" in head


def test_a_file_without_a_record_is_said_to_have_none(page: contents.ReportSpec) -> None:
    value = fsio.read_json(page.tables[0].data)
    del value["made"]
    fsio.write_sealed(page.tables[0].data, value)
    found = origins(page, [], {"commit": NEW, "dirty": False})
    assert NOT_RECORDED in [row[0] for row in texts(found)] and len(found.stale) == 1


def test_uncommitted_changes_are_a_state_of_their_own(page: contents.ReportSpec) -> None:
    found = origins(page, [run(NEW, dirty=True), run(None)], {"commit": NEW, "dirty": False})
    assert [row[0] for row in texts(found)][1:] == [
        f"{NEW}, with changes that were not committed",
        "not from a repository",
    ]
    assert found.mixed is not None and "3 states" in found.mixed


def test_claims_and_audits_are_exhibits_too(page: contents.ReportSpec, tmp_path: Path) -> None:
    assert main(["audit", "--config", "config", "--paper", "phan2022", "--json", str(tmp_path / "a.json")]) == 0
    claims = load_claims(Path("config"), "phan2022")
    write_claims(ClaimsSpec(paper="p", title="P", claims=claims), tmp_path / "c.json")
    paths = {"claims": tmp_path / "c.json", "audit": tmp_path / "a.json"}
    paper = contents.ReportPaper(
        name="p", title="P", citation="P 2020", claims_code=claims_code(claims.values()), **paths
    )
    found = origins(page.model_copy(update={"papers": (paper,)}), [], {"commit": NEW, "dirty": False})
    assert texts(found) == [[NEW, "yes", "all 4", "\N{EN DASH}"]] and found.mixed is None
    change_record(tmp_path / "c.json", code="0" * 16)
    found = origins(page.model_copy(update={"papers": (paper,)}), [], {"commit": NEW, "dirty": False})
    assert found.stale == ["Claims of P 2020"]


@pytest.mark.parametrize(("codes", "said"), [(["a", "a"], False), (["a", "b", "a"], True)])
def test_a_run_that_went_on_with_other_code_says_so(codes: list[str], said: bool) -> None:
    made = {"updates": 8, "spec": {"task_fingerprint": "77"}, "attempts": [{"code": code} for code in codes]}
    shown = run_details.detail(RunRecord(LINE, made), None, {}, run_details.Software())
    assert ("trained by 2 versions of the code" in dict(shown.facts)["Training"].text) == said


def test_a_truncated_picture_is_named(tmp_path: Path) -> None:
    whole = tmp_path / "f.png"
    draw(FIGURE, whole)
    assert read_picture(whole).width > 100
    whole.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(DamagedFile, match=r"f\.png: is truncated or no picture .*; remove it and start"):
        read_picture(whole)
