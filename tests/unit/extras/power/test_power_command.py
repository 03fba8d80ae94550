"""`mdnmt plan` about claims: `replication` before anything is trained, and own seeds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.config.claims import load_claims
from mdnmt.extras.power.seed_spread import spread_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

CONFIG = Path(__file__).parents[4] / "config"
PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")


def printed(capsys: pytest.CaptureFixture[str], folder: Path, *more: str, study: str = "replication") -> str:
    where = ["--config-folder", CONFIG, "--results", folder, "--corpora", folder, "--benchmarks", folder]
    nothing_done = ["device=cpu"]
    assert main(["plan", study, *more, "--config", *nothing_done, *map(str, where)]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_every_claim_is_listed_once_in_lines_of_80_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tmp_path, "--power")
    listed = re.findall(r"\b(?:jiang|zhang|song|phan)-[a-z0-9-]+", text.replace("-\n    ", "-"))
    claims = [name for paper in PAPERS for name in load_claims(CONFIG, paper)]
    assert sorted(listed) == sorted(claims)
    assert max(map(len, text.splitlines())) <= 80
    assert "The study has no seeds yet." in text


@pytest.mark.slow
def test_the_next_run_is_one_of_the_study_that_is_not_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tmp_path, "--next")
    name = re.match(r"Next: ([^\s,]+)", text)
    assert name is not None
    study = resolve(CONFIG, "replication", tmp_path, None)
    run = next(run for run in study.makeable() if f"{run.task}/{run.directory}/seed{run.seed}" == name[1])
    assert f"{ResultPaths(study, tmp_path).test(run)}/scores.json" in text


@pytest.mark.slow
def test_a_budget_lists_rows_that_fit_into_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, tmp_path, "--budget", "6h")
    rows = re.findall(r"^(replication-\S+)\s+0\s+(\d+)\s+([\d.]+)$", text, re.MULTILINE)
    assert rows and all(int(seeds) >= 3 for _, seeds, _ in rows)
    assert sum(float(hours) for _, _, hours in rows) <= 6.5  # the hours are rounded
    runs = re.search(r"(\d+) runs in", text)
    assert runs is not None and int(runs[1]) == sum(int(seeds) for _, seeds, _ in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "more", "message"),
    [
        ("replication", ["--power", "--json"], "leave out --json and --cells"),
        ("synthetic", ["--next"], "found no claim that its tables and figures could decide"),
        ("replication", ["--budget", "many"], "argument --budget"),
        ("replication", ["--budget", "-3h"], "argument --budget"),
    ],
)
def test_mistakes_end_with_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], study: str, more: list[str], message: str
) -> None:
    try:
        code = main(["plan", study, *more, "--config-folder", str(CONFIG), "--results", str(tmp_path)])
    except SystemExit as error:
        code = int(str(error.code))
    assert code == 2 and message in capsys.readouterr().err


def test_the_studys_own_seeds_enter_the_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.create(tmp_path / "project")
    monkeypatch.chdir(project.folder)
    study = resolve(Path("config"), "tiny", Path("resources/corpora"), 2)
    places = ResultPaths(study, Path("results"))
    for run in study.runs:
        if run.directory == "mixed":
            # Two seeds: 20 and 22 on one domain, 30 and 30 on the other; averages 25 and 26.
            economy = 18.0 + 2.0 * run.seed
            scores = {"economy": economy, "law": 30.0}
            domains = {name: {"num_sentences": 5, "bleu": {"score": score}} for name, score in scores.items()}
            fsio.write_sealed(Path(places.test(run), "scores.json"), {"domains": domains})
    own = spread_of(study, places, CONFIG).own
    assert own["tiny", "bleu", False] == pytest.approx((1.0, 2.0))
    assert own["tiny", "bleu", True] == pytest.approx((0.5, 1.0))
