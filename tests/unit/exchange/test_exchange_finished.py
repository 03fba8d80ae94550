"""Exhibits of finished runs only: which runs these are, and what a bundle takes of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from small_bundle import CORPORA, make_project, make_runs, reseal, score

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.decode.likelihood import LIKELIHOOD, Likelihood, Likelihoods, write_likelihoods
from mdnmt.exchange.bundle import Bundle, key_of
from mdnmt.exchange.evidence import exhibit_specs
from mdnmt.exchange.pack_study import bundle_finished
from mdnmt.exchange.verify import verify
from mdnmt.paths import RunPaths
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import NOT_TRAINED, Study


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Study]:
    """Return a project with three finished seeds of one method and one seed of another, and its study."""
    folder = tmp_path_factory.mktemp("made") / "project"
    study = make_project(folder)
    make_runs(folder, study.only(lambda run: run.directory == "mixed" or run.seed == 2), "mixed", "waldm-edc")
    return folder, study


@pytest.fixture
def project(made: tuple[Path, Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made[0], tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_exhibits_are_of_the_finished_runs_and_say_so_of_the_others(made: tuple[Path, Study], project: Path) -> None:
    finished = made[1].only(lambda run: RunPaths(Path("results", "runs", run.address)).is_finished)
    seeds = {
        name: [run.seed for run in finished.makeable() if run.directory == name] for name in ("mixed", "waldm-edc")
    }
    assert seeds == {"mixed": [1, 2, 3], "waldm-edc": [2]}
    found, left_out = exhibit_specs(finished, ResultPaths(finished, Path("results")))
    rows = {row["method"]: row for row in json.loads(found["tables"]["jiang2020-table2"])["rows"]}
    assert [run["seed"] for run in rows["waldm-edc"]["runs"]] == [2]
    systems = json.loads(found["significance"]["jiang2020-table2"])["systems"]
    assert {name: list(seeds) for name, seeds in systems.items()} == {"mixed": ["1", "2", "3"], "waldm-edc": ["2"]}
    assert not left_out


def test_a_seed_without_its_baseline_is_shown_but_not_tested(made: tuple[Path, Study]) -> None:
    study = made[1].only(lambda run: (run.directory, run.seed) in {("mixed", 1), ("waldm-edc", 1), ("waldm-edc", 2)})
    found, _ = exhibit_specs(study, ResultPaths(study, Path("results")))
    systems = json.loads(found["significance"]["jiang2020-table2"])["systems"]
    assert {name: list(seeds) for name, seeds in systems.items()} == {"mixed": ["1"], "waldm-edc": ["1"]}
    alone = made[1].only(lambda run: run.directory == "waldm-edc")
    found, _ = exhibit_specs(alone, ResultPaths(alone, Path("results")))
    assert not found["significance"]
    table = json.loads(found["tables"]["jiang2020-table2"])
    assert table["significance"] is None
    assert {row["method"]: row["missing"] for row in table["rows"]}["mixed"] == NOT_TRAINED


def test_a_run_without_scores_is_not_bundled(made: tuple[Path, Study], project: Path) -> None:
    places, bundle = ResultPaths(made[1], Path("results")), Bundle(project / "bundle")
    scores = next(Path("results/runs/tiny/waldm-edc").glob("seed2-*/test-*/scores.json"))
    kept = scores.read_bytes()
    scores.unlink()
    added, waiting = bundle_finished(made[1], places, bundle)
    assert [name.partition("-")[0] for name in added] == ["tiny/mixed/seed1", "tiny/mixed/seed2", "tiny/mixed/seed3"]
    assert [why.split(" (")[0] for why in waiting.values()] == [f"has no {scores.parent.name}/scores.json yet"]
    scores.write_bytes(kept)
    assert len(bundle_finished(made[1], places, bundle)[0]) == 1
    assert bundle_finished(made[1], places, bundle) == ([], {})


def test_a_bundled_run_is_updated_when_it_has_gained_something_and_never_loses_anything(
    made: tuple[Path, Study], project: Path
) -> None:
    places, bundle = ResultPaths(made[1], Path("results")), Bundle(project / "bundle")
    bundle_finished(made[1], places, bundle)
    name = next(name for name in bundle.runs if "/waldm-edc/" in name)
    before, run = bundle.files(name), Path("results/runs", name)
    reseal(next(run.glob("test-*/scores.json")), more=1)
    assert bundle_finished(made[1], places, bundle)[0] == [name]
    assert bundle.files(name).keys() == before.keys() and bundle.files(name) != before
    (run / "valid-00000000" / "hyp").mkdir(parents=True)
    (run / "valid-00000000" / "hyp" / "hyp.law.txt").write_text("new\n", encoding="utf-8")
    assert bundle_finished(made[1], places, bundle)[0] == [name]
    shutil.rmtree(run / "valid-00000000")
    assert bundle_finished(made[1], places, bundle)[0] == []
    assert "valid-00000000/hyp/hyp.law.txt" in Bundle(project / "bundle").files(name)


def test_a_run_without_weights_does_not_replace_a_bundled_one(made: tuple[Path, Study], project: Path) -> None:
    # Such a run was pulled, perhaps from an earlier bundle than this.
    places, bundle = ResultPaths(made[1], Path("results")), Bundle(project / "bundle")
    bundle_finished(made[1], places, bundle)
    name = next(name for name in bundle.runs if "/waldm-edc/" in name)
    before, run = bundle.files(name), Path("results/runs", name)
    weights = run / "model.safetensors"
    kept = weights.read_bytes()
    weights.unlink()
    reseal(next(run.glob("test-*/scores.json")), more=2)
    assert bundle_finished(made[1], places, bundle) == ([], {}) and bundle.files(name) == before
    weights.write_bytes(kept)
    assert bundle_finished(made[1], places, bundle)[0] == [name]


@pytest.mark.slow
def test_likelihoods_are_bundled_only_if_a_table_tests_them(made: tuple[Path, Study], project: Path) -> None:
    places = ResultPaths(made[1], Path("results"))
    for test in Path("results/runs/tiny").glob("*/*/test-*"):
        domains = sorted(path.name.split(".")[1] for path in (test / "hyp").glob("hyp.*.txt"))
        lines = {name: len(fsio.read_lines(test / "hyp" / f"hyp.{name}.txt")) for name in domains}
        found = {name: Likelihood((5,) * count, (7.5,) * count, (2,) * count) for name, count in lines.items()}
        write_likelihoods(test / "hyp", Likelihoods("v", found))
        names = [LIKELIHOOD, *(f"hyp.{name}.txt" for name in domains)]
        fsio.write_sums(test / "hyp", names, [test.parent / "run.json"])
        assert main(score(str(test), places.task("tiny"))) == 0
        assert "perplexity" in fsio.read_json(test / "scores.json")["mean"]
    assert main(["bundle", "tiny", "--bundle", "bundle"]) == 0
    bundle = Bundle((project / "bundle").resolve())
    assert bundle.runs and not any(LIKELIHOOD in name for run in bundle.runs for name in bundle.files(run))
    assert not [one.line() for one in verify(bundle, project / "no-results") if one.status != "ok"]

    file = project / "config/studies/tiny.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("task: tiny", "task: tiny\n    metrics: [bleu, perplexity]", 1), encoding="utf-8")
    tested = resolve(Path("config"), "tiny", CORPORA)
    assert set(bundle_finished(tested, places, bundle)[0]) == set(bundle.runs)
    assert all(any(LIKELIHOOD in name for name in bundle.files(run)) for run in bundle.runs)
    assert set(bundle_finished(made[1], places, bundle)[0]) == set(bundle.runs), "left out, they leave the bundle again"


@pytest.mark.slow
def test_runs_that_the_study_no_longer_has_leave_the_bundle_on_request(
    made: tuple[Path, Study], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bundle", "tiny", "--bundle", "bundle", "--runs-only"]
    assert main(words) == 0
    before = Bundle(project / "bundle").runs
    file = project / "config/studies/tiny.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("seeds: 3", "seeds: [2, 3]"), encoding="utf-8")
    gone = [name for name in before if "/seed1-" in name]
    assert gone and main(words) == 0 and Bundle(project / "bundle").runs == before, "not without being asked"
    capsys.readouterr()
    assert main([*words, "--drop-others"]) == 0
    assert capsys.readouterr().out.splitlines()[: len(gone)] == [f"removed {name}" for name in gone]
    left = Bundle(project / "bundle")
    assert left.runs == [name for name in before if name not in gone]
    archives = {project / left.path(key_of(name)) for name in left.runs} | {project / left.path("translations/tiny")}
    assert set((project / "bundle").rglob("*.tar.xz")) == archives


@pytest.mark.slow
def test_the_plan_counts_the_runs_of_a_bundle_as_done(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "tiny", "--bundle", "docs/replication/bundle", "--runs-only"]) == 0
    shutil.rmtree("results/runs")
    assert main(["pull", "docs/replication/bundle", "--study", "tiny"]) == 0
    capsys.readouterr()
    assert main(["plan", "tiny", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    states = {one["run"]: (one["state"], one["translated"], one["train_seconds"]) for one in found["runs"]}
    assert states["tiny/waldm-edc/seed2"] == ("done", True, [0.0, 0.0])
    assert states["tiny/waldm-edc/seed1"][0] == "to do"
    ready = found["tables"][0]["ready"]
    assert ready > 0
    shutil.rmtree("results/runs/tiny/mixed")
    assert main(["plan", "tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][0]["ready"] < ready
