"""Runs without weights, of a campaign or a bundle, are taken into the results, and nothing that is here is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.errors import DataError
from mdnmt.exchange.bundle import Bundle
from mdnmt.exchange.campaign_results import write_parts
from mdnmt.extras.stores.transfer import push
from mdnmt.extras.stores.without_weights import take_from_bundle
from mdnmt.paths import RunPaths


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_part_of_a_campaign_leaves_runs_alone_that_are_here_or_begun_here(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = sorted(path.relative_to(made / "results/runs").as_posix() for path in made.glob("results/runs/*/*/seed*"))
    [part], _ = write_parts(made / "results", runs, tmp_path / "parts", "campaign-tiny")
    results = tmp_path / "results"
    begun = results / "runs" / runs[0] / "metrics.jsonl"
    begun.parent.mkdir(parents=True)
    begun.write_text("{}\n", encoding="utf-8")
    shutil.copytree(made / "results/runs" / runs[1], results / "runs" / runs[1])
    command = ["pull", str(part), "--results", str(results), "--benchmarks", str(tmp_path / "benchmarks")]
    capsys.readouterr()
    assert main(command) == 0
    first, second, third, task = capsys.readouterr().out.splitlines()
    assert first == f"{runs[0]}: is being trained here, or was; remove its folder first"
    assert (second, third) == (f"{runs[1]}: is here already", f"{runs[2]}: taken in") and "not built here" in task
    assert contents(begun.parent) == {"metrics.jsonl": b"{}\n"}


def test_the_runs_of_a_bundle_are_taken_in_without_weights(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = sorted(path.relative_to(made / "results/runs").as_posix() for path in made.glob("results/runs/*/*/seed*"))
    folder, results = tmp_path / "bundle", tmp_path / "results"
    (hidden := made / "results/runs" / runs[2] / "test-00000000/.snakemake_timestamp").parent.mkdir()
    hidden.touch()  # bundles of earlier versions have such files
    assert Bundle(folder).add([(run, made / "results/runs" / run, ()) for run in runs]) == runs
    shutil.rmtree(hidden.parent)
    begun = results / "runs" / runs[0] / "metrics.jsonl"
    begun.parent.mkdir(parents=True)
    begun.write_text("{}\n", encoding="utf-8")
    shutil.copytree(made / "results/runs" / runs[1], results / "runs" / runs[1])
    options = ["--results", str(results), "--benchmarks", str(tmp_path / "benchmarks")]
    capsys.readouterr()
    assert main(["pull", str(folder), *options]) == 0
    first, second, third, task = capsys.readouterr().out.splitlines()
    assert first == f"{runs[0]}: is being trained here, or was; remove its folder first"
    assert (second, third) == (f"{runs[1]}: is here already", f"{runs[2]}: taken in") and "not built here" in task
    taken = results / "runs" / runs[2]
    assert not (taken / "model.safetensors").exists() and RunPaths(taken).is_finished
    assert not list(taken.rglob(".*"))
    (taken / "curves.tsv").write_text("nonsense", encoding="utf-8")
    for said in ("taken in", "is here already"):
        assert main(["pull", str(folder), runs[2], *options]) == 0
        assert capsys.readouterr().out.splitlines() == [f"{runs[2]}: {said}"]
    assert main(["pull", str(folder), "tiny/mixed/seed9-0123abcd", *options]) == 2
    assert "has no run" in capsys.readouterr().out


def test_what_was_made_here_for_a_pulled_run_is_kept_and_bundled(made: Path, address: str, tmp_path: Path) -> None:
    results, one, more = tmp_path / "results", Bundle(tmp_path / "one"), Bundle(tmp_path / "more")
    whole = made / "results/runs" / address
    test = next(path.name for path in whole.glob("test-*"))
    one.add([(address, whole, ())])
    assert take_from_bundle(one, results, address) == "taken in"
    pulled = results / "runs" / address
    fsio.write_sealed(pulled / test / "ter.json", {"domains": {}}, [pulled / test / "hyp/sums.json"])
    (analysis := pulled / "analysis-00000000").mkdir()
    (analysis / "gates.npz").write_bytes(b"gates")
    fsio.write_sums(analysis, ["gates.npz"])
    (pulled / test / "hyp" / ".snakemake_timestamp").touch()
    assert one.add([(address, pulled, ())]) == [address], "it has gained something"
    assert {f"{test}/ter.json", "analysis-00000000/gates.npz"} <= one.files(address).keys()
    # Another bundle has other curves, and none of these.
    (other := tmp_path / "other/runs").mkdir(parents=True)
    shutil.copytree(whole, other / "run")
    (other / "run/curves.tsv").write_text("update\tloss\n", encoding="utf-8")
    fsio.write_sums(other / "run", ["curves.tsv"])
    more.add([(address, other / "run", ())])
    assert take_from_bundle(more, results, address) == "taken in"
    assert (pulled / "curves.tsv").read_text(encoding="utf-8") == "update\tloss\n"
    assert fsio.read_json(pulled / test / "ter.json") == {"domains": {}}
    assert (analysis / "gates.npz").read_bytes() == b"gates"
    # As earlier versions restored it: neither weights nor a mark, and nothing was trained here.
    RunPaths(pulled).without_weights.unlink()
    assert take_from_bundle(more, results, address) == "taken in" and RunPaths(pulled).has_no_weights
    # It is not passed on as if it were whole.
    with pytest.raises(DataError, match="came without weights; pass on what it came from"):
        push(results, tmp_path / "store", address)
