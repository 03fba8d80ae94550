"""Toolkits that are measured against ours get the same weights: they are read without a line of the package."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

from mdnmt.checkpoints.weights import save_model
from mdnmt.models.embedding import sinusoidal_positions

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"


@pytest.fixture
def peer_weights(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PEERS))
    return importlib.import_module("weights")


def test_tensors_and_their_tied_names_are_read_as_they_were_saved(peer_weights: ModuleType, tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(1)
    tied = torch.randn(5, 4, generator=generator)
    weights = {"b.weight": tied, "a.weight": tied, "c.bias": torch.randn(3, generator=generator)}
    save_model(tmp_path / "model.safetensors", weights)

    found = peer_weights.read_weights(tmp_path)

    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in weights.items())


def test_positions_are_ours(peer_weights: ModuleType) -> None:
    assert torch.equal(peer_weights.position_table(300, 256), sinusoidal_positions(300, 256))


def test_rows_follow_the_special_pieces_of_a_toolkit(peer_weights: ModuleType) -> None:
    ours = ["<pad>", "<s>", "</s>", "<unk>", "la", "le"]
    theirs = ["<unk>", "<pad>", "<s>", "</s>", "la", "le"]
    assert [ours[number] for number in peer_weights.order_of(theirs[:4], ours)] == theirs


def test_a_projection_of_several_is_taken_apart(peer_weights: ModuleType) -> None:
    rows = torch.arange(6.0)
    weights = {"kv.weight": rows.unsqueeze(1).repeat(1, 2), "kv.bias": rows}
    found = peer_weights.split_projection(weights, "kv", ("key", "value"))
    assert found.keys() == {"key.weight", "value.weight", "key.bias", "value.bias"}
    assert found["value.bias"].tolist() == [3, 4, 5]
    assert found["key.weight"].tolist() == [[0, 0], [1, 1], [2, 2]]
