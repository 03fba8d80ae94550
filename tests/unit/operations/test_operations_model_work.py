"""How large models are and what they compute for a word, held against counts by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.methods.method import VocabSizes
from mdnmt.operations.plan.model_work import FILLED, Work, work_of

D, F, V, LAYERS, DOMAINS = 16, 24, 40, 3, 2
SIZES: dict[str, Any] = {
    "model_dim": D,
    "ffn_dim": F,
    "num_heads": 2,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "share_embeddings": "all",
}
SELF, CROSS_MEMORY, CROSS_REST, FFN = 4 * D * D, 2 * D * D, 2 * D * D, 2 * D * F


def work(builder: str, **options: Any) -> Work:
    architecture = validate(builder, {**SIZES, **options}, where="test").model_dump(mode="json")
    return work_of(builder, architecture, DOMAINS, VocabSizes(V, V, True))


def test_plain_transformer() -> None:
    found = work("transformer")
    assert found.source == LAYERS * (SELF + FFN + CROSS_MEMORY)
    assert found.target == LAYERS * (SELF + CROSS_REST + FFN) + V * D
    matrices = LAYERS * (2 * SELF + CROSS_MEMORY + CROSS_REST + 2 * FFN) + V * D
    biases = LAYERS * (4 * D + F + D) + LAYERS * (8 * D + F + D)
    norms = LAYERS * (2 + 3) * 2 * D + 2 * 2 * D  # before each block, and at the end of each stack
    assert found.parameters == matrices + biases + norms


def test_mixing_multiplies_the_maps_of_its_side() -> None:
    plain, mixed = work("transformer"), work("waldm", mixed_sides="encoder")
    classifiers = LAYERS * DOMAINS * D
    biases = LAYERS * DOMAINS * (4 * D + F + D)  # mixed like the maps
    assert mixed.target == plain.target
    assert mixed.source - plain.source == (DOMAINS - 1) * LAYERS * (SELF + FFN) + classifiers + biases


def test_maps_in_plain_lists_compute_though_they_are_no_parameters() -> None:
    naive = work("naive_waldm", mixed_sides="both")
    assert naive.source > DOMAINS * LAYERS * FFN > naive.parameters - V * D - 2 * 1024 * D


def test_classifiers_count_where_their_words_are() -> None:
    plain, mtl = work("transformer"), work("multitask")
    assert mtl.source > plain.source
    assert mtl.target == plain.target


def test_updates_and_translations() -> None:
    found = Work(parameters=1, source=100, target=10)
    training = Training(max_tokens=1000, accumulate_batches=2)
    assert found.of_update(training) == pytest.approx(6 * FILLED * 2000 * 110)
    assert found.of_translation(50, beam_size=4) == 2 * 50 * (100 + 4 * 10)


def test_mbart_has_the_size_that_is_known_of_it() -> None:
    assert work_of("pretrained", {}, DOMAINS, VocabSizes(1, 1, True)).parameters == pytest.approx(611e6, rel=0.01)


def test_a_record_of_another_version_is_refused() -> None:
    with pytest.raises(ConfigError, match="no builder"):
        work_of("not-there", {}, DOMAINS, VocabSizes(V, V, True))
