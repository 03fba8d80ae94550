"""Figures of architectures show the built model: what it exchanges, how large it is, and what its losses train."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from figures_fit import offences

from mdnmt.config.method import load_method
from mdnmt.config.paper import load_paper
from mdnmt.errors import ConfigError
from mdnmt.exhibits.figure_style import WIDTH, style
from mdnmt.exhibits.figures import architecture
from mdnmt.exhibits.figures.architecture import ArchitectureSpec, ArchitectureSystem
from mdnmt.exhibits.model_structure import Block, Structure
from mdnmt.methods import validate

CONFIG = Path(__file__).resolve().parents[3] / "config"
DOMAINS = 3
torch.set_num_threads(1)


@cache
def system(method: str, **options: Any) -> ArchitectureSystem:
    config = load_method(CONFIG, method)
    sizes = {"model_dim": 32, "ffn_dim": 48, "num_heads": 4, "encoder_layers": 3, "decoder_layers": 2}
    complete = validate(config.builder, {**config.architecture, **sizes, **options}, where=method)
    return ArchitectureSystem(
        label=config.label,
        method=method,
        builder=config.builder,
        architecture=complete.model_dump(mode="json"),
        num_domains=DOMAINS,
    )


def shown(method: str, **options: Any) -> Structure:
    found = architecture.structure_of(system(method, **options))
    assert found is not None
    return found


def titles(found: Structure, status: str) -> set[str]:
    return {f"{part.stack}: {part.title}" for part in found.parts if part.status == status}


def part(found: Structure, module: str) -> Block:
    return next(one for one in found.parts if one.module == module)


def test_the_plain_transformer_has_nothing_exchanged_and_nothing_added() -> None:
    found = shown("mixed")
    assert titles(found, "exchanged") == titles(found, "added") == set()
    assert found.parameters == found.plain and list(found.losses) == ["generation"]
    assert {one.losses for one in found.parts} == {("generation",)}
    assert [one.layers for one in found.parts] == [0, 3, 3, 0, 2, 2, 2, 0]
    width, inner = 32, 48
    feed_forward = 3 * (2 * width * inner + width + inner)
    assert part(found, "encoder.layers.0.ffn").parameters == feed_forward
    norms = (2 * 3 + 3 * 2 + 2) * 2 * width
    assert found.parameters == sum(one.parameters for one in found.parts) + norms


@pytest.mark.parametrize(
    ("method", "exchanged", "added"),
    [
        (
            "waldm-encoder",
            {"Encoder: Self-attention", "Encoder: Feed-forward"},
            {"Encoder: Domain proportion"},
        ),
        (
            "waldm-edc",
            {
                *("Encoder: Self-attention", "Encoder: Feed-forward", "Decoder: Self-attention"),
                *("Decoder: Cross-attention", "Decoder: Feed-forward"),
            },
            {"Encoder: Domain proportion", "Decoder: Domain proportion"},
        ),
        ("dsa", {"Encoder: Self-attention", "Decoder: Self-attention"}, set()),
        ("damha", {"Encoder: Self-attention"}, set()),
        ("damha-dmoe-domain", {"Encoder: Self-attention", "Encoder: Feed-forward"}, set()),
        ("domain-tag", set(), {"Encoder: Domain tag"}),
        ("padvl", set(), {"Encoder: Sentence classifier"}),
        ("wdc-wl", set(), {"Encoder: Word domain contexts", "Decoder: Word weights"}),
        (
            "ldspslv",
            {"Encoder: Residual connections", "Decoder: Residual connections"},
            {"Encoder: Block choice"},
        ),
    ],
)
def test_what_methods_exchange_and_add(method: str, exchanged: set[str], added: set[str]) -> None:
    found = shown(method)
    assert titles(found, "exchanged") == exchanged and titles(found, "added") == added
    assert all(one.what for one in found.parts if one.status != "plain")


def test_parameters_of_exchanged_blocks() -> None:
    plain, mixed = (part(shown(name), "encoder.layers.0.ffn").parameters for name in ("mixed", "waldm-edc"))
    assert mixed == DOMAINS * plain
    # With `dan_sharing: all` the layers share the domain vectors, W_u and W_mK; each is counted once.
    own, shared = (part(shown("dsa", dan_sharing=how), "encoder.layers.0.attention") for how in ("layer", "all"))
    assert own.parameters > shared.parameters and own.layers == shared.layers == 3
    naive = part(shown("naive-edc"), "encoder.layers.0.ffn")
    assert naive.parameters < plain, "its maps are no parameters of the model"


def test_what_losses_train() -> None:
    def trained(method: str, module: str) -> tuple[str, ...]:
        return part(shown(method), module).losses

    assert trained("waldm-edc", "encoder.layers.0.conditioner") == ("proportion",)
    assert trained("waldm-edc", "encoder.layers.0.attention") == ("generation",)
    assert trained("waldm-edc-no-labels", "encoder.layers.0.conditioner") == ("generation",)
    assert trained("padvl", "classifiers.encoder") == ("sentence",)
    assert trained("padvl", "encoder.layers.0.ffn") == ("generation", "sentence")
    assert trained("padvl", "decoder.layers.0.ffn") == ("generation",)
    assert trained("dsa-guided", "encoder.layers.0.attention") == ("generation", "guidance")
    assert "entropy" in trained("damha-dmoe-mix-loss", "encoder.layers.0.ffn")
    assert "block_count" in trained("ldspslv", "block_choice")
    frozen = part(shown("waldm-edc-frozen"), "encoder.layers.0.conditioner")
    assert (frozen.parameters, frozen.losses) == (0, ())


def test_the_gold_domain() -> None:
    assert shown("damha-dmoe-mix").needs_domain and not shown("padvl").needs_domain


def test_an_unknown_loss_or_block_is_described_by_its_class() -> None:
    assert shown("dsa-guided").losses["guidance"].startswith("lambda Delta")
    assert part(shown("waldm-edc"), "decoder.memory_conditioner").what == (
        "D(x) of every token, from the input of a layer",
    )


def spec(*methods: str) -> ArchitectureSpec:
    return ArchitectureSpec(title="Architecture", systems=tuple(system(method) for method in methods))


@pytest.mark.slow
def test_the_figure_is_drawn_the_same_each_time_and_described_in_words() -> None:
    pictures = []
    for _ in range(2):
        with style():
            figure, words = spec("mixed", "waldm-edc").draw()
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=60, metadata={"Software": None})
            pictures.append(buffer.getvalue())
    assert pictures[0] == pictures[1]
    assert figure.get_size_inches()[0] == WIDTH
    assert "Mixed: Width 32" in words and "E/DC: Width 32" in words
    assert "Encoder, Domain proportion in 3 layers: added; D(x) of every token" in words
    assert "trained by: proportion." in words and "Loss proportion: L_mix" in words


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["jiang2020", "zhang2021", "song2026", None])
def test_no_text_leaves_the_figure_or_covers_another(paper: str | None) -> None:
    others = ("wdc-wl", "ldspslv", "naive-edc", "padvl", "domain-tag")
    methods = load_paper(CONFIG, paper).figures["architecture"].methods if paper else others
    with style():
        figure, _ = spec(*methods).draw()
        assert offences(figure) == []


def test_pretrained_weights_have_no_structure_and_the_figure_says_so() -> None:
    mbart = ArchitectureSystem(label="mBART", method="mbart", builder="pretrained", architecture={}, num_domains=2)
    _, words = ArchitectureSpec(title="Architecture", systems=(mbart,)).draw()
    assert words == "Not drawn: mBART is not shown: its weights come from elsewhere."


def test_measures_are_the_numbers_that_are_shown() -> None:
    found = {measure.at["part"]: measure for measure in spec("waldm-edc").measures()}
    assert found["all but embeddings"].value == shown("waldm-edc").parameters
    assert found["plain Transformer"].value == shown("mixed").parameters
    first = found["encoder.layers.0.ffn"]
    assert first.value == part(shown("waldm-edc"), "encoder.layers.0.ffn").parameters
    assert (first.method, first.label, first.seed, first.name) == ("waldm-edc", "E/DC", None, "num_parameters")
    assert spec("waldm-edc").inputs() == []


def test_an_unknown_option_is_a_mistake_of_the_spec() -> None:
    wrong = system("mixed").model_copy(update={"architecture": {"model_dims": 3}})
    with pytest.raises(ConfigError, match="model_dims"):
        architecture.structure_of(wrong)
