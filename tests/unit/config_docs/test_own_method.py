"""The method of docs/your-own-method.md is real: it builds, trains, translates, and its YAML files are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import yaml
from pages import DOCS_METHOD, named_files

from mdnmt import plugin_kinds, plugins
from mdnmt.config.decoding import Decoding
from mdnmt.config.loader import validate_model
from mdnmt.config.method import MethodConfig
from mdnmt.config.paper import PaperConfig
from mdnmt.decode.beam import beam_search
from mdnmt.methods import find_own, validate
from mdnmt.methods.method import Method
from mdnmt.models.batch import Batch
from mdnmt.models.projection import MixedLinear

FILES = named_files(DOCS_METHOD)
MODULE = "plugins/ffn_mixing.py"


@pytest.fixture
def own_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the page's module, in a folder of plug-ins."""
    (tmp_path / "ffn_mixing.py").write_text(FILES[MODULE], encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path))
    plugin = find_own("ffn_mixing")
    assert plugin is not None and plugin.place == MODULE
    yield plugins.load(plugin_kinds.METHOD, plugin)
    plugins.forget()


def test_it_computes_a_loss_that_reaches_every_parameter(
    own_method: ModuleType, random_method: Callable[..., Method], make_batch: Callable[..., Batch]
) -> None:
    method = random_method("ffn_mixing", num_domains=3)
    batch = make_batch([[5, 6, 7, 2], [8, 2]], [[9, 10, 2], [11, 12, 13, 2]], [0, 2])
    output = method.model(batch)
    losses = {loss.name: loss(output, batch) for loss in method.losses}
    assert list(losses) == ["generation", "proportion"]
    torch.stack(list(losses.values())).sum().backward()
    assert all(parameter.grad is not None for parameter in method.model.parameters())
    assert [len(output.context.recorded("proportion", side)) for side in ("encoder", "decoder")] == [2, 0]


def test_only_the_feed_forward_blocks_of_the_encoder_are_mixed(
    own_method: ModuleType, random_method: Callable[..., Method]
) -> None:
    model = random_method("ffn_mixing").model
    mixed = {name for name, module in model.named_modules() if isinstance(module, MixedLinear)}
    assert mixed == {f"encoder.layers.{layer}.ffn.{part}" for layer in (0, 1) for part in ("first", "second")}


def test_it_translates(own_method: ModuleType, random_method: Callable[..., Method]) -> None:
    model = random_method("ffn_mixing").model
    source = torch.tensor([[5, 6, 7, 2]])
    best = beam_search(model, source, source != 0, Decoding(beam_size=2, max_length_ratio=1.0, max_length_extra=3))
    assert len(best) == 1 and best[0][0].ids


def test_its_yaml_files_are_valid(own_method: ModuleType) -> None:
    texts: dict[str, Any] = {name: yaml.safe_load(text) for name, text in FILES.items() if name.endswith(".yaml")}
    method = validate_model(texts["config/methods/ffn-mixing.yaml"], MethodConfig, "page")
    paper = validate_model(texts["config/papers/my-paper.yaml"], PaperConfig, "page")
    assert validate(method.builder, method.architecture, where="page") == own_method.config_type()
    assert "ffn-mixing" in {row.method for row in paper.tables["table1"].rows}


def test_its_block_takes_the_place_of_the_output_layer(
    own_method: ModuleType, random_method: Callable[..., Method], tmp_path: Path
) -> None:
    (tmp_path / "gated_output.py").write_text(FILES["plugins/gated_output.py"], encoding="utf-8")
    model = random_method("ffn_mixing", blocks=["gated_output"]).model
    assert "decoder.output_layer.gate.weight" in model.state_dict()
    source = torch.tensor([[5, 6, 7, 2]])
    assert beam_search(model, source, source != 0, Decoding(beam_size=2, max_length_ratio=1.0))[0][0].ids
