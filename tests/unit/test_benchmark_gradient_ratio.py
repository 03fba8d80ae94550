"""The benchmark that compares the gradients of domain losses with that of translation."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

from mdnmt.train.device import make_deterministic

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TINY = {"model_dim": 16, "ffn_dim": 32, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 1}


@pytest.fixture
def gradient_ratio(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("gradient_ratio")


@pytest.mark.parametrize("name", ["mtl", "advl", "padvl", "waldm-encoder-advl", "waldm-edc-padvl", "wdc-wl"])
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
