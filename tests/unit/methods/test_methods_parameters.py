"""WALDM's and the Transformer's parameters: which losses reach them, how many they are, how they are clipped."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from against_reference import gradients, num_parameters

from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.models.projection import MixedLinear

WALDM_FORMS = [
    {"mixed_sides": "encoder"},
    {"mixed_sides": "both", "norm": "post", "mix_out_projection": False},
    {"mixed_sides": "both", "share_embeddings": "all", "aux_norm": "code", "proportion_loss_on_logits": True},
]
FORMS = [("transformer", {"share_embeddings": "decoder"}), *(("waldm", form) for form in WALDM_FORMS)]


def is_proportion(name: str) -> bool:
    return "conditioner" in name


@pytest.mark.parametrize("form", WALDM_FORMS)
def test_each_loss_trains_its_own_parameters_and_no_other(random_method: Any, make_batch: Any, form: Any) -> None:
    method = random_method("waldm", **form)
    batch = make_batch([[5, 2], [7, 8, 9, 2]], [[6, 2], [9, 5, 8, 2]], [0, 1])
    by_generation, by_proportion = (gradients(method, batch, loss.name) for loss in method.losses)
    proportions = 0
    for name, one in by_generation.items():
        other = by_proportion[name]
        if is_proportion(name):
            proportions += 1
            assert one is None, f"L_gen reaches {name}"
            assert other is not None and other.any(), f"L_mix does not reach {name}"
        else:
            assert one is not None and one.any(), f"L_gen does not reach {name}"
            assert other is None, f"L_mix reaches {name}"
    assert proportions == 2 * (2 if form["mixed_sides"] == "encoder" else 5)


@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_clip_groups_hold_each_parameter_exactly_once(random_method: Any, builder: str, form: Any) -> None:
    method = random_method(builder, **form)
    groups = method.clip_groups()
    names = {id(parameter): name for name, parameter in method.model.named_parameters()}
    held = [names[id(parameter)] for group in groups for parameter in group]
    assert sorted(held) == sorted(names.values())
    if builder == "waldm":
        assert len(groups) == 2
        assert all(is_proportion(names[id(parameter)]) for parameter in groups[1])
        assert not any(is_proportion(names[id(parameter)]) for parameter in groups[0])
        together = random_method("waldm", clip_proportions_apart=False, **form)
        [group] = together.clip_groups()
        assert len(group) == len(names)


def transformer_size(d: int, f: int, layers: int, vocab: int) -> int:
    attention = 4 * (d * d + d)
    ffn = d * f + f + f * d + d
    norm = 2 * d
    encoder = layers * (attention + ffn + 2 * norm)
    decoder = layers * (2 * attention + ffn + 3 * norm)
    return 3 * vocab * d + encoder + decoder


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("mix_out", [True, False])
def test_the_size_of_the_published_configuration_follows_from_the_equations(k: int, mix_out: bool) -> None:
    d, f, layers, vocab = 512, 1024, 6, 10_000
    options = {"model_dim": d, "ffn_dim": f, "num_heads": 4, "norm": "post"}

    size = partial(num_parameters, rows=vocab, num_domains=k, **options)
    plain = transformer_size(d, f, layers, vocab)
    assert size("transformer") == plain
    # k - 1 further copies of every mixed matrix and bias (sec. 3.2), and one R with its bias a proportion layer.
    attention = (4 if mix_out else 3) * (d * d + d)
    ffn = d * f + f + f * d + d
    encoder_more = (k - 1) * layers * (attention + ffn)
    decoder_more = (k - 1) * layers * (2 * attention + ffn)
    proportion = k * d + k
    size = partial(size, mix_out_projection=mix_out)
    assert size("waldm", mixed_sides="encoder") == plain + encoder_more + layers * proportion
    assert size("waldm") == plain + encoder_more + decoder_more + (2 * layers + 1) * proportion


def millions(number: int) -> float:
    return round(number / 1e6, 1)


@pytest.mark.slow
def test_the_76_million_of_jiang_say_how_many_words_there_were() -> None:
    # The body of 512/1024 with 6 + 6 layers has 31.5 M, so that 44.5 M are left for the three tables of 512 columns:
    # 86.8 thousand rows of source, target and output in all, or 28.9 thousand types a language.
    jiang = {"model_dim": 512, "ffn_dim": 1024, "num_heads": 4, "norm": "post"}
    body = transformer_size(512, 1024, 6, 0)
    assert millions(body) == 31.5
    rows = (76_000_000 - body) / 512
    assert round(rows, -2) == 86_800
    vocab = round(rows / 3)
    assert vocab == 28_943
    assert round(num_parameters("transformer", vocab, 2, **jiang) / 1e6) == 76
    # "k times larger": mixing copies the body, never the tables.
    assert millions(num_parameters("waldm", vocab, 2, **jiang)) == 107.5
    assert millions(num_parameters("waldm", vocab, 4, **jiang)) == 170.6
    # Classifiers of the other rows: WL has pooling (d d + d), one slope, and d -> k.
    for options, more in (
        ({"weighted_loss": "aligned"}, 512 * 512 + 512 + 1 + 512 * 2 + 2),
        ({"input_link": "half"}, 0),
    ):
        assert (
            num_parameters("waldm", vocab, 2, **jiang, **options) - num_parameters("waldm", vocab, 2, **jiang) == more
        )


def test_the_266_million_of_song_table_4_for_waldm_are_more_than_the_equations_give() -> None:
    # 89 M for the Transformer need 87.6 thousand rows in all (test_methods_sizes.py), 44.9 M of every count here.
    vocab, k = 29_200, 4
    song = {"model_dim": 512, "ffn_dim": 2048, "num_heads": 8}
    assert millions(3 * vocab * 512) == 44.9
    code = num_parameters("waldm", vocab, k, mix_out_projection=False, **song)
    text = num_parameters("waldm", vocab, k, **song)
    assert (millions(code), millions(text)) == (207.2, 221.3)
    # Jiang's own widths, which Song says were kept, give still less.
    assert millions(num_parameters("waldm", vocab, k, ffn_dim=1024, num_heads=4, mix_out_projection=False)) == 156.8
    # The print is met only if the plain layers, never used by any equation, stand beside k whole copies of themselves.
    plain = transformer_size(512, 2048, 6, 0)
    beside = (k + 1) * plain + 3 * vocab * 512 + 13 * (k * 512 + k)
    assert millions(plain) == 44.1
    assert millions(beside) == 265.6 and round(beside / 1e6) == 266
    assert all(round(number / 1e6) != 266 for number in (code, text))


def test_which_projections_are_mixed(random_method: Any) -> None:
    def mixed(**options: Any) -> set[str]:
        model = random_method("waldm", encoder_layers=1, decoder_layers=1, **options).model
        return {name for name, module in model.named_modules() if isinstance(module, MixedLinear)}

    encoder = {f"encoder.layers.0.{name}" for name in ("attention.qkv", "attention.out", "ffn.first", "ffn.second")}
    decoder = {
        f"decoder.layers.0.{name}"
        for name in (
            "self_attention.qkv",
            "self_attention.out",
            "cross_attention.query",
            "cross_attention.key_value",
            "cross_attention.out",
            "ffn.first",
            "ffn.second",
        )
    }
    assert mixed(mixed_sides="encoder") == encoder
    assert mixed() == encoder | decoder
    assert mixed(mix_out_projection=False) == {name for name in encoder | decoder if not name.endswith("out")}


@pytest.mark.parametrize(("share", "tables"), [("none", 3), ("decoder", 2), ("all", 1)])
def test_tied_embeddings_are_one_parameter(random_method: Any, share: str, tables: int) -> None:
    model = random_method("transformer", share_embeddings=share).model
    weights = [model.source_embedding.weight, model.target_embedding.weight, model.output_weight]
    assert len({id(weight) for weight in weights}) == tables
    untied = random_method("transformer", vocab=33).model
    rest = sum(p.numel() for p in untied.parameters()) - (33 + 4 + 2 * 33) * 16
    assert sum(p.numel() for p in model.parameters()) == rest + sum(
        w.numel() for w in {id(w): w for w in weights}.values()
    )
    if tables < 3:
        assert model.target_embedding.weight is model.output_weight


@pytest.mark.parametrize(
    ("builder", "options", "message"),
    [
        ("wladm", {}, "no builder 'wladm'"),
        ("transformer", {"model_dim": 30, "num_heads": 4}, "not a multiple of num_heads"),
        ("transformer", {"mixed_sides": "both"}, "unknown key"),
        ("waldm", {"mixed_sides": "encodr"}, "expected one of encoder, both"),
        ("waldm", {"proportion_smoothing": 1.5}, "less than or equal to 1"),
        ("waldm", {"labels": "unused"}, "expected one of used, unused_open, unused_frozen"),
        ("waldm", {"input_link": "half", "labels": "unused_open"}, "without labels"),
    ],
)
def test_a_mistake_in_an_architecture_is_one_line(builder: str, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        validate(builder, options, where="methods/x.yaml")
    assert "\n" not in str(caught.value)
    assert "methods/x.yaml" in str(caught.value)
