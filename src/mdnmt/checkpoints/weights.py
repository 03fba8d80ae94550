"""Write and read files of named tensors: safetensors whose bytes depend only on the tensors and the metadata.

The safetensors library writes metadata in random order and files that only their owner can read, so this module
writes the header and the file itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint, read_bytes
from mdnmt.fsio import write_bytes

_ALIASES = "mdnmt.aliases"  # JSON: name of a tied tensor -> name under which its bytes are stored
_DIGEST = "mdnmt.sha256"  # sha256 of the header without this entry and of the tensors' bytes
_LENGTH_BYTES = 8


def save_model(path: Path, weights: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write `weights` to `path`, atomically; equal tensors and metadata give equal bytes.

    Tensors may have any device and layout. Tied tensors (the same memory under several names) are stored once.
    """
    write_bytes(path, encode(weights, metadata))


def load_model(path: Path, sha256: str | None = None) -> dict[str, Tensor]:
    """Return the tensors in `path` on the CPU, under all their names; tied tensors share memory again.

    Args:
        path: the weights file.
        sha256: expected sha256 of the file, from its run.json (`model_sha256`); None: accept any weights.

    Raises:
        InvalidCheckpoint: the file is missing, truncated, altered, not in safetensors, or has another sha256.
    """
    data = read_bytes(path, "the weights file")
    weights = decode(data, path)
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise InvalidCheckpoint(
            path,
            "other identity",
            "these are not the weights that run.json beside it describes (model_sha256); put the run's own file back, "
            "or remove it and start the command that trained it again",
        )
    return weights


def encode(weights: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes that `save_model` writes."""
    metadata = dict(metadata or {})
    stored, aliases = _untie(weights)
    raw = memoryview(safetensors.torch.save(stored))
    body_start = _LENGTH_BYTES + int.from_bytes(raw[:_LENGTH_BYTES], "little")
    tensors = json.loads(bytes(raw[_LENGTH_BYTES:body_start]))
    body = raw[body_start:]
    if aliases:
        metadata[_ALIASES] = json.dumps(aliases, sort_keys=True)
    metadata[_DIGEST] = _digest(metadata, tensors, body)
    text = json.dumps({"__metadata__": dict(sorted(metadata.items())), **tensors}, separators=(",", ":")).encode(
        "ascii"
    )
    text += b" " * (-len(text) % 8)  # the format requires tensors aligned to 8 bytes
    return b"".join([len(text).to_bytes(_LENGTH_BYTES, "little"), text, body])


def decode(data: bytes, path: Path) -> dict[str, Tensor]:
    """Return the tensors in `data`, sorted by name; `path` is only used in error messages.

    Raises:
        InvalidCheckpoint: `data` is truncated, altered or not a safetensors file of this program.
    """
    if len(data) < _LENGTH_BYTES:
        raise InvalidCheckpoint(path, "truncated", f"{len(data)} bytes are not a weights file")
    body_start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    if body_start > len(data):
        raise InvalidCheckpoint(path, "truncated", f"the header says {body_start} bytes or more, found {len(data)}")
    header = _parse_header(data[_LENGTH_BYTES:body_start], path)
    metadata = header.pop("__metadata__", {})
    ends = [entry["data_offsets"][1] for entry in header.values() if _is_entry(entry)]
    if body_start + max(ends, default=0) > len(data):
        raise InvalidCheckpoint(path, "truncated", f"expected {body_start + max(ends)} bytes, found {len(data)}")
    # The safetensors library checks no contents, so a file without the digest could hold anything.
    digest = metadata.pop(_DIGEST, None)
    if digest is None:
        raise InvalidCheckpoint(path, "unreadable", f"its header has no {_DIGEST}: it is not a file of this program")
    if digest != _digest(metadata, header, memoryview(data)[body_start:]):
        raise InvalidCheckpoint(path, "altered", "its contents do not give the sha256 it was written with")
    try:
        weights = safetensors.torch.load(data)
        aliases = json.loads(metadata.get(_ALIASES, "{}"))
        weights |= {name: weights[stored] for name, stored in aliases.items()}
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        raise InvalidCheckpoint(path, "unreadable", f"no safetensors file: {error}") from error
    return dict(sorted(weights.items()))


def _untie(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return CPU tensors that share no memory, and alias -> stored name for tied tensors."""
    stored: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    first_name: dict[tuple[Any, ...], str] = {}
    storages: set[int] = set()
    for name, tensor in sorted(weights.items()):
        view = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and view in first_name:
            aliases[name] = first_name[view]
            continue
        first_name[view] = name
        copy = tensor.detach().cpu().contiguous()
        # Different parts of one storage (a slice, for example) are stored separately.
        if copy.untyped_storage().data_ptr() in storages or copy.untyped_storage().nbytes() != copy.nbytes:
            copy = copy.clone()
        storages.add(copy.untyped_storage().data_ptr())
        stored[name] = copy
    return stored, aliases


def _digest(metadata: Mapping[str, str], tensors: Mapping[str, Any], body: memoryview) -> str:
    header = json.dumps([metadata, tensors], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(header.encode("ascii"))
    digest.update(body)
    return digest.hexdigest()


def _is_entry(entry: Any) -> bool:
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    return isinstance(offsets, list) and len(offsets) == 2 and all(isinstance(offset, int) for offset in offsets)


def _parse_header(text: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except ValueError as error:
        raise InvalidCheckpoint(path, "unreadable", f"its header is not JSON: {error}") from error
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise InvalidCheckpoint(path, "unreadable", "its header is not that of a safetensors file")
    return dict(header)
