"""External systems in a bundle and a certificate: verified like runs, named with their provenance, or left out."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
import yaml
from small_bundle import make_project, make_runs, score

from mdnmt.cli import main
from mdnmt.exchange.bundle import Bundle
from mdnmt.exchange.evidence import unpacked
from mdnmt.exchange.verify import Finding, verify
from mdnmt.exhibits.table_request import table_spec
from mdnmt.extras.certify.documents import write_appendix
from mdnmt.extras.certify.study_facts import StudyFacts, read_facts
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import read_json, read_lines, write_sealed
from mdnmt.studies.external_translations import source_key
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study

OPUS = {
    "label": "OPUS|",
    "provenance": "Somebody, 2024,\nCC BY 4.0",
    "model": "some-llm-2026-05",
    "date": "2026-05-03",
    "prompt": "Translate into French:\n{sentence}",
    "hypotheses": {"tiny": "opus"},
}
FOLDERS = {"open": True, "closed": False}


def with_external(redistributable: bool) -> Study:
    """Add an external system to the study in the working directory, and import and score its translations."""
    path = Path("config/studies/tiny.yaml")
    external = {"opus": {**OPUS, "redistributable": redistributable}}
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "external": external}, sort_keys=False))
    study = resolve(Path("config"), "tiny", Path("resources/corpora"))
    places = ResultPaths(study, Path("results"))
    task, test = places.task("tiny"), places.external(study.external[0])
    assert main(["external", "opus", "--task", task, "--out", f"{test}/hyp"]) == 0
    assert main(score(test, task)) == 0
    return study


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with runs, and a bundle for each licence."""
    project = tmp_path_factory.mktemp("made") / "project"
    study = make_project(project)
    make_runs(project, study, "mixed", "waldm-edc")
    text = Path(ResultPaths(study, project / "results").task("tiny"), "text")
    (project / "opus").mkdir()
    for domain in study.tasks["tiny"].config.domains:
        pairs = zip(read_lines(text / f"test.{domain}.en"), read_lines(text / f"test.{domain}.fr"), strict=True)
        lines = {source_key(source): target for source, target in pairs}
        (project / f"opus/hyp.{domain}.tsv").write_text("".join(f"{key}\t{line}\n" for key, line in lines.items()))
    with contextlib.chdir(project):
        for name, redistributable in FOLDERS.items():
            with_external(redistributable)
            assert main(["bundle", "tiny", "--bundle", name]) == 0
    return project


def found(bundle: Path) -> dict[str, Finding]:
    return {one.what: one for one in verify(Bundle(bundle), bundle.parent / "no-results")}


def files(bundle: Path) -> set[str]:
    [task] = [entry["files"] for key, entry in Bundle(bundle).archives.items() if key.startswith("tasks/")]
    return {name.partition("/")[2] for name in task if name.startswith("external-opus-")}


def facts(made: Path, name: str) -> StudyFacts:
    with contextlib.chdir(made):
        study = with_external(FOLDERS[name])
        bundle = Bundle(made / name)
        with unpacked(bundle, ("runs", "studies")) as root:
            return read_facts(study, bundle, root)


@pytest.mark.slow
def test_its_scores_and_tests_are_recomputed_from_its_translations(made: Path) -> None:
    assert files(made / "open") == {"scores.json", "hyp/hyp.economy.txt", "hyp/hyp.law.txt", "hyp/sums.json"}
    every = found(made / "open")
    assert {one.status for one in every.values()} == {"ok"} and "studies/tiny/significance/jiang2020-table2" in every
    numbers = [row for row in facts(made, "open").numbers.splitlines() if ",opus,external," in row]
    assert any(",bleu,,100." in row or ",bleu,,99.99" in row for row in numbers)


@pytest.mark.slow
def test_a_changed_translation_is_found(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "open", tmp_path / "open")
    whole, root = Bundle(tmp_path / "open"), tmp_path / "forged" / "results"
    [key] = [key for key in whole.archives if key.startswith("tasks/")]
    whole.restore_all(key, root)
    [hypotheses] = root.glob("tasks/*/external-opus-*/hyp")
    (hypotheses / "hyp.law.txt").write_text("x\n" * 5)
    from mdnmt import fsio

    fsio.write_sums(hypotheses, ["hyp.economy.txt", "hyp.law.txt"])
    scores = hypotheses.parent / "scores.json"
    value = fsio.read_json(made / "results" / scores.relative_to(root))
    fsio.write_sealed(scores, value, made_from=[hypotheses / "sums.json"])
    assert whole.pack(key, root / key, list(whole.archives[key]["files"]))
    differs = {name: one.detail for name, one in found(tmp_path / "open").items() if one.status == "differs"}
    assert "external-opus-" in differs[key] and "scores.json" in differs[key]
    assert "studies/tiny/significance/jiang2020-table2" in differs


@pytest.mark.slow
def test_translations_that_may_not_be_passed_on_stay_out(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert files(made / "closed") == {"scores.json"}
    every = found(made / "closed")
    assert {one.status for one in every.values()} == {"ok"}
    assert not any("table2" in name for name in every) and "studies/tiny/numbers.csv" in every
    with contextlib.chdir(made):
        with_external(redistributable=False)
        capsys.readouterr()
        assert main(["bundle", "tiny", "--bundle", "closed"]) == 0
    assert "left out: tables/jiang2020-table2 needs translations of opus" in capsys.readouterr().out


def test_its_row_is_made_of_its_yaml_and_says_what_is_known(made: Path) -> None:
    with contextlib.chdir(made):
        study = with_external(True)
        key = next(key for key, choice in study.config.tables.items() if choice.task == "tiny")
        spec = table_spec(study, key, ResultPaths(study, Path("results")))
        grid = spec.model_copy(update={"significance": None}).build()
    [row] = [row for row in grid.rows if row.method == "opus"]
    assert row.label == "OPUS| (external)" and row.cells[0].mean == pytest.approx(100.0)
    [note] = [one for one in grid.reasons if "some-llm-2026-05" in one]
    assert "not trained here: Somebody, 2024, CC BY 4.0; model: some-llm-2026-05; date: 2026-05-03; " in note
    assert "prompt: Translate into French: {sentence}; test text in its training data: unknown" in note


def test_a_certificate_names_it_with_its_provenance(made: Path) -> None:
    told = facts(made, "open")
    made_by = {"mdnmt": "1", "commit": None, "dirty": None, "utc": "2026-01-01T00:00:00+00:00"}
    text = write_appendix(told, made_by, [], 1)
    assert "| OPUS\\| (`opus`) | Somebody, 2024, CC BY 4.0; model: some-llm-2026-05; date: 2026-05-03; " in text
    assert all(sha256 in text for sha256 in told.external["opus"]["files"].values())
    assert set(told.external["opus"]["files"]) == {"tiny/opus/hyp.economy.tsv", "tiny/opus/hyp.law.tsv"}


@pytest.fixture
def stored(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Push the study to a store, then work in another project that has neither runs nor translations."""
    monkeypatch.chdir(made)
    with_external(redistributable=False)
    assert main(["push", str(tmp_path / "store"), "--study", "tiny"]) == 0
    other = tmp_path / "other"
    for name in ("config", "resources", "text"):
        shutil.copytree(made / name, other / name)
    monkeypatch.chdir(other)
    return tmp_path / "store"


@pytest.mark.slow
def test_push_and_pull_take_the_translations_along(
    made: Path, stored: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    capsys.readouterr()
    assert main(["pull", str(stored), "--study", "tiny"]) == 0
    assert capsys.readouterr().out.startswith("opus: pulled\n")
    assert {path.name: path.read_bytes() for path in Path("opus").iterdir()} == {
        path.name: path.read_bytes() for path in (made / "opus").iterdir()
    }
    assert main(["pull", stored.as_uri(), "--study", "tiny"]) == main(["push", str(stored), "--study", "tiny"]) == 0
    assert capsys.readouterr().out.count("opus: is here already\n") == 1
    [path, *_] = sorted(Path("opus").iterdir())
    path.write_text(path.read_text().replace("\t", "\tother ", 1))
    for verb in ("push", "pull"):
        assert main([verb, str(stored), "--study", "tiny"]) == 2
        assert "opus: has other translations than" in capsys.readouterr().err
    shutil.rmtree(stored / "external")
    assert main(["pull", str(stored), "--study", "tiny"]) == 0, "the store need not have what is here"


@pytest.mark.parametrize("kind", ["altered", "resealed", "name"])
def test_translations_are_verified_before_they_are_taken(
    kind: str, stored: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = stored / "external" / "opus"
    [path, *_] = sorted(folder.glob("hyp.*"))
    files = read_json(folder / "manifest.json")["files"]
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    if kind == "resealed":
        files[path.name] = {"sha256": sha256_file(path), "size_bytes": path.stat().st_size}
    elif kind == "name":
        files["../hyp.law.txt"] = files[path.name]
    if kind != "altered":
        write_sealed(folder / "manifest.json", {"external": "opus", "files": files})
    said = {"altered": "nothing was taken", "resealed": "UTF-8", "name": "refused, lists '../hyp.law.txt'"}[kind]
    assert main(["pull", str(stored), "--study", "tiny"]) == 2
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["config", "resources", "text"]


def test_a_folder_outside_of_the_project_is_not_exchanged(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("config/studies/tiny.yaml")
    path.write_text(path.read_text().replace("tiny: opus", "tiny: ../opus"))
    assert main(["pull", str(stored), "--study", "tiny"]) == 2
    assert "../opus: translations in a folder outside of the project cannot be exchanged" in capsys.readouterr().err
