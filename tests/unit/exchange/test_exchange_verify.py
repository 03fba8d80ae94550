"""A bundle is verified from its translations: it finds changed bytes, and forged numbers with new hashes."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small_bundle import make_project, make_runs, reseal

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.exchange.bundle import RUNS, STUDIES, Bundle
from mdnmt.exchange.verify import Finding, difference, verify

pytestmark = pytest.mark.slow  # each recomputes a bundle

MIXED = ("mixed", "waldm-edc")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with finished runs of two methods and a bundle of them."""
    project = tmp_path_factory.mktemp("made") / "project"
    study = make_project(project)
    make_runs(project, study, *MIXED)
    with contextlib.chdir(project):
        assert main(["bundle", "tiny", "--bundle", "bundle"]) == 0
    return project


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "bundle", tmp_path / "bundle")
    return tmp_path / "bundle"


def found(bundle: Path, results: Path | None = None) -> list[Finding]:
    return list(verify(Bundle(bundle), results or bundle.parent / "no-results"))


def wrong(bundle: Path) -> dict[str, str]:
    return {one.what: one.detail for one in found(bundle) if one.status == "differs"}


def forge(bundle: Path, key: str, change: Callable[[Path], None], tmp_path: Path) -> None:
    """Change files of an archive and pack them again, hashes included; `change` gets the folder of results."""
    whole, root = Bundle(bundle), tmp_path / "forged" / "results"
    for each in whole.archives:
        whole.restore_all(each, root)
    folder = root / key.removeprefix(f"{STUDIES}/")
    change(folder)
    if key.startswith(f"{RUNS}/"):  # the runs of a method are packed together
        key, folder = key.rpartition("/")[0], folder.parent
    assert whole.pack(key, folder, list(whole.archives[key]["files"])), "the forgery changed nothing"


def run_of(bundle: Path, method: str = "waldm-edc") -> str:
    return next(f"runs/{name}" for name in Bundle(bundle).runs if f"/{method}/" in name)


def test_an_honest_bundle_is_ok_without_any_results(bundle: Path) -> None:
    every = found(bundle)
    assert {one.status for one in every} == {"ok"}, [one for one in every if one.status != "ok"]
    names = [one.what for one in every]
    assert sum(name.startswith("runs/tiny/") for name in names) == 6
    assert {"studies/tiny/numbers.csv", "studies/tiny/tables/jiang2020-table2", "studies/tiny/claims/jiang2020"} <= {
        *names
    }
    assert {"studies/tiny/significance/jiang2020-table2", "studies/tiny/figures/song2026-figure3"} <= {*names}


def test_the_command_says_so_and_its_status_is_that_of_what_differs(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(bundle), "--quiet"]) == 0
    assert capsys.readouterr().out == f"{bundle}: 13 ok, 0 differs, 0 not checked, unsigned\n"
    (bundle / "more.txt").write_text("not of the bundle", encoding="utf-8")
    assert main(["verify", str(bundle), "--quiet"]) == 1
    assert "more.txt: differs: is not listed in bundle.json\n" in capsys.readouterr().out
    assert main(["verify", str(bundle / "none")]) == 2


def test_a_flipped_byte_is_reported_with_its_archive_and_the_rest_is_still_checked(bundle: Path) -> None:
    key = run_of(bundle).rpartition("/")[0]
    path = Bundle(bundle).path(key)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    said = wrong(bundle)
    assert "its sha256 is not that of bundle.json" in said[key]
    assert any(one.status == "ok" for one in found(bundle))


def test_damaged_translations_are_reported_and_the_other_text_is_still_checked(bundle: Path) -> None:
    path = Bundle(bundle).path("translations/tiny")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    said = wrong(bundle)
    assert "its sha256 is not that of bundle.json" in said["translations/tiny"]
    assert said[run_of(bundle).rpartition("/")[0]] == said["translations/tiny"], "runs are not checked without them"
    assert [one.status for one in found(bundle) if one.what.startswith("tasks/")] == ["ok"]


def test_a_forged_score_is_found_by_scoring_again(bundle: Path, tmp_path: Path) -> None:
    key = run_of(bundle)

    def change(folder: Path) -> None:
        path = next(folder.glob("test-*/scores.json"))
        domains = fsio.read_json(path)["domains"]
        domains["law"]["bleu"]["score"] += 0.5
        reseal(path, domains=domains)

    forge(bundle, key, change, tmp_path)
    said = wrong(bundle)
    name = next(what for what in said if what.startswith(key))
    assert "/domains/law/bleu/score: recorded" in said[name]
    assert "studies/tiny/tables/jiang2020-table2" in said, "the recorded table has the true score"


def test_a_forged_record_is_reported_and_the_rest_is_still_checked(bundle: Path, tmp_path: Path) -> None:
    key = run_of(bundle)
    forge(bundle, key, lambda run: reseal(run / "run.json", spec={}), tmp_path)
    every = wrong(bundle)
    assert every[f"{key}/run.json"] == "KeyError: 'task_fingerprint'"
    assert not any(name.startswith(f"{run_of(bundle, 'mixed')}/") for name in every)


def test_scores_that_were_recorded_before_there_were_ceilings_are_ok(bundle: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        path = next(folder.glob("test-*")) / "scores.json"
        domains = json.loads(path.read_text())["domains"]
        assert all(domain.pop("ceiling") for domain in domains.values())
        reseal(path, domains=domains)

    forge(bundle, run_of(bundle), change, tmp_path)
    assert not [what for what in wrong(bundle) if what.startswith("runs/")]


def test_two_processes_report_the_same_in_the_same_order(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(folder: Path) -> None:
        path = next(folder.glob("test-*/scores.json"))
        reseal(path, mean={"bleu": 1.0})

    forge(bundle, run_of(bundle), change, tmp_path)
    alone = found(bundle)
    assert "differs" in {one.status for one in alone}
    monkeypatch.setattr("mdnmt.exchange.verify.RUNS_PER_PROCESS", 2)
    assert list(verify(Bundle(bundle), bundle.parent / "no-results", processes=2)) == alone


def test_a_forged_translation_is_found_by_scoring_again(bundle: Path, tmp_path: Path) -> None:
    key = run_of(bundle, "mixed")

    def change(folder: Path) -> None:
        hyp = next(folder.glob("test-*/hyp"))
        lines = fsio.read_lines(hyp / "hyp.law.txt")
        fsio.write_lines(hyp / "hyp.law.txt", ["wrong wrong", *lines[1:]])
        sums = json.loads((hyp / "sums.json").read_text(encoding="utf-8"))
        sums["hyp.law.txt"] = fsio.sha256_file(hyp / "hyp.law.txt")
        (hyp / "sums.json").write_text(json.dumps(sums), encoding="utf-8")
        reseal(hyp / "sums.json")
        reseal(hyp.parent / "scores.json")

    forge(bundle, key, change, tmp_path)
    said = wrong(bundle)
    assert any(what.startswith(key) and "/domains/law/" in detail for what, detail in said.items())
    assert "studies/tiny/significance/jiang2020-table2" in said


@pytest.mark.parametrize(
    "kind",
    ["tables/jiang2020-table2", "claims/jiang2020", "significance/jiang2020-table2"],
)
def test_a_forged_exhibit_is_found(kind: str, bundle: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        path = folder / f"{kind}.json"
        value = fsio.read_json(path)
        if kind.startswith("tables"):
            value["rows"][1]["cells"][0]["mean"] += 0.1
        elif kind.startswith("claims"):
            value["outcomes"][0]["verdict"] = "reproduced"
        else:
            value["systems"]["waldm-edc"]["law"]["bleu"]["delta"] += 0.1
        reseal(path, **value)

    forge(bundle, f"{STUDIES}/tiny", change, tmp_path)
    assert f"studies/tiny/{kind}" in wrong(bundle)


def test_a_forged_number_is_found(bundle: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        path = folder / "numbers.csv"
        path.write_text(path.read_text(encoding="utf-8").replace(",30.5,", ",20.5,", 1), encoding="utf-8")

    forge(bundle, f"{STUDIES}/tiny", change, tmp_path)
    assert "recorded '20.5', computed '30.5'" in wrong(bundle)["studies/tiny/numbers.csv"]


def test_text_whose_licence_forbids_it_is_not_in_the_bundle_but_can_be_built(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_runs(project, make_project(project, redistributable=False), *MIXED)
    with contextlib.chdir(project):
        assert main(["bundle", "tiny", "--bundle", "bundle"]) == 0
    bundle = project / "bundle"
    (task,) = Bundle(bundle).keys("tasks")
    names = Bundle(bundle).unpack(f"tasks/{task}")
    assert not [name for name in names if name.startswith("text/") or "hyp" in name]
    reference = fsio.read_lines(project / "results" / "tasks" / task / "text" / "test.law.fr")[0].encode()
    assert not [name for name, data in names.items() if reference in data]

    without = found(bundle)
    assert {one.status for one in without} == {"ok", "not checked"}
    missing = [one for one in without if one.what.startswith("runs/")]
    assert "references missing for economy, law: build them with `snakemake --cores all data" in missing[0].detail
    assert "studies/tiny/tables/jiang2020-table2" in {one.what for one in without if one.status == "ok"}
    assert {one.status for one in found(bundle, project / "results")} == {"ok"}
    changed = project / "results" / "tasks" / task / "text" / "test.law.fr"
    changed.write_text("another text\n", encoding="utf-8")
    differing = (one.what for one in found(bundle, project / "results") if one.status == "differs")
    assert next(differing) == f"tasks/{task}"


def test_values_differ_by_more_than_rounding() -> None:
    assert not difference({"a": [1.0, "x", None, "2.5"]}, {"a": [1.0 + 1e-13, "x", None, "2.5000000000001"]})
    assert difference({"a": [1.0]}, {"a": [1.0 + 1e-6]}) == "/a/0: recorded 1.0, computed 1.000001"
    assert difference({"a": 1}, {"a": 1, "b": 2}) == "/b: not recorded"
    bleu = {"score": 66.0, "signature": "tok:ja-mecab"}, {"score": 70.7, "signature": "tok:char"}
    assert difference(*bleu) == "/signature: recorded 'tok:ja-mecab', computed 'tok:char'", "the cause of the score"
    assert difference([1, 2], [1]) == ": recorded 2 entries, computed 1"
    assert difference({"a": True}, {"a": 1.5}) == "/a: recorded True, computed 1.5"
