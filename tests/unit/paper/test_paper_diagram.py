"""Diagrams of architectures show what the built model is, and what its losses really read and train."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from torch import Tensor, nn

from mdnmt.config.method import load_method
from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.models.context import DomainContext
from mdnmt.paper import diagram, diagram_blocks
from mdnmt.paper.diagram_canvas import wrapped
from mdnmt.paper.diagram_parts import Block, Layers, Structure
from mdnmt.paper.diagram_words import trains
from mdnmt.paper.figure_specs import ArchitectureSpec, ArchitectureSystem
from mdnmt.paper.style import WIDTH, style

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
    found = diagram.structure_of(system(method, **options))
    assert found is not None
    return found


def titles(found: Structure, status: str) -> set[str]:
    return {block.title for block in found.blocks if block.status == status}


def block(found: Structure, module: str) -> Block:
    return next(one for one in found.blocks if one.module == module)


def test_the_plain_transformer_has_nothing_exchanged_and_nothing_added() -> None:
    found = shown("mixed")
    assert titles(found, "exchanged") == titles(found, "added") == set()
    assert found.parameters == found.plain
    [layers] = [item for item in found.encoder.items if isinstance(item, Layers)]
    assert (layers.count, layers.residual) == (3, "x + F(norm(x))")
    assert [loss.name for loss in found.losses] == ["generation"]


def test_post_norm_is_drawn_as_post_norm() -> None:
    [layers] = [item for item in shown("mixed", norm="post").decoder.items if isinstance(item, Layers)]
    assert layers.residual == "norm(x + F(x))"


def test_mixing_exchanges_the_maps_of_its_sides() -> None:
    encoder, both = shown("waldm-encoder"), shown("waldm-edc")
    assert block(encoder, "encoder.layers.0.ffn").status == "exchanged"
    assert block(encoder, "decoder.layers.0.ffn").status == "plain"
    assert block(both, "decoder.layers.0.cross_attention").status == "exchanged"
    assert block(both, "decoder.memory_conditioner").status == "added"
    plain, mixed = (block(shown(name), "encoder.layers.0.ffn").parameters for name in ("mixed", "waldm-edc"))
    assert mixed == DOMAINS * plain


def test_a_method_that_leaves_a_map_as_it_is_says_so() -> None:
    lines = block(shown("waldm-edc-released-code"), "encoder.layers.0.attention").lines
    assert lines == (f"q, k, v: {DOMAINS} maps each, one a domain, mixed by D(x)", "output: one map each")


@pytest.mark.parametrize(
    ("method", "loss", "goes_on"),
    [
        ("waldm-edc", "proportion", {False}),
        ("waldm-edc-mtl", "proportion", {True}),
        ("padvl", "sentence", {True}),
        ("dsa-guided", "guidance", {True}),
        ("damha-dmoe-mix-loss", "entropy", {True}),
        ("damha-dmoe-domain-loss", "balance", {False}),
        ("ldspslv", "block_count", {False}),
        ("wdc-wl", "sentence", {True, False}),
        ("wdc-wl", "generation", {False}),
    ],
)
def test_links_of_losses(method: str, loss: str, goes_on: set[bool]) -> None:
    [found] = [one for one in shown(method).losses if one.name == loss]
    assert {read.goes_on for read in found.reads} == goes_on


def test_what_losses_train() -> None:
    found = shown("waldm-edc")
    generation, proportion = found.losses
    assert trains(found, generation) == "trains all but: Domain proportion D(x)"
    assert trains(found, proportion) == "trains what it reads, nothing else"
    assert "trained by the proportion loss alone" in block(found, "encoder.layers.0.conditioner").lines
    open_link = shown("waldm-edc-no-labels")
    assert "the maps that it mixes train it" in block(open_link, "encoder.layers.0.conditioner").lines
    frozen = block(shown("waldm-edc-frozen"), "encoder.layers.0.conditioner")
    assert "keeps its first values: no parameter" in frozen.lines
    padvl = shown("padvl")
    assert trains(padvl, padvl.losses[1]).endswith("its gradient goes on into the source words, the encoder")
    assert "its gradient goes back reversed for half of the features" in block(padvl, "classifiers.encoder").lines


def test_domain_attention_and_what_is_shared() -> None:
    dsa, shared = shown("dsa"), shown("dsa", dan_sharing="all")
    network = "encoder.layers.0.attention.qkv.network"
    assert block(dsa, network).lines[1] == "shared by layers: vectors; its own: W_u, W_mK"
    assert block(shared, network).lines[1] == "shared by layers: vectors, W_u, W_mK"
    assert block(shared, network).parameters == 0
    whole = block(shown("mixed"), "encoder.layers.0.attention").parameters
    assert block(dsa, "encoder.layers.0.attention").parameters == whole + 32 * 2 * 32  # W_z


def test_experts_gates_and_the_gold_domain() -> None:
    mix, domain = shown("damha-dmoe-mix"), shown("damha-dmoe-domain")
    assert block(mix, "encoder.layers.0.ffn").lines[1].startswith("gate and experts read x + e")
    assert block(domain, "encoder.layers.0.ffn").lines[1].startswith("the gate reads e")
    assert "v: 3 experts, the best 2 by a gate of two layers" in block(mix, "encoder.layers.0.attention").lines
    assert mix.needs_domain and not shown("padvl").needs_domain


def test_latent_depth_tag_contexts_and_the_mistake_of_plain_lists() -> None:
    latent = shown("ldspslv")
    assert [one.title for one in latent.before] == ["Choice of sub-layers"]
    assert "which of 24 sub-layers" in latent.before[0].lines[0]  # 6 layers of 2, and 4 of 3
    [layers] = [item for item in latent.encoder.items if isinstance(item, Layers)]
    assert (layers.count, layers.residual, layers.residual_status) == (6, "x + z F(norm(x))", "exchanged")
    assert titles(shown("domain-tag"), "added") == {"Domain tag"}
    assert titles(shown("wdc-wl"), "added") == {"Domain contexts", "Word weights"}
    naive = block(shown("naive-edc"), "encoder.layers.0.ffn")
    assert "the maps are no parameters: never trained, never saved" in naive.lines


def test_a_block_of_another_kind_is_described_by_its_own_class() -> None:
    class Gated(nn.Module):
        """Opens and closes. And more."""

        def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
            return x_BTD

    found = diagram_blocks.feed_forward(Gated(), "encoder.layers.0.ffn")
    assert (found.status, found.lines) == ("exchanged", ("Gated: Opens and closes. And more",))


def spec(*methods: str) -> ArchitectureSpec:
    return ArchitectureSpec(title="Architecture", systems=tuple(system(method) for method in methods))


def test_the_figure_is_drawn_the_same_each_time_and_told_in_words() -> None:
    pictures = []
    for _ in range(2):
        with style():
            figure, words = diagram.draw(spec("mixed", "waldm-edc"))
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=60, metadata={"Software": None})
            pictures.append(buffer.getvalue())
    assert pictures[0] == pictures[1]
    assert figure.get_size_inches()[0] == WIDTH
    assert "Mixed: width 32" in words and "E/DC: width 32" in words
    assert "Domain proportion D(x) (added), beside the words' way" in words
    assert "Loss proportion" in words


def test_nothing_is_drawn_outside_of_the_figure() -> None:
    with style():
        figure, _ = diagram.draw(spec("waldm-edc", "wdc-wl", "ldspslv"))
        height, renderer = figure.get_size_inches()[1], FigureCanvasAgg(figure).get_renderer()
        for text in figure.axes[0].texts:
            box = text.get_window_extent(renderer).transformed(figure.dpi_scale_trans.inverted())
            assert box.x0 >= -0.01 and box.x1 <= WIDTH + 0.01, text.get_text()
            assert box.y0 >= -0.01 and box.y1 <= height + 0.01, text.get_text()


def test_lines_are_broken_by_their_width() -> None:
    lines = wrapped("wide words and narrow ones " * 4, 1.5)
    assert " ".join(lines) == ("wide words and narrow ones " * 4).strip()
    assert len(lines) > 3
    assert wrapped("unbreakablyLongWord", 0.1) == ["unbreakablyLongWord"]


def test_pretrained_weights_have_no_diagram_and_say_so() -> None:
    mbart = ArchitectureSystem(label="mBART", method="mbart", builder="mbart50", architecture={}, num_domains=2)
    _, words = diagram.draw(ArchitectureSpec(title="Architecture", systems=(mbart,)))
    assert words == "Not drawn: mBART is not shown: its weights come from elsewhere."


def test_measures_are_the_numbers_that_are_shown() -> None:
    found = {measure.at["part"]: measure for measure in diagram.measures(spec("waldm-edc"))}
    assert found["all but embeddings"].value == shown("waldm-edc").parameters
    assert found["plain Transformer"].value == shown("mixed").parameters
    first = found["encoder.layers.0.ffn"]
    assert (first.method, first.label, first.seed, first.name) == ("waldm-edc", "E/DC", None, "num_parameters")
    assert diagram.inputs(spec("waldm-edc")) == []


def test_an_unknown_option_is_a_mistake_of_the_spec() -> None:
    wrong = system("mixed").model_copy(update={"architecture": {"model_dims": 3}})
    with pytest.raises(ConfigError, match="model_dims"):
        diagram.structure_of(wrong)
