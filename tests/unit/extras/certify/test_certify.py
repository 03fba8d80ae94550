"""A certificate holds a study's evidence and what a reviewer needs; a changed file in it is found."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from signing_keys import write_keys
from small_bundle import make_project, make_runs

from mdnmt.cli import main
from mdnmt.exchange.bundle import Bundle
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header
from mdnmt.extras.certify import study_facts
from mdnmt.extras.certify.documents import TO_ADD
from mdnmt.extras.certify.study_facts import VERDICT_COLUMNS
from mdnmt.numbers.verdicts import Judgement

ROOT = Path(__file__).resolve().parents[4]
SBOM = {"bomFormat": "CycloneDX", "components": [{"name": "torch", "version": "2"}]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with finished runs, its bundle in `bundle`, and a signed certificate in `certificate`."""
    project = tmp_path_factory.mktemp("made") / "project"
    study = make_project(project)
    make_runs(project, study, "mixed", "waldm-edc")
    shutil.copy(ROOT / "LICENSE", project)
    (project / "sbom.json").write_text(json.dumps(SBOM), encoding="utf-8")
    write_keys(project, "author")
    with contextlib.chdir(project):
        assert main(["certify", "tiny", "--out", "certificate", "--sign", "author"]) == 0
        shutil.copytree("certificate/bundle", "bundle")
    return project


@pytest.fixture
def project(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def certificate(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "certificate", tmp_path / "certificate")
    return tmp_path / "certificate"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the status of a command and all that it printed."""
    capsys.readouterr()
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out + err


def test_it_holds_the_evidence_the_environment_and_the_commands(certificate: Path) -> None:
    names = {path.relative_to(certificate).as_posix() for path in certificate.rglob("*") if path.is_file()}
    assert len(Bundle(certificate / "bundle").runs) == 6
    assert {"Snakefile", "workflow/rules/train.smk", "config/tiny.yaml", "LICENSE", "signature.sig"} <= names
    assert (certificate / "environment/lock/run.txt").read_bytes() == (ROOT / "envs/lock/run.txt").read_bytes()
    assert json.loads((certificate / "environment/sbom.json").read_text(encoding="utf-8")) == SBOM
    commands = (certificate / "commands.sh").read_text(encoding="utf-8")
    assert "snakemake --cores all --config study=tiny\n" in commands
    assert (certificate / "verification.txt").read_text(encoding="utf-8").count(": ok\n") == 13


def test_what_a_human_must_add_is_empty_and_listed(certificate: Path) -> None:
    text = (certificate / "README.md").read_text(encoding="utf-8")
    listed = text.partition("## What a human must add")[2].partition("##")[0]
    assert listed.count("\n1") + len(re.findall(r"^[2-9]\. ", listed, re.M)) == len(TO_ADD)
    fields = [re.match(r"(.+?): in (\w+)", where) for _, where in TO_ADD]
    named = {found[1]: found[2] for found in fields if found}
    for name, section in named.items():
        body = text.partition(f"## {section}\n")[2].partition("\n## ")[0]
        assert re.search(rf"{re.escape(name)}:(\*\*)?( \|)?$", body, re.M), name
    assert ": trained by code that run.json does not record" in text
    # Nothing is empty that is not listed.
    empty = {found.strip("*- ") for found in re.findall(r"^- (.+?):(?:\*\*)?$", text, re.M)}
    assert empty <= named.keys()
    check = yaml.safe_load((certificate / "codecheck.yml").read_text(encoding="utf-8"))
    assert {file["file"] for file in check["manifest"]} == {"verdicts.csv", "numbers.csv"}
    assert not any([*check["paper"]["authors"][0].values(), *check["codechecker"][0].values(), check["certificate"]])


def test_every_claim_has_a_verdict_with_its_reason(certificate: Path) -> None:
    with (certificate / "verdicts.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert rows and {row["kind"] for row in rows} == {"claim"}  # the toy task is none of a paper
    assert all(row["verdict"] and row["reason"] for row in rows)


def test_a_cell_with_a_printed_number_has_its_verdict() -> None:
    judged = Judgement(verdict="reproduced", reason="inside the margin")
    cells = (Cell(mean=26.5, published_text="26.4", difference=0.1, judgement=judged), Cell(mean=3.0))
    headers = (Header(key="law", label="Law", metric="bleu", group="Test"), Header(key="news", label="", metric="bleu"))
    row = GridRow(group="", label="WALDM", method="waldm-edc", cells=cells)
    found = study_facts._cells("jiang2020-table2", Grid(kind="scores", title="", headers=headers, rows=(row,)))
    values = ("cell", "jiang2020-table2", "WALDM", "Test Law bleu", "26.4", "26.5", "0.1", "reproduced")
    assert found == [dict(zip(VERDICT_COLUMNS, (*values, "inside the margin"), strict=True))]


@pytest.mark.slow
def test_it_verifies_also_after_a_human_has_completed_it(
    certificate: Path, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("README.md", "codecheck.yml"):
        path = certificate / name
        path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    key = str(made / "author.pub")
    status, out = said(capsys, "verify", str(certificate), "--quiet", "--public-key", key)
    assert status == 0 and out.endswith("ok, 0 differs, 0 not checked\n"), out


@pytest.mark.slow
def test_sums_without_their_seal_are_found(certificate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = certificate / "sums.json"
    sums.write_text(sums.read_text(encoding="utf-8").replace('"seal"', '"teal"'), encoding="utf-8")
    status, out = said(capsys, "verify", str(certificate), "--quiet")
    assert status != 0 and "sums.json: differs" in out and "has no seal" in out, out


@pytest.mark.slow
def test_a_changed_file_is_found(certificate: Path, made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = certificate / "verdicts.csv"
    verdicts.write_text(verdicts.read_text(encoding="utf-8").replace("not comparable", "reproduced"), encoding="utf-8")
    (certificate / "environment/lock/run.txt").unlink()
    (certificate / "more.txt").write_text("more", encoding="utf-8")
    sums = (certificate / "sums.json").read_bytes()
    status, out = said(capsys, "verify", str(certificate), "--quiet")
    assert status == 1
    assert "verdicts.csv: differs: was altered, its sha256 is not that of sums.json\n" in out
    assert "environment/lock/run.txt: differs: missing, but sums.json lists it\n" in out
    assert "more.txt: differs: is not listed in sums.json\n" in out
    (certificate / "sums.json").write_bytes(sums.replace(b"verdicts.csv", b"verdicts.xxx"))
    status, out = said(capsys, "verify", str(certificate), "--quiet", "--public-key", str(made / "author.pub"))
    assert status == 1 and "signature.sig: differs: altered: it is no signature of this sums.json" in out
    assert "sums.json: differs: " in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--sbom", "none.json"], "none.json: no such file; `make sbom` writes it"),
        (["--sbom", "Snakefile"], "Snakefile: expected an SBOM in CycloneDX JSON"),
        (["--bundle", "config"], "config: has no study tiny; `mdnmt bundle tiny --bundle ...` adds it"),
        (["--sign", "sbom.json"], "sbom.json: expected an SSH key"),
        (["--out", "config"], "config: exists already; expected the name of a new folder"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_packed(
    words: list[str], expected: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(project.iterdir())
    status, out = said(capsys, "certify", "tiny", "--out", "new", *words)
    assert status == 2 and expected in out and out.count("\n") == 1
    assert sorted(project.iterdir()) == before


@pytest.mark.slow
def test_a_bundle_that_does_not_verify_gets_no_certificate(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(project / "bundle", bundle)
    (bundle / "more.txt").write_text("more", encoding="utf-8")
    status, out = said(capsys, "certify", "tiny", "--bundle", str(bundle), "--out", str(tmp_path / "new"))
    assert status == 2 and "1 of 14 checks of the bundle differ; nothing was written; the first: more.txt" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle"]
    (bundle / "more.txt").unlink()
    assert said(capsys, "certify", "tiny", "--bundle", str(bundle), "--out", str(tmp_path / "new"))[0] == 0
    assert (tmp_path / "new/bundle/bundle.json").read_bytes() == (bundle / "bundle.json").read_bytes()
