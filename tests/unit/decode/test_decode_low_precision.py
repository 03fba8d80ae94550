"""Products of translation: fp32 as exact as torch's own, the others within the bounds of their rounding."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from method_forms import CONFIGS, FORM_OF_BUILDER, FORMS
from torch import Tensor

from mdnmt.config.decoding import PRECISIONS, Decoding, Precision
from mdnmt.decode.batching import translate_ids
from mdnmt.decode.low_precision import NARROW, PRODUCTS, prepare_for_decoding, quantise
from mdnmt.decode.translator import require_precision
from mdnmt.errors import ConfigError
from mdnmt.models.projection import Linear, MixedLinear

BOUNDS: dict[Precision, float] = {"fp32": 1e-6, "bf16": 6e-3, "int8": 2e-2}  # of the error's norm, relative
CPU = torch.device("cpu")


def error(found: Tensor, expected: Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm())


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_product_is_as_exact_as_its_precision(precision: Precision, bias: bool) -> None:
    torch.manual_seed(0)
    x, weight, offset = torch.randn(3, 5, 64), torch.randn(96, 64), torch.randn(96) if bias else None
    expected = F.linear(x.double(), weight.double(), offset.double() if offset is not None else None)
    with torch.inference_mode():
        found = PRODUCTS[precision](weight, offset)(x)
    assert found.shape == (3, 5, 96) and found.dtype == torch.float32
    assert error(found, expected) < BOUNDS[precision]
    if precision != "fp32":  # and it is what it says it is
        assert error(found, expected) > BOUNDS[precision] / 10


def test_eight_bits_hold_the_largest_number_of_a_row_exactly() -> None:
    x = torch.tensor([[0.5, -2.0, 1.0], [0.0, 0.0, 0.0], [3e-3, 1e-3, 0.0]])
    whole, scale = quantise(x)
    assert whole.dtype == torch.int8
    assert whole.tolist() == [[32, -127, 64], [0, 0, 0], [127, 42, 0]]
    assert torch.allclose(whole * scale, x, atol=2.0 / 254)


# Rounding to bf16 and to 8 bits exchanges the same modules: every form with the coarser one.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "precision"),
    [*product(FORMS, ("fp32", "int8")), *((name, "bf16") for name in FORM_OF_BUILDER.values())],
)
def test_a_prepared_model_computes_what_the_model_does(
    random_method: Any, make_batch: Any, name: str, precision: Precision
) -> None:
    config = CONFIGS[name]
    sizes = {"model_dim": 32, "ffn_dim": 64, "num_heads": 2}
    options = {**config.architecture, **sizes, "num_domains": 3}
    method = random_method(config.builder, **options, dtype=torch.float32)
    batch = make_batch([[5, 6, 2], [7, 8, 9, 2]], [[4, 5, 2], [6, 7, 2]], [0, 2])
    before = {key: value.clone() for key, value in method.model.state_dict().items()}
    with torch.inference_mode():
        found = []
        for model in (method.model, prepare_for_decoding(method.model, precision)):
            state = model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
            found.append(torch.stack([model.step(batch.target_BT[:, t], state) for t in range(3)]))
    # A gate or a block that is chosen by a hair may be another: so not for every method a bound for int8.
    assert error(found[1], found[0].double()) < {"fp32": 1e-5, "bf16": 0.1, "int8": 0.3}[precision]
    assert not torch.equal(found[0], found[1]) or precision == "fp32"
    after = method.model.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_wide_map_is_exchanged_and_shared_modules_stay_shared(random_method: Any, precision: Precision) -> None:
    sizes = {"model_dim": 32, "ffn_dim": 64, "num_heads": 2, "mixed_sides": "both", "share_embeddings": "all"}
    model = random_method("waldm", **sizes, dtype=torch.float32).model
    new = prepare_for_decoding(model, precision)
    assert not [one for one in new.modules() if isinstance(one, MixedLinear)]
    assert all(one.weight.size(0) < NARROW for one in new.modules() if isinstance(one, Linear))
    assert any(isinstance(one, MixedLinear) for one in model.modules())
    assert new.source_embedding is new.target_embedding and "token_logits" in vars(new)
    assert "token_logits" not in vars(model)


def test_double_precision_and_other_devices_keep_their_own_products(random_method: Any) -> None:
    model = random_method("transformer").model
    assert prepare_for_decoding(model) is model
    with pytest.raises(ConfigError, match=r"^found precision int8 on meta, expected a CPU; take bf16 there$"):
        prepare_for_decoding(model.to("meta"), "int8")


@pytest.mark.slow
def test_translations_do_not_depend_on_the_number_of_threads(random_method: Any) -> None:
    method = random_method("waldm", vocab=200, model_dim=32, num_heads=2, dtype=torch.float32)
    generator = np.random.default_rng(0)
    sources = [np.append(generator.integers(3, 200, 1 + number % 9), 2).astype(np.int32) for number in range(60)]
    config = Decoding(beam_size=4, batch_tokens=40, max_length_ratio=1.0, max_length_extra=5)
    threads, found = torch.get_num_threads(), {}
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found[number] = translate_ids(method.model, sources, config, device=CPU)
            assert torch.get_num_threads() == number
    finally:
        torch.set_num_threads(threads)
    assert found[1] == found[2] == found[3]  # scores to the last bit
    assert all(found[1])


def test_a_failing_batch_fails_the_whole_and_threads_are_given_back(random_method: Any) -> None:
    method = random_method("transformer", dtype=torch.float32)
    sources = [np.array([5, 6, 2], dtype=np.int32), np.array([9999, 2], dtype=np.int32)]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(IndexError):
            translate_ids(method.model, sources, Decoding(batch_tokens=3), device=CPU)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_autocast_reaches_every_batch_and_settles_the_products(random_method: Any, monkeypatch: Any) -> None:
    method = random_method("transformer", dtype=torch.float32)
    seen = []

    def watched(*_: Any) -> list[list[Any]]:
        seen.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
        return [[]]

    monkeypatch.setattr("mdnmt.decode.batching.beam_search", watched)
    monkeypatch.setattr("mdnmt.decode.batching.prepare_for_decoding", lambda *_: pytest.fail("prepared under autocast"))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with torch.autocast("cpu", torch.bfloat16):
            translate_ids(method.model, [np.array([5, 2])] * 4, Decoding(batch_tokens=2), device=CPU)
    finally:
        torch.set_num_threads(threads)
    assert seen == [(True, torch.bfloat16)] * 4


def test_a_precision_that_weights_of_others_do_not_have() -> None:
    with pytest.raises(ConfigError, match=r"^found precision int8 for pretrained weights, expected fp32 or bf16: set"):
        require_precision(object(), Decoding(precision="int8"))
    require_precision(object(), Decoding())
    require_precision(object(), Decoding(precision="bf16"))
