"""The weights file: equal bytes for equal tensors, every name back, nothing altered let through."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint
from mdnmt.checkpoints.weights import encode, load_model, save_model


def sample() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    embedding = torch.randn(5, 4, generator=generator)
    return {
        "embed.weight": embedding,
        "output.weight": embedding,
        "transposed": torch.randn(3, 2, generator=generator).t(),
        "half": torch.randn(3, generator=generator).to(torch.bfloat16),
        "count": torch.tensor(12, dtype=torch.int64),
        "mask": torch.tensor([True, False]),
        "empty": torch.empty(0, 3),
        "slice": embedding[1:3],
        "exact": torch.tensor([float("nan"), -0.0, 1e-45]),
    }


def same_bits(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    flat = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (left, right)]
    return torch.equal(*flat)


def test_every_name_comes_back_bit_for_bit(tmp_path: Path) -> None:
    weights = sample()
    save_model(tmp_path / "model.safetensors", weights, {"run": "abc"})
    loaded = load_model(tmp_path / "model.safetensors")
    assert list(loaded) == sorted(weights)
    assert all(same_bits(loaded[name], weights[name]) for name in weights)
    with safe_open(tmp_path / "model.safetensors", framework="pt") as found:
        assert found.metadata()["run"] == "abc"


def test_tied_tensors_are_stored_once_and_tied_again(tmp_path: Path) -> None:
    weights = sample()
    path = tmp_path / "model.safetensors"
    save_model(path, weights)
    loaded = load_model(path)
    assert loaded["embed.weight"].data_ptr() == loaded["output.weight"].data_ptr()
    assert loaded["slice"].data_ptr() != loaded["embed.weight"][1:].data_ptr()
    assert "output.weight" not in load_file(path)
    loaded["count"] += 1  # writable, as training needs it
    assert loaded["count"].item() == 13


@pytest.mark.slow
def test_the_bytes_depend_on_tensors_and_metadata_alone() -> None:
    # Another process with another hash seed: the library's own metadata order differs from process to process.
    program = (
        "import hashlib, torch; from mdnmt.checkpoints.weights import encode; "
        "t = {'b': torch.arange(4.), 'a': torch.zeros(2, dtype=torch.int64)}; "
        "print(hashlib.sha256(encode(t, {c: c for c in 'gfedcba'})).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12"}
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    tensors = {"a": torch.zeros(2, dtype=torch.int64), "b": torch.arange(4.0)}
    here = hashlib.sha256(encode(tensors, {letter: letter for letter in "abcdefg"})).hexdigest()
    assert other.stdout.strip() == here
    assert here != hashlib.sha256(encode(tensors, {"a": "b"})).hexdigest()


def test_other_users_may_read_it_and_so_may_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    before = os.umask(0o022)
    try:
        save_model(path, sample())
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
    assert same_bits(load_file(path)["transposed"], sample()["transposed"])


def test_a_file_without_our_digest_is_refused(tmp_path: Path) -> None:
    save_file({"w": torch.ones(3)}, tmp_path / "other.safetensors", metadata={"format": "pt"})
    with pytest.raises(InvalidCheckpoint, match="not a file of this program"):
        load_model(tmp_path / "other.safetensors")


@pytest.mark.slow
def test_every_truncation_and_every_flipped_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    whole = encode(sample(), {"run": "abc"})
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidCheckpoint):
            load_model(path)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(InvalidCheckpoint):
            load_model(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidCheckpoint) as caught:
        load_model(tmp_path / "gone.safetensors")
    assert caught.value.kind == "missing file"
    assert caught.value.path == tmp_path / "gone.safetensors"
    assert "\n" not in str(caught.value)
