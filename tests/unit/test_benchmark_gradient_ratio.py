"""The benchmark that compares the gradients of domain losses with that of translation."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from mdnmt.checkpoints.weights import save_model
from mdnmt.config.paper import load_paper
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import write_json
from mdnmt.train.device import make_deterministic

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TINY = {"model_dim": 16, "ffn_dim": 32, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 1}


@pytest.fixture
def gradient_ratio(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("gradient_ratio")


@pytest.mark.parametrize("name", ["advl", "waldm-edc-padvl", "wdc-wl"])
def test_the_two_readings_differ_by_the_number_of_terms(gradient_ratio: ModuleType, name: str) -> None:
    make_deterministic(1, 1)
    batches, vocab_size, num_domains = gradient_ratio.load_batches(None, 400, 1)
    [batch] = batches
    found = gradient_ratio.measure([name], batches, TINY, vocab_size, num_domains)[name]
    sentences = len(batch.domain_B)
    assert sentences > 1
    if name.startswith("waldm"):  # text: a sum over words; code: a mean over words, and over padding as well
        assert found["text"] / found["code"] > sentences
    else:  # text: a sum over sentences and classifiers; code: their mean
        classifiers = 3 if name == "wdc-wl" else 1
        assert found["text"] / found["code"] == pytest.approx(classifiers * sentences, rel=1e-4)


def test_the_ratio_is_that_of_the_parameters_that_both_losses_train(gradient_ratio: ModuleType) -> None:
    make_deterministic(1, 1)
    [batch], vocab_size, num_domains = gradient_ratio.load_batches(None, 400, 1)
    torch.manual_seed(0)
    method = gradient_ratio.build("advl", "text", TINY, vocab_size, num_domains)
    norms = {}
    for loss in method.losses:
        method.model.zero_grad(set_to_none=True)
        loss(method.model(batch), batch).backward()
        shared = [method.model.encoder, method.model.source_embedding]
        gradients = [p.grad for module in shared for p in module.parameters()]
        norms[loss.name] = torch.nn.utils.get_total_norm(gradients).item()
    expected = norms["sentence"] / norms["generation"]
    assert gradient_ratio.gradient_ratios([method], batch) == [pytest.approx(expected, rel=1e-4)]


def test_the_ratio_of_a_run_is_that_of_its_weights(gradient_ratio: ModuleType, tmp_path: Path) -> None:
    make_deterministic(1, 1)
    batches, vocab_size, num_domains = gradient_ratio.load_batches(None, 400, 1)
    torch.manual_seed(0)
    size = {**TINY, "norm": "post"}
    readings = [gradient_ratio.build("padvl", reading, size, vocab_size, num_domains) for reading in ("text", "code")]
    readings[1].model.load_state_dict(readings[0].model.state_dict())
    save_model(tmp_path / "model.safetensors", readings[0].model.state_dict())
    options = {**size, "gradient": "half", "share_embeddings": "none", "dropout": 0.3}
    spec = {"builder": "multitask", "architecture": options}
    sha256 = sha256_file(tmp_path / "model.safetensors")
    write_json(tmp_path / "run.json", {"method": "padvl", "spec": spec, "model_sha256": sha256})
    found = gradient_ratio.measure_run(tmp_path, batches, vocab_size, num_domains)
    expected = gradient_ratio.gradient_ratios(readings, batches[0])
    assert list(found["padvl"].values()) == pytest.approx(expected, rel=1e-4)


def test_the_notes_below_jiangs_tables_state_what_was_measured() -> None:
    root = BENCHMARKS.parent
    page = (root / "docs/methods/multitask.md").read_text(encoding="utf-8")
    measured = {f"{float(number):.1g}" for number in re.findall(r"\b0\.\d+\b", page)}
    tables = load_paper(root / "config", "jiang2020").tables
    for name in ("table2", "table2-validation", "table3", "table4", "table6-zh-en", "table8"):
        [note] = [note for note in tables[name].notes if "gradient_ratio.py" in note]
        said = re.findall(r"\b0\.\d+\b", note)
        assert said and {f"{float(number):.1g}" for number in said} <= measured, name
