"""Our weights as other toolkits take them. It needs Python's library and torch alone."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from common import SPECIALS
from torch import Tensor

_LENGTH_BYTES = 8


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of model.safetensors under all their names: a header in JSON, then 32-bit floats."""
    data = bytearray((folder / "model.safetensors").read_bytes())
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    header = json.loads(data[_LENGTH_BYTES:start])
    tied = json.loads(header.pop("__metadata__", {}).get("mdnmt.aliases", "{}"))
    weights = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise SystemExit(f"{folder}: {name} is {entry['dtype']}, expected F32; write it with train-model again")
        first, end = entry["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.float32, count=(end - first) // 4, offset=start + first)
        weights[name] = flat.clone().view(entry["shape"])
    return weights | {name: weights[stored] for name, stored in tied.items()}


def position_table(num_positions: int, width: int) -> Tensor:
    """Return the position vectors that we add to embeddings: sines in the first half of the width, then cosines."""
    half = width // 2
    rate = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(10000.0) / max(1, half - 1)))
    angle = torch.arange(num_positions, dtype=torch.float64).unsqueeze(1) * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1).float()


def order_of(specials: Sequence[str], pieces: Sequence[str]) -> list[int]:
    """Return our number of each piece of a vocabulary that begins with the same special ones in another order."""
    if sorted(specials) != sorted(SPECIALS) or tuple(pieces[: len(SPECIALS)]) != SPECIALS:
        raise SystemExit(f"found {pieces[: len(SPECIALS)]}, expected {SPECIALS} in the order {specials}")
    return [SPECIALS.index(special) for special in specials] + list(range(len(SPECIALS), len(pieces)))


def put(theirs: dict[str, Tensor], ours: dict[str, Tensor]) -> None:
    """Put our tensors, under their names, in the place of theirs.

    Raises:
        SystemExit: one has another shape.
    """
    for name, tensor in ours.items():
        if theirs[name].shape != tensor.shape:
            raise SystemExit(f"{name}: {tuple(tensor.shape)}, expected {tuple(theirs[name].shape)}")
        theirs[name] = tensor


def split_projection(weights: dict[str, Tensor], name: str, parts: Sequence[str]) -> dict[str, Tensor]:
    """Return weight and bias of each part of a projection that we keep as one matrix: {"query.weight": ..., ...}."""
    return {
        f"{part}.{kind}": tensor
        for kind in ("weight", "bias")
        for part, tensor in zip(parts, weights[f"{name}.{kind}"].chunk(len(parts)))  # noqa: B905
    }


def layers_as_theirs(
    ours: dict[str, Tensor],
    side: str,
    stack: str,
    modules: dict[str, str],
    projections: dict[str, tuple[str, Sequence[str]]],
) -> dict[str, Tensor]:
    """Return the layers of one side under a toolkit's names.

    Args:
        ours: all our tensors.
        side: encoder or decoder.
        stack: the toolkit's name of its layers.
        modules: of weight and bias, our name in a layer -> theirs.
        projections: that they keep apart, our name in a layer -> their block and its parts.
    """
    theirs, number = {}, 0
    while f"{side}.layers.{number}.ffn.first.weight" in ours:
        mine, place = f"{side}.layers.{number}", f"{stack}.{number}"
        for name, module in modules.items():
            theirs |= {f"{place}.{module}.{kind}": ours[f"{mine}.{name}.{kind}"] for kind in ("weight", "bias")}
        for name, (block, parts) in projections.items():
            found = split_projection(ours, f"{mine}.{name}", parts)
            theirs |= {f"{place}.{block}.{part}": tensor for part, tensor in found.items()}
        number += 1
    return theirs
