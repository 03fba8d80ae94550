"""Blocks that no sentence of a batch uses cost nothing, however the model is called."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mdnmt.config.decoding import Decoding
from mdnmt.decode.beam import beam_search
from mdnmt.methods.method import Method
from mdnmt.models.context import DomainContext
from mdnmt.models.latent_depth import BlockChoice, LatentResidual
from mdnmt.models.latent_depth_losses import entropy
from mdnmt.models.scheduled import Scheduled

# One encoder and one decoder layer, doubled: numbers 0 to 3 are the encoder's, 4 to 9 the decoder's.
BLOCKS = (
    "encoder.layers.0.attention",
    "encoder.layers.0.ffn",
    "encoder.layers.1.attention",
    "encoder.layers.1.ffn",
    "decoder.layers.0.self_attention",
    "decoder.layers.0.cross_attention",
    "decoder.layers.0.ffn",
    "decoder.layers.1.self_attention",
    "decoder.layers.1.cross_attention",
    "decoder.layers.1.ffn",
)
USED = {0: {0, 1, 4, 5, 6, 9}, 1: {0, 3, 4, 6, 8, 9}, 2: {0, 1, 4, 5, 6, 9}}
SOURCES = [[5, 6, 2], [7, 8, 9, 10, 11, 2], [3, 2]]
both_norms = pytest.mark.parametrize("norm", ["pre", "post"])


class Counting:
    """Counts how often each block is called, and each cross-attention's keys and values are made."""

    def __init__(self, model: nn.Module, monkeypatch: Any) -> None:
        self.calls: Counter[str] = Counter()
        for name in BLOCKS:
            block = model.get_submodule(name)
            block.register_forward_hook(lambda *_, name=name: self.calls.update([name]))
            if name.endswith("cross_attention"):
                plain = block.keys_values

                def counted(*given: Any, name: str = name, plain: Any = plain) -> Any:
                    self.calls[f"{name}.keys_values"] += 1
                    return plain(*given)

                monkeypatch.setattr(block, "keys_values", counted)

    def called(self) -> set[str]:
        return set(self.calls)


def expected_calls(domains: list[int]) -> set[str]:
    used = {BLOCKS[number] for domain in domains for number in USED[domain]}
    return used | {f"{name}.keys_values" for name in used if name.endswith("cross_attention")}


@pytest.fixture
def method(random_method: Any, norm: str) -> Method:
    made: Method = random_method("latent_depth", num_domains=3, encoder_layers=1, decoder_layers=1, norm=norm)
    with torch.no_grad():
        logits = made.model.block_choice.logits  # type: ignore[union-attr]
        for domain, used in USED.items():
            logits[domain] = torch.tensor([0.4 if number in used else -0.2 for number in range(len(BLOCKS))])  # type: ignore[index]
    return made


@both_norms
@pytest.mark.parametrize("domains", [[0], [1], [0, 2], [0, 1], [1, 0, 2]], ids=str)
def test_only_blocks_in_use_are_computed(
    method: Method, make_batch: Any, monkeypatch: Any, norm: str, domains: list[int]
) -> None:
    counting = Counting(method.model, monkeypatch)
    batch = make_batch(SOURCES[: len(domains)], [[12, 13, 2]] * len(domains), domains)
    with torch.inference_mode():
        method.model(batch)
    assert counting.called() == expected_calls(domains)
    assert set(counting.calls.values()) == {1}


@both_norms
@pytest.mark.parametrize("domains", [[0], [1, 1], [0, 2, 0], [1, 0, 2]], ids=str)
def test_beam_search_computes_no_more(
    method: Method, make_batch: Any, monkeypatch: Any, norm: str, domains: list[int]
) -> None:
    counting = Counting(method.model, monkeypatch)
    # Sentences of different lengths, which leave the batch one after the other.
    batch = make_batch(SOURCES[: len(domains)], [[4, 2]] * len(domains), domains)
    config = Decoding(beam_size=3, max_length_ratio=1.0, max_length_extra=2)
    together = beam_search(method.model, batch.source_BS, batch.source_mask_BS, config, batch.domain_B)
    assert counting.called() == expected_calls(domains)
    assert all(counting.calls[name] == 1 for name in counting.calls if name.endswith("keys_values"))
    for row, domain in enumerate(domains):
        source = torch.tensor([SOURCES[row]])
        [alone] = beam_search(method.model, source, source != 0, config, torch.tensor([domain]))
        assert [found.ids for found in together[row]] == [found.ids for found in alone]


@both_norms
def test_decoding_with_dropped_sentences_equals_whole_passes(method: Method, make_batch: Any, norm: str) -> None:
    model, domains = method.model, [1, 0, 2]
    batch = make_batch(SOURCES, [[4, 2]] * 3, domains)

    def whole(sentence: int, words: list[int]) -> Tensor:
        return model(make_batch([SOURCES[sentence]], [[*words, 2]], [domains[sentence]])).logits()[-1]

    prefixes = [(row, [word]) for row in range(3) for word in (1, 1)]
    with torch.inference_mode():
        state = model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for kept, order, new in (
            (None, [1, 0, 3, 2, 4, 5], [9, 8, 7, 6, 5, 4]),
            ([1, 2], [3, 2, 5, 4], [12, 13, 14, 15]),
            ([0], [1, 0], [5, 7]),
            (None, [0, 0], [5, 7]),
        ):
            found = model.step(torch.tensor([words[-1] for _, words in prefixes]), state)
            for row, (sentence, words) in enumerate(prefixes):
                assert torch.allclose(found[row], whole(sentence, words[1:]), rtol=1e-9, atol=1e-10)
            state.select(torch.tensor(kept) if kept is not None else None, torch.tensor(order))
            prefixes = [
                (prefixes[place][0], [*prefixes[place][1], word]) for place, word in zip(order, new, strict=True)
            ]


@both_norms
def test_what_is_skipped_is_settled_once(method: Method, make_batch: Any, monkeypatch: Any, norm: str) -> None:
    # Reading a tensor off the device makes a GPU wait: once where decoding starts, never in a step.
    calls: list[int] = []
    plain = Tensor.tolist
    monkeypatch.setattr(Tensor, "tolist", lambda tensor: calls.append(1) or plain(tensor))
    for reading in ("item", "__bool__", "cpu", "nonzero"):
        monkeypatch.setattr(Tensor, reading, lambda *_, reading=reading: pytest.fail(f"{reading} in a pass"))
    batch = make_batch(SOURCES, [[4, 2]] * 3, [1, 0, 2])
    calls.clear()
    with torch.inference_mode():
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for _ in range(3):
            method.model.step(batch.target_BT[:, 0], state)
    assert len(calls) == 1


@both_norms
def test_training_computes_every_block(method: Method, make_batch: Any, monkeypatch: Any, norm: str) -> None:
    counting = Counting(method.model, monkeypatch)
    method.model.train()
    method.model(make_batch(SOURCES, [[12, 13, 2]] * 3, [0, 0, 0]))
    assert {name for name in counting.called() if not name.endswith("keys_values")} == set(BLOCKS)


@pytest.mark.parametrize("skipped", [True, False])
@both_norms
def test_a_skipped_block_gives_what_a_use_of_zero_gives(norm: Any, skipped: bool) -> None:
    torch.manual_seed(1)
    residual = LatentResidual(6, number=1, norm_order=norm, dropout=0.0)
    x_BTD = torch.randn(2, 3, 6)
    context = DomainContext(use_BN=torch.tensor([[1.0, 0.0], [1.0, 0.0]]), unused=(1,) if skipped else ())
    found = residual(x_BTD, lambda h: h + 7.0, context)
    assert torch.equal(found, x_BTD if norm == "pre" else residual.norm(x_BTD))
    assert residual.is_skipped(context) is skipped


@pytest.mark.parametrize("logit", [-2.0, 0.0, 1.5])
def test_draws_are_as_frequent_as_the_logits_say(logit: float) -> None:
    choice = BlockChoice(
        1, 4, initial_logit=0.0, temperature=Scheduled(lambda *_: 1.0), hardness=Scheduled(lambda *_: 1.0)
    )
    with torch.no_grad():
        choice.logits.fill_(logit)
    torch.manual_seed(0)
    context = DomainContext(domain_B=torch.zeros(20_000, dtype=torch.long))
    choice(context, 20_000)
    assert context.use_BN is not None
    assert context.use_BN.detach().unique().tolist() == [0.0, 1.0]
    assert context.use_BN.mean().item() == pytest.approx(torch.tensor(logit).sigmoid().item(), abs=0.01)
    assert context.unused == ()


def test_the_slope_of_the_entropy_stays_finite() -> None:
    logits = torch.tensor([-200.0, 0.3, 200.0], requires_grad=True)
    entropy(logits.sigmoid()).sum().backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
