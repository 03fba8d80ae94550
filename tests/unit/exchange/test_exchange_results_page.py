"""The page of a bundle shows its runs, tables and claims; the committed page follows the committed bundle."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from small_bundle import make_project, make_runs

from mdnmt.cli import main
from mdnmt.errors import MdnmtError
from mdnmt.exchange.bundle import Bundle
from mdnmt.exchange.results_page import fall_of_loss, results_page
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_the_page_shows_runs_and_the_rows_that_are_trained(tmp_path: Path) -> None:
    study = make_project(tmp_path / "project")
    make_runs(tmp_path / "project", study, "mixed")
    with contextlib.chdir(tmp_path / "project"):
        assert main(["bundle", "tiny", "--bundle", "bundle", "--page", "page.md"]) == 0
        page = Path("page.md").read_text(encoding="utf-8")
        assert page == results_page(Bundle(Path("bundle")), "tiny")
    assert page.startswith("# tiny: all results\n")
    assert "3 runs, 0.0 hours" in page and "| tiny | `mixed` | 1, 2, 3 |" in page
    rows = [line for line in page.split("## Claims")[0].splitlines() if line.startswith("| ")]
    assert any("Mixed" in line for line in rows) and not any("E/DC" in line for line in rows)
    assert "rows are not trained yet" in page
    assert "## Claims" in page


@pytest.mark.slow
def test_runs_of_other_studies_are_left_out(tmp_path: Path) -> None:
    study = make_project(tmp_path / "project")
    make_runs(tmp_path / "project", study, "mixed")
    with contextlib.chdir(tmp_path / "project"):
        assert main(["bundle", "tiny", "--bundle", "bundle"]) == 0
        [run] = Path("results/runs/tiny/mixed").glob("seed2-*")
        bundle = Bundle(Path("bundle").resolve())
        bundle.add([("tiny/mixed/seed2-00000000", run, ())])
        page = results_page(bundle, "tiny")
    assert len(bundle.runs) == 4 and "| tiny | `mixed` | 1, 2, 3 |" in page


@pytest.mark.slow
def test_exhibits_of_a_task_without_bundled_runs_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = make_project(tmp_path / "project")
    with contextlib.chdir(tmp_path / "project"):
        shutil.rmtree(ResultPaths(study, Path("results")).copied("tiny"))
        assert main(["bundle", "tiny", "--bundle", "bundle"]) == 0
    assert "left out: tables/jiang2020-table2 no run on tiny is in the bundle" in capsys.readouterr().out


def test_a_bundle_without_the_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MdnmtError, match="has no exhibits of tiny"):
        results_page(Bundle(tmp_path), "tiny")


def test_the_fall_is_that_of_the_last_tenth_of_the_updates(tmp_path: Path) -> None:
    points = [(100, "valid", 9.0), (880, "valid", 4.0), (960, "valid", 3.9), (1000, "train", 1.0), (1000, "valid", 3.8)]
    lines = ["update\tsplit\tdomain\tloss", *(f"{update}\t{split}\tall\t{loss}" for update, split, loss in points)]
    path = tmp_path / "curves.tsv"
    path.write_text("\n".join([*lines, "1000\tvalid\tlaw\t7.0"]) + "\n")
    assert fall_of_loss(path) == pytest.approx(1 - 3.8 / 4.0)


@pytest.mark.slow
@pytest.mark.parametrize("study", [f"replication{part}" for part in ("", "-long", "-long-zh-en", "-deep")])
def test_the_committed_page_follows_the_committed_bundle(study: str) -> None:
    folder = ROOT / "docs" / "replication"
    page = study.replace("replication", "results")
    assert (folder / f"{page}.md").read_text(encoding="utf-8") == results_page(Bundle(folder / "bundle"), study)
