"""Domain-aware self-attention: equal to the slow reference; sharing, sizes, gradients, guidance, causality."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from against_reference import (
    TOLERANCE,
    both_norms,
    both_types,
    gradients,
    num_parameters,
    reached,
    relative_error,
    sentences,
    weights_of,
)
from reference import domain_attention as slow
from reference import losses as slow_losses
from reference.transformer import Shape
from torch import Tensor

from mdnmt.config.method import load_method
from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.methods.method import TokenCounts
from mdnmt.models.domain_attention import SentenceDomainProjection

CONFIG = Path(__file__).resolve().parents[3] / "config"
BUILDER = "domain_aware_attention"
VOCAB = 17
SMALL = {"vocab": VOCAB, "model_dim": 8, "ffn_dim": 12, "label_smoothing": 0.13}
CASES: list[dict[str, Any]] = [
    # Every placement with every sharing once, on either norm order; N larger than, equal to and apart from k.
    {"placement": "both", "dan_sharing": "layer", "norm": "pre", "k": 3, "guidance_weight": 1.0},
    {"placement": "both", "dan_sharing": "layer", "norm": "post", "k": 2, "guidance_weight": 1.0},
    {"placement": "all", "dan_sharing": "all", "norm": "pre", "k": 2, "guidance_weight": 0.7, "num_clusters": None},
    {"placement": "all", "dan_sharing": "side", "norm": "post", "k": 3, "guidance_weight": 1.0, "spare_share": 0.2},
    {"placement": "cross", "dan_sharing": "kv_shared", "norm": "post", "k": 3, "guidance_weight": 1.0},
    {"placement": "cross", "dan_sharing": "layer", "norm": "pre", "k": 2, "num_clusters": 1},
    {"placement": "encoder", "dan_sharing": "side", "norm": "pre", "k": 2, "guidance_weight": 1.0, "num_clusters": 2},
    {"placement": "decoder", "dan_sharing": "kv_shared", "norm": "pre", "k": 3, "num_clusters": 2},
    {"placement": "both", "dan_sharing": "kv_shared", "norm": "post", "k": 3, "share_embeddings": "all"},
    # One z for all words of a sentence: the decoder takes that of the encoder's last layer.
    {"level": "sentence", "placement": "both", "dan_sharing": "layer", "norm": "pre", "k": 3, "guidance_weight": 1.0},
    {"level": "sentence", "placement": "both", "dan_sharing": "all", "norm": "post", "k": 2},
    {"level": "sentence", "placement": "encoder", "dan_sharing": "side", "norm": "post", "k": 2},
]


def word_counts(k: int, size: int) -> Tensor:
    generator = torch.Generator().manual_seed(k)
    counts = torch.randint(0, 30, (k, size), generator=generator)
    counts[0, 5] = counts[1, 7] = 0  # words that a domain has not
    counts[:, :2] = 0  # padding and <s>
    return counts


def method_of(random_method: Any, *, k: int, dtype: torch.dtype = torch.float64, **options: Any) -> Any:
    method = random_method(BUILDER, num_domains=k, dtype=dtype, **{**SMALL, **options})
    if method.prepare is not None:
        sizes = method.model.source_embedding.weight.size(0), method.model.target_embedding.weight.size(0)
        method.prepare(TokenCounts(*(word_counts(k, size) for size in sizes)))
    return method


def shape_of(norm: str) -> Shape:
    return Shape(num_heads=2, encoder_layers=2, decoder_layers=2, norm=norm)


@both_types
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_it_equals_the_slow_reference(
    random_method: Any, make_batch: Any, case: dict[str, Any], dtype: torch.dtype
) -> None:
    method = method_of(random_method, dtype=dtype, **case)
    weights = weights_of(method)
    sources, targets = sentences([2, 5, 1], 1, VOCAB), sentences([4, 1, 5], 2, VOCAB)
    inputs = [[1, *target[:-1]] for target in targets]
    batch = make_batch(sources, targets, [0, 1, 0])
    output = method.model(batch)
    records, expected_loss = [], 0.0
    rows = output.logits().split([len(target) for target in targets])
    for source, target, words, found in zip(sources, targets, inputs, rows, strict=True):
        expected, record = slow.logits(weights, source, words, shape_of(case["norm"]))
        assert relative_error(found, expected) < TOLERANCE[dtype]
        expected_loss += slow_losses.label_smoothed_cross_entropy(expected, target, 0.13)
        records.append(record)
    assert method.losses[0](output, batch).item() == pytest.approx(expected_loss, rel=TOLERANCE[dtype])
    where = {"encoder": 2, "decoder": 2, "both": 4, "cross": 2, "all": 6}
    assert sum(map(len, records[0].layers.values())) == (2 if "level" in case else where[case["placement"]])
    for side, layers in records[0].layers.items():
        for expected_scores, found in zip(layers, output.context.recorded("domain_attention", side), strict=True):
            expected = torch.stack(expected_scores)
            assert relative_error(found[0, : len(expected)], expected) < TOLERANCE[dtype]
    if "guidance_weight" not in case:
        assert [loss.name for loss in method.losses] == ["generation"] and method.prepare is None
        return
    generation, guidance = method.losses
    assert (generation.name, guidance.name) == ("generation", "guidance")
    k, sizes = case["k"], (weights["source_embedding.weight"].size(0), weights["target_embedding.weight"].size(0))
    counts = [word_counts(k, size).tolist() for size in sizes]
    expected_delta = slow.guided_loss(records, sources, inputs, *counts, spare_share=case.get("spare_share", 0.01))
    found_delta = guidance(output, batch).item()
    assert found_delta == pytest.approx(case["guidance_weight"] * expected_delta, rel=TOLERANCE[dtype])


def test_a_sentence_level_model_has_one_domain_vector_for_all_words(random_method: Any, make_batch: Any) -> None:
    model = method_of(random_method, k=2, level="sentence").model
    added: dict[str, list[Tensor]] = {}
    for name, module in model.named_modules():
        if isinstance(module, SentenceDomainProjection):
            module.register_forward_hook(
                lambda block, given, y, name=name: added.setdefault(name, []).append(
                    (y - block.words(given[0])).detach()
                )
            )
    model(make_batch(*[sentences(lengths, 1, VOCAB) for lengths in ([3, 6], [5, 2])], [0, 0]))
    assert len(added) == 4
    for [added_BTO] in added.values():
        width = added_BTO.size(-1) // 3
        assert not added_BTO[..., : 2 * width].any()  # queries, and keys: it would cancel in the softmax
        assert torch.allclose(added_BTO, added_BTO[:, :1].expand_as(added_BTO), atol=1e-12)
        assert not torch.allclose(added_BTO[0, 0, -width:], added_BTO[1, 0, -width:])


@pytest.mark.parametrize("placement", ["decoder", "cross", "all"])
def test_a_sentence_level_model_needs_the_encoder(placement: str) -> None:
    with pytest.raises(ConfigError, match=f"placement is {placement}, expected encoder or both"):
        validate(BUILDER, {"level": "sentence", "placement": placement}, where="methods/x.yaml")


@both_norms
def test_a_domain_of_a_target_word_is_found_from_the_words_before_it(
    random_method: Any, make_batch: Any, norm: str
) -> None:
    model = method_of(random_method, k=2, norm=norm).model
    target = [5, 6, 7, 8, 9, 2]

    def found(words: list[int]) -> tuple[list[Tensor], Tensor]:
        output = model(make_batch([[4, 5, 2]], [words], [0]))
        return output.context.recorded("domain_attention", "decoder"), output.logits()

    layers, logits = found(target)
    others, other_logits = found([*target[:3], 12, 13, 2])  # <s> and the first three words are the same
    for one, other in zip(layers, others, strict=True):
        assert torch.equal(one[:, :4], other[:, :4])
        assert not torch.isclose(one[:, 4:], other[:, 4:]).any()
    assert torch.equal(logits[:4], other_logits[:4])


def test_no_label_is_looked_at(random_method: Any, make_batch: Any) -> None:
    method = method_of(random_method, k=3, guidance_weight=1.0)
    one, other = (make_batch([[5, 2], [7, 2]], [[6, 2], [8, 2]], labels) for labels in ([0, 1], [2, 0]))
    first, second = method.model(one), method.model(other)
    assert not method.needs_domain and torch.equal(first.logits(), second.logits())
    assert [loss(first, one).item() for loss in method.losses] == [loss(second, other).item() for loss in method.losses]


def test_guidance_trains_what_the_attention_is_made_of(random_method: Any, make_batch: Any) -> None:
    method = method_of(random_method, k=2, guidance_weight=1.0, encoder_layers=1, decoder_layers=1)
    batch = make_batch([[5, 6, 2], [7, 8, 2]], [[6, 5, 2], [8, 7, 2]], [0, 1])
    by_translation, by_guidance = (gradients(method, batch, name) for name in ("generation", "guidance"))
    assert all(gradient is not None and gradient.any() for gradient in by_translation.values())
    # One layer a side, so what feeds the attention is the normed embedding; values and all else stay as they are.
    attentions = ("encoder.layers.0.attention", "decoder.layers.0.self_attention")
    inside = ("qkv.network.vectors", "qkv.network.query.weight", "qkv.network.key.weight")
    expected = {f"{attention}.{name}" for attention in attentions for name in inside}
    expected |= {f"{attention}_residual.norm.{name}" for attention in attentions for name in ("weight", "bias")}
    assert reached(by_guidance) == expected | {"source_embedding.weight", "target_embedding.weight"}
    # <s> begins every target, but has no domain.
    gradient = by_guidance["target_embedding.weight"]
    assert gradient is not None and not gradient[1].any() and gradient[5].any()


def test_guidance_is_the_same_alone_and_in_a_padded_batch(random_method: Any, make_batch: Any) -> None:
    method = method_of(random_method, k=3, guidance_weight=1.0, placement="all")
    sources, targets = [[5, 2], [7, 8, 9, 10, 2]], [[6, 4, 5, 2], [9, 2]]
    together = make_batch(sources, targets, [0, 2])
    # Padding that holds a word with a share in every domain.
    together = dataclasses.replace(
        together,
        source_BS=torch.where(together.source_mask_BS, together.source_BS, 9),
        target_BT=torch.where(together.target_mask_BT, together.target_BT, 9),
    )
    apart = [make_batch([source], [target], [0]) for source, target in zip(sources, targets, strict=True)]
    loss = method.losses[1]
    expected = sum(loss(method.model(batch), batch).item() for batch in apart)
    assert loss(method.model(together), together).item() == pytest.approx(expected, rel=1e-12)


def test_training_by_guidance_gives_each_domain_its_vector(random_method: Any, make_batch: Any) -> None:
    method = method_of(random_method, k=2, guidance_weight=1.0, norm="pre")
    counts = torch.zeros(2, VOCAB + 4)
    counts[0, 3:10] = counts[1, 10:VOCAB] = 50  # the first words stand in one domain, the others in the other
    method.prepare(TokenCounts(counts, counts[:, :VOCAB]))
    batch = make_batch([[*range(3, VOCAB), 2]], [[4, 2]], [0])
    optimiser = torch.optim.Adam(method.model.parameters(), lr=0.05)
    for _ in range(60):
        optimiser.zero_grad()
        method.losses[1](method.model(batch), batch).backward()
        optimiser.step()
    [shares] = torch.stack(method.model(batch).context.recorded("domain_attention", "encoder")).mean(0).softmax(-1)
    assert shares[:7, 0].min() > 0.8 and shares[7:-1, 1].min() > 0.8


@pytest.mark.parametrize(
    ("sharing", "vectors", "queries", "keys"),
    [("layer", 2, 6, 6), ("side", 2, 2, 2), ("kv_shared", 1, 6, 1), ("all", 1, 1, 1)],
)
def test_sharing(random_method: Any, sharing: str, vectors: int, queries: int, keys: int) -> None:
    # Two layers a side: two attentions in the encoder, two and two in the decoder.
    model = method_of(random_method, k=2, placement="all", dan_sharing=sharing).model
    for part, expected in {
        "vectors": vectors,
        "query.weight": queries,
        "key.weight": keys,
        "value.weight": keys,
    }.items():
        assert sum(name.endswith(f"network.{part}") for name, _ in model.named_parameters()) == expected, part
    # Cross-attention reads source words: it shares with the encoder.
    network = model.decoder.layers[0].cross_attention.key_value.network
    assert network.vectors is model.encoder.layers[1].attention.qkv.network.vectors
    own = network.vectors is model.decoder.layers[0].self_attention.qkv.network.vectors
    assert own == (sharing in {"kv_shared", "all"})


@pytest.mark.parametrize(
    ("options", "own_maps", "rows", "millions"),
    [
        # W_z of keys and values a layer, and ...
        ({"dan_sharing": "kv_shared"}, 2 * 12 + 12 + 2, 1, 98.96),  # ... W_u a layer, W_mK and W_mV once
        ({"dan_sharing": "all", "placement": "all"}, 2 * 18 + 3, 1, 99.22),  # ... one network for all 18 attentions
        ({"dan_sharing": "layer"}, 2 * 12 + 3 * 12, 2, 104.72),  # ... a network a layer, vectors once a side
        ({"dan_sharing": "side"}, 2 * 12 + 3 * 2, 2, 96.86),  # ... a network a side
    ],
    ids=["kv_shared", "all", "layer", "side"],
)
def test_the_size_of_the_row_of_song(options: dict[str, str], own_maps: int, rows: int, millions: float) -> None:
    found = num_parameters(BUILDER, **options)
    assert found == num_parameters("transformer") + own_maps * 512 * 512 + rows * 4 * 512
    assert found / 1e6 == pytest.approx(millions, abs=0.005)


def test_the_preset_of_song_meets_the_99_million_of_table_4() -> None:
    assert round(num_parameters(BUILDER, **load_method(CONFIG, "dsa-paramfit").architecture) / 1e6) == 99


def test_guidance_needs_a_vector_a_domain(random_method: Any) -> None:
    method_of(random_method, k=5)
    method_of(random_method, k=5, guidance_weight=1.0, num_clusters=None)
    with pytest.raises(ConfigError, match="5 domains, but num_clusters 4; set num_clusters to 5 or more") as caught:
        random_method(BUILDER, num_domains=5, guidance_weight=1.0)
    assert "\n" not in str(caught.value)
