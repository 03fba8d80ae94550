"""Resolving and planning a study must not import PyTorch, which takes longer than all the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from unit.plugin_folder import Write
from unit.test_plugin_kinds import BLOCK as ANY_BLOCK

from mdnmt.config.architectures import ARCHITECTURES, architecture_type
from mdnmt.methods import BUILDERS, config_type
from mdnmt.methods.method import VocabSizes
from mdnmt.operations.plan import model_work
from mdnmt.operations.plan.model_work import Work, work_of
from mdnmt.studies import model_facts

ROOT = Path(__file__).parents[3]
VOCAB = VocabSizes(100, 100, joint=True)
BLOCK = ANY_BLOCK.format(part="bridge")
RESOLVE = """
import sys
from pathlib import Path
from mdnmt.operations.plan import study_plan
from mdnmt.studies.resolve import resolve
import snakemake_logger_plugin_mdnmt
study = resolve(Path("config"), "demo", Path("resources/corpora"), provisional=True)
assert study.runs
print([name for name in ("torch", "pandas", "matplotlib") if name in sys.modules])
"""


@pytest.mark.slow
def test_a_study_is_resolved_without_torch() -> None:
    done = subprocess.run([sys.executable, "-c", RESOLVE], cwd=ROOT, text=True, capture_output=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_the_options_of_each_method_are_those_that_its_module_names() -> None:
    from importlib import import_module

    named = {name: import_module(f"mdnmt.methods.{name}").config_type for name in BUILDERS}
    assert named == {name: architecture_type(name) for name in ARCHITECTURES}
    assert all(config_type(name, "here") is architecture_type(name) for name in BUILDERS)


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "resources" / "facts.json"
    monkeypatch.setattr(model_facts, "FACTS", path)
    _forget()
    yield path
    _forget()


def _forget() -> None:
    model_work._work.cache_clear()
    model_facts.known.cache_clear()


def test_counts_are_kept_for_the_next_plan_and_belong_to_options_and_code(
    counts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"model_dim": 8, "ffn_dim": 16, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    made = work_of("transformer", options, 2, VOCAB)
    assert not counts.parent.exists()  # outside a project, no folder is made
    counts.parent.mkdir()
    _forget()
    assert work_of("transformer", options, 2, VOCAB) == made
    (key,) = json.loads(counts.read_text()).keys() - {"seal"}
    kept = counts.read_text()
    _forget()
    with monkeypatch.context() as patch:
        patch.setattr(model_work, "_counted", lambda *_: pytest.fail("counted again"))
        assert work_of("transformer", options, 2, VOCAB) == made
    other, code = Work(1, 2, 3), model_facts._code
    monkeypatch.setattr(model_work, "_counted", lambda *_: other)
    assert work_of("transformer", {**options, "ffn_dim": 32}, 2, VOCAB) == other
    _forget()
    monkeypatch.setattr(model_facts, "_code", lambda _: "other code")
    assert work_of("transformer", options, 2, VOCAB) == other
    monkeypatch.setattr(model_facts, "_code", code)
    number = str(made.parameters)
    edited, start = kept.replace(number, f"1{number}"), '{"' + key + '": '
    for damaged in (edited, f'{start}"damaged"}}', f"{start}[Infinity, 1, 1]}}", f"{start}[1, 1]}}"):
        counts.write_text(damaged)
        _forget()
        assert work_of("transformer", options, 2, VOCAB) == other


def test_a_model_with_a_block_of_a_plug_in_is_counted_again_when_that_code_changes(
    counts: Path, write_plugin: Write
) -> None:
    options = {"model_dim": 8, "ffn_dim": 16, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    counts.parent.mkdir()
    found = []
    for width in (8, 16):
        write_plugin("own_block.py", BLOCK.replace("(width, width)", f"(width, {width})"))
        _forget()
        found.append(work_of("transformer", {**options, "blocks": ["own_block"]}, 2, VOCAB).parameters)
    assert found[1] > found[0]
