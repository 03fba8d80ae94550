"""`mdnmt audit`, its page, and what its identity stands on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mdnmt import fsio, provenance
from mdnmt.cli import main
from mdnmt.code_hash import code_hash
from mdnmt.errors import DataError
from mdnmt.statements.audit.audit import audit
from mdnmt.statements.audit.finding import AuditResult
from mdnmt.statements.audit.printed_tables import load_inputs
from mdnmt.statements.audit.render_audit import BEGIN, END, into_page, markdown, text

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"
PAGE = ROOT / "docs" / "audit.md"


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return audit(load_inputs(CONFIG))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for name in ("audit", "published", "methods"):
        shutil.copytree(CONFIG / name, tmp_path / name)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    before = path.read_text(encoding="utf-8")
    assert before.count(old) == 1
    path.write_text(before.replace(old, new), encoding="utf-8")


def test_the_page_holds_the_tables_of_the_verb(result: AuditResult) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert into_page(page, markdown(result), str(PAGE)) == page, "run `mdnmt audit --markdown docs/audit.md`"


def test_text_cannot_break_a_table(result: AuditResult) -> None:
    odd = result.findings[0].model_copy(update={"printed": "a | b, 8.86* <i>"})
    told = markdown(result.model_copy(update={"findings": (odd,)}))
    assert "| a \\| b, 8.86\\* \\<i> |" in told


@pytest.mark.slow
def test_json_is_the_whole_result_and_the_same_twice(tmp_path: Path, result: AuditResult) -> None:
    assert main(["audit", "--config", str(CONFIG), "--json", str(tmp_path / "a.json")]) == 0
    written = (tmp_path / "a.json").read_bytes()
    made = provenance.made_by(code_hash("mdnmt.commands.audit"))
    fsio.write_sealed(tmp_path / "b.json", {**result.model_dump(mode="json"), "made": made})
    assert written == (tmp_path / "b.json").read_bytes()
    value = fsio.read_json(tmp_path / "a.json")
    assert value.pop("made") == made
    assert AuditResult.model_validate(value) == result
    assert set(json.loads(written)["findings"][0]) == {
        *("id", "paper", "where", "kind", "printed", "recomputed", "status", "computed", "ours", "comment")
    }


@pytest.mark.slow
def test_without_arguments_it_tells_everything(capsys: pytest.CaptureFixture[str], result: AuditResult) -> None:
    assert main(["audit", "--config", str(CONFIG)]) == 0
    told = capsys.readouterr().out
    for finding in result.findings:
        assert f" {finding.id}" in told
    assert "jiang2020: 5 inconsistent, 5 noted, 3 consistent; 235 comparisons" in told
    assert max(map(len, text(result, 80).splitlines())) <= 80


@pytest.mark.slow
def test_one_paper_can_be_asked_for_and_needs_no_torch() -> None:
    code = (
        "import sys; from mdnmt.cli import main; main(['audit', '--config', sys.argv[1], '--paper', 'zhang2021']);"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, str(CONFIG)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("zhang2021: ") and "song2026: " not in done.stdout


def test_an_unknown_paper_is_told_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--config", str(CONFIG), "--paper", "zhang"]) == 2
    told = capsys.readouterr().err
    assert "no audit of the paper 'zhang'" in told and "zhang2021" in told and told.count("\n") == 1


def test_markdown_goes_between_the_markers_or_into_a_file_of_its_own(tmp_path: Path, config: Path) -> None:
    page, plain = tmp_path / "page.md", tmp_path / "plain.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for path in (page, plain):
        assert main(["audit", "--config", str(config), "--paper", "phan2022", "--markdown", str(path)]) == 0
    tables = plain.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\n\n{tables}\n{END}\nafter\n"
    with pytest.raises(DataError, match="once each, in this order"):
        into_page(f"{END}\n{BEGIN}", tables, "x.md")


def test_the_identity_changes_with_what_the_audit_reads_and_with_nothing_else(config: Path) -> None:
    first = load_inputs(config).identity()
    assert first == load_inputs(CONFIG).identity() and len(first) == 8
    edit(config / "audit" / "zhang2021.yaml", "# The audit's checks", "# An audit's checks")
    edit(config / "methods" / "ldspslv.yaml", "label: LDSPSLV (reconstructed)\n", "label: The LDSPSLV\n")
    assert load_inputs(config).identity() == first
    seen = {first}
    for path, old, new in (
        ("audit/zhang2021.yaml", "number: 1.26", "number: 1.27"),
        ("published/zhang2021.tsv", "BLEU-4\t80.41\t80.41", "BLEU-4\t80.42\t80.42"),
        ("methods/ldspslv.yaml", "encoder_depth_factor: 4", "encoder_depth_factor: 3"),
    ):
        edit(config / path, old, new)
        seen.add(load_inputs(config).identity())
    assert len(seen) == 4
