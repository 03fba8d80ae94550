"""The Transformer's sizes: enlarged and big, and the parameters that the papers print for them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from against_reference import num_parameters

from mdnmt.config.architectures.architecture import with_size
from mdnmt.config.method import load_method
from mdnmt.errors import ConfigError
from mdnmt.methods import build, validate
from mdnmt.methods.method import Architecture, VocabSizes
from mdnmt.models.attention import SelfAttention

CONFIG = Path(__file__).resolve().parents[3] / "config"


@pytest.mark.parametrize(("name", "millions"), [("mixed", 89), ("big", 266)])
def test_one_vocabulary_gives_the_two_sizes_of_song_table_4(name: str, millions: int) -> None:
    # 44.1 M and 221.2 - 44.9 = 176.4 M without embeddings: both prints need 87.6k rows in all, nothing tied.
    config = load_method(CONFIG, name)
    assert round(num_parameters(config.builder, **config.architecture) / 1e6) == millions


@pytest.mark.parametrize(
    ("num_heads", "k", "model_dim", "ffn_dim"),
    [
        (4, 2, 724, 2896),  # 512 sqrt(2) = 724.1
        (4, 3, 888, 3552),  # 886.8
        (4, 4, 1024, 4096),
        (8, 2, 728, 2912),
        (8, 4, 1024, 4096),
        (8, 1, 512, 2048),
    ],
)
def test_enlarged_widths_are_sqrt_k_times_as_wide(num_heads: int, k: int, model_dim: int, ffn_dim: int) -> None:
    config = with_size(Architecture(size="enlarged", num_heads=num_heads), k)
    assert (config.model_dim, config.ffn_dim, config.num_heads) == (model_dim, ffn_dim, num_heads)


def test_enlarged_widths_can_be_cut_into_heads() -> None:
    for num_heads, k in product((2, 4, 8, 16), range(1, 12)):
        config = with_size(Architecture(size="enlarged", num_heads=num_heads, ffn_dim=1024), k)
        assert config.model_dim % num_heads == 0
        assert abs(config.model_dim - 512 * k**0.5) <= num_heads / 2
        assert config.ffn_dim / config.model_dim == pytest.approx(2, rel=1e-3)


def test_big_has_the_widths_and_heads_of_transformer_big() -> None:
    config = with_size(Architecture(size="big"), 3)
    assert (config.model_dim, config.ffn_dim, config.num_heads) == (1024, 4096, 16)  # Vaswani et al. 2017, Table 3
    assert (config.encoder_layers, config.decoder_layers) == (6, 6)


def test_base_is_what_it_says() -> None:
    config = Architecture(model_dim=96, num_heads=3)
    assert with_size(config, 4) is config


@pytest.mark.parametrize(("name", "train_on"), [("mixed-enlarged", "all"), ("single-enlarged", "each")])
def test_the_enlarged_rows_differ_from_the_base_ones_in_nothing_else(name: str, train_on: str) -> None:
    enlarged, base = load_method(CONFIG, name), load_method(CONFIG, name.removesuffix("-enlarged"))
    assert enlarged.architecture == {"size": "enlarged"}
    assert (enlarged.builder, enlarged.training) == (base.builder, base.training)
    assert enlarged.train_on == base.train_on == train_on


@pytest.mark.parametrize(("size", "model_dim", "num_heads"), [("enlarged", 724, 4), ("big", 1024, 8)])
def test_the_model_has_the_size_that_its_option_says(size: str, model_dim: int, num_heads: int) -> None:
    with torch.device("meta"):
        config = validate("transformer", {"size": size, "num_heads": 4, "encoder_layers": 1}, where="test")
        model = build("transformer", config, VocabSizes(11, 11, True), 2).model
    assert model.output_weight.shape == model.source_embedding.weight.shape == (11, model_dim)
    [attention] = [module for module in model.encoder.modules() if isinstance(module, SelfAttention)]
    assert attention.num_heads == num_heads


def test_the_encoder_of_a_control_starts_at_another_scale_and_nothing_else_changes() -> None:
    def weights(**options: float) -> dict[str, torch.Tensor]:
        sizes = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 1}
        torch.manual_seed(1)
        architecture = validate("transformer", {**sizes, **options}, where="test")
        return build("transformer", architecture, VocabSizes(9, 9, False), 3).model.state_dict()

    plain, scaled = weights(), weights(encoder_initial_scale=0.25)
    matrices = {name for name in plain if name.startswith("encoder.") and plain[name].dim() == 2}
    assert len(matrices) == 2 * 4  # of each layer: queries, keys and values; out; two of the feed-forward block
    for name, value in plain.items():
        assert torch.equal(scaled[name], value * 0.25 if name in matrices else value), name


def test_shared_embeddings_need_a_joint_vocabulary() -> None:
    config = validate("transformer", {"share_embeddings": "all"}, where="here")
    config.require_task(2, joint=True)
    with pytest.raises(ConfigError, match="share_embeddings: all needs one vocabulary for both languages"):
        config.require_task(2, joint=False)
    with pytest.raises(ConfigError, match="share_embeddings: all needs one vocabulary"):
        build("transformer", config, VocabSizes(9, 9, joint=False), 2)


def test_options_younger_than_runs_leave_their_identity_alone() -> None:
    for option, plain, moved in (("first_position", 0, 2), ("encoder_initial_scale", 1.0, 0.5)):
        assert option not in validate("transformer", {option: plain}, where="test").model_dump(mode="json")
        assert validate("transformer", {option: moved}, where="test").model_dump(mode="json")[option] == moved
